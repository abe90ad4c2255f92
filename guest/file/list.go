package file

import (
	"context"
	"errors"
	"path"
	"sort"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// Defaults and bounds of a listing.
const (
	defaultDepth   = 2
	maxDepth       = 100
	defaultEntries = 10000
	maxEntries     = 100000
)

// List lists a directory level by level, so that where entries are left out
// it is the deeper ones, and returns them in the order of a tree. Symlinks
// are shown as themselves and not entered; nor is procfs. Kinds: not found,
// denied, invalid (not a directory).
func (f *Files) List(ctx context.Context, p string, o provider.ListOptions) (*provider.Listing, error) {
	const op = "list directory"
	root, err := openRoot(op, p)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	l := &lister{base: path.Clean(p), most: within(o.MaxEntries, defaultEntries, maxEntries), out: &provider.Listing{}}
	level := []string{""}
	for range within(o.Depth, defaultDepth, maxDepth) {
		var next []string
		for _, rel := range level {
			if err := ctx.Err(); err != nil {
				return nil, fail(op, p, err)
			}
			if len(l.out.Entries) >= l.most {
				l.out.Truncated = true
				break
			}
			dirs, err := l.listDir(root, rel)
			if err != nil && rel == "" {
				return nil, fail(op, p, err)
			}
			next = append(next, dirs...)
		}
		if level = next; len(level) == 0 {
			break
		}
	}
	sort.Slice(l.out.Entries, func(i, j int) bool {
		return comparePaths(l.out.Entries[i].Path, l.out.Entries[j].Path) < 0
	})
	return l.out, nil
}

// within gives the default for what is not positive, and the bound for more.
func within(n, byDefault, most int) int {
	if n <= 0 {
		n = byDefault
	}
	return min(n, most)
}

// comparePaths orders a directory right before what is in it.
func comparePaths(a, b string) int {
	for {
		x, restA, moreA := strings.Cut(a, "/")
		y, restB, moreB := strings.Cut(b, "/")
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
		switch {
		case !moreA && !moreB:
			return 0
		case !moreA:
			return -1
		case !moreB:
			return 1
		}
		a, b = restA, restB
	}
}

type lister struct {
	base string
	most int
	out  *provider.Listing
}

// listDir adds one directory's entries and returns the directories among
// them, by their path below the root.
func (l *lister) listDir(root int, rel string) ([]string, error) {
	dir, err := openBelow(root, relOrDot(rel), unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		if !errors.Is(err, unix.ENOENT) {
			l.out.Truncated = true
		}
		return nil, err
	}
	defer unix.Close(dir)
	if rel != "" {
		if proc, err := isProc(dir); proc || err != nil {
			return nil, err
		}
	}
	var dirs []string
	for r := newDirReader(dir); ; {
		entries, err := r.next()
		if err != nil {
			l.out.Truncated = l.out.Truncated || rel != ""
			return dirs, err
		}
		if len(entries) == 0 {
			return dirs, nil
		}
		for _, e := range entries {
			if len(l.out.Entries) >= l.most {
				l.out.Truncated = true
				return dirs, nil
			}
			var st unix.Stat_t
			if err := unix.Fstatat(dir, e.name, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT); err != nil {
				continue // gone already
			}
			below := path.Join(rel, e.name)
			l.out.Entries = append(l.out.Entries, entryOf(path.Join(l.base, below), &st))
			if st.Mode&unix.S_IFMT == unix.S_IFDIR {
				dirs = append(dirs, below)
			}
		}
	}
}

func relOrDot(rel string) string {
	if rel == "" {
		return "."
	}
	return rel
}

func entryOf(p string, st *unix.Stat_t) provider.Entry {
	e := provider.Entry{Path: p, Type: kindOf(st.Mode), Mode: st.Mode & 0o7777, ModTime: st.Mtim.Nano()}
	if e.Type == "file" {
		e.Size = st.Size
	}
	return e
}
