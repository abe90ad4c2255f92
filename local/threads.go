package local

import (
	"context"
	"errors"
	"io"
	"os"
	"sort"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/hosttree"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

var _ provider.ThreadLister = (*Provider)(nil)

// Threads implements [provider.ThreadLister]. Without sizes it costs some ten
// system calls a thread.
func (p *Provider) Threads(ctx context.Context, o provider.ThreadOptions) ([]provider.ThreadInfo, error) {
	dirs, err := p.run.List()
	if err != nil {
		return nil, unavailable("the runtime directory cannot be read", "", err)
	}
	known := map[string]bool{} // the sandboxes of which there is something
	for _, dir := range dirs {
		known[dir.Name()] = true
	}
	var infos []provider.ThreadInfo
	err = p.eachUser(func(user string, threads *os.File) error {
		if o.User != "" && o.User != user {
			return nil
		}
		return eachName(threads, func(name string) error {
			key := mapping.Key{User: user, Thread: name}
			if mapping.ValidateID("thread", name) != nil {
				return nil
			}
			dir, err := hostpath.Walk(threads, name)
			if err != nil {
				return nil // no directory, or gone by now
			}
			defer dir.Close()
			info := provider.ThreadInfo{Thread: name, User: user, State: "stopped", Changed: changed(dir).Format(time.RFC3339)}
			if own := p.dir(key); known[own.Name()] && own.Keeper() != 0 {
				info.State = "live"
			}
			var st unix.Stat_t
			info.Temporary = unix.Fstatat(int(dir.Fd()), temporaryMark, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
			if o.Sizes {
				used, err := hosttree.Usage(ctx, dir)
				if err != nil {
					return err
				}
				info.Bytes, info.Files = &used.Bytes, &used.Files
			}
			infos = append(infos, info)
			return ctx.Err()
		})
	})
	if err != nil {
		return nil, hostError("list threads", "", "", err)
	}
	sort.Slice(infos, func(i, j int) bool {
		a, b := infos[i], infos[j]
		return a.User < b.User || a.User == b.User && a.Thread < b.Thread
	})
	return infos, nil
}

// changed is when a thread's directory, or one of those that it shows, changed
// last.
func changed(dir *os.File) time.Time {
	var last time.Time
	look := func(fd int, name string) {
		var st unix.Stat_t
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			if at := time.Unix(st.Mtim.Unix()); at.After(last) {
				last = at
			}
		}
	}
	look(int(dir.Fd()), ".")
	look(int(dir.Fd()), "acp-workspace")
	if data, err := hostpath.Walk(dir, "user-data"); err == nil {
		defer data.Close()
		for _, name := range []string{"workspace", "uploads", "outputs"} {
			look(int(data.Fd()), name)
		}
	}
	return last
}

// eachUser calls do with the directory of each user's threads, until it fails.
func (p *Provider) eachUser(do func(user string, threads *os.File) error) error {
	home, err := hostpath.Open(p.home)
	if err != nil {
		return err
	}
	defer home.Close()
	users, err := hostpath.Walk(home, "users")
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer users.Close()
	return eachName(users, func(user string) error {
		if mapping.ValidateID("user", user) != nil {
			return nil
		}
		threads, err := hostpath.Walk(users, user, "threads")
		if err != nil {
			return nil // no user of ours
		}
		defer threads.Close()
		return do(user, threads)
	})
}

// eachName calls do with each name in a directory, until it fails.
func eachName(dir *os.File, do func(name string) error) error {
	for {
		names, err := dir.Readdirnames(1024)
		for _, name := range names {
			if err := do(name); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
