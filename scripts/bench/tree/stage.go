package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/local"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/hostview"
	"golang.org/x/sys/unix"
)

// stage holds all that is made for a run, below one directory.
type stage struct {
	dir      string
	home     string
	bin      string // directory of the built programs
	goRoot   string // Go's own directory, empty without Go
	loopback string // program; empty: build it
	sizes    sizes
	data     expected
	provider *local.Provider
	servers  []*server
	mounted  bool // ours, on the host
	subjects []subject
	// leftOut says, by subject, why it takes no part.
	leftOut map[string]string
	// passthrough is what the sandbox says of it.
	passthrough string
}

var (
	sandboxKey = mapping.Key{Thread: oursSandbox}
	mountKey   = mapping.Key{Thread: oursMount}
)

// readOnlyName is the directory below skills.
const readOnlyName = "bench"

// newStage makes the directories, and starts what serves them.
func newStage(ctx context.Context, o options) (_ *stage, err error) {
	dir, err := os.MkdirTemp(o.dir, "sandboxfs-bench-")
	if err != nil {
		return nil, err
	}
	// As the kernel will name the mount points.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	s := &stage{dir: dir, home: filepath.Join(dir, "home"), bin: o.bin, loopback: o.loopback, sizes: o.sizes, leftOut: map[string]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	s.goRoot = goRoot(ctx)
	for name, value := range map[string]string{
		"SANDBOXFS_HOME": s.home, "SANDBOXFS_RUNTIME_DIR": filepath.Join(dir, "run"),
		"SANDBOXFSD": filepath.Join(o.bin, "sandboxfsd"),
	} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	seeded := filepath.Join(dir, "seed")
	skills := filepath.Join(s.home, "skills", readOnlyName)
	if err := errors.Join(os.Mkdir(seeded, 0o755), os.MkdirAll(skills, 0o755)); err != nil {
		return nil, err
	}
	fmt.Fprintln(os.Stderr, "making the files")
	if s.data, err = seed(ctx, seeded, skills, o.sizes); err != nil {
		return nil, err
	}
	if s.provider, err = local.New(config(dir, s.home)); err != nil {
		return nil, err
	}
	for _, p := range []struct {
		name, backing string
		open          func(context.Context, string) (subject, error)
	}{
		{plain, filepath.Join(dir, plain), s.openPlain},
		{oursSandbox, s.workspace(sandboxKey), s.openSandbox},
		{oursMount, s.workspace(mountKey), s.openMount},
		{peerBindfs, filepath.Join(dir, peerBindfs), s.openBindfs},
		{peerLoopback, filepath.Join(dir, peerLoopback), s.openLoopback},
		{peerOverlayfs, filepath.Join(dir, peerOverlayfs), s.openOverlayfs},
	} {
		if !slices.Contains(o.subjects, p.name) {
			continue
		}
		if err := s.add(ctx, p.name, p.backing, seeded, p.open); err != nil {
			return nil, err
		}
	}
	return s, os.RemoveAll(seeded)
}

// config is that of the provider. No command runs in the sandbox while it is
// measured, so it must not end for being idle.
func config(dir, home string) provider.Config {
	return provider.Config{Home: home, RuntimeDir: filepath.Join(dir, "run"), IdleTimeout: -1}
}

// add gives a subject its files and opens it; where it cannot be opened it is
// left out, unless it is the plain directory.
func (s *stage) add(ctx context.Context, name, backing, seeded string, open func(context.Context, string) (subject, error)) error {
	if err := os.MkdirAll(backing, 0o755); err != nil {
		return err
	}
	// By the host, before anything is mounted: all views then begin equal, and
	// none has seen the directory empty.
	if err := copyTree(ctx, seeded, backing); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "opening", name)
	opened, err := open(ctx, backing)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.leftOut[name] = strings.Join(strings.Fields(err.Error()), " ")
		fmt.Fprintf(os.Stderr, "%s is left out: %v\n", name, err)
		return nil
	}
	// The name is set here so that no way to open can get it wrong.
	opened.name = name
	s.subjects = append(s.subjects, opened)
	return nil
}

func (s *stage) workspace(key mapping.Key) string {
	return filepath.Join(s.home, "users", "default", "threads", key.Thread, "user-data", "workspace")
}

func (s *stage) skills() string { return filepath.Join(s.home, "skills", readOnlyName) }

func (s *stage) openPlain(_ context.Context, backing string) (subject, error) {
	return subject{dir: backing, readOnly: s.skills(), abort: func() {}}, nil
}

// openSandbox starts a sandbox and finds the mount namespace of its pid 1.
func (s *stage) openSandbox(ctx context.Context, _ string) (none subject, err error) {
	if os.Geteuid() != 0 {
		return none, errors.New("only root can enter its mount namespace")
	}
	id, err := s.provider.Acquire(ctx, sandboxKey)
	if err != nil {
		return none, err
	}
	box, err := s.provider.Get(id)
	if err != nil {
		return none, err
	}
	r, err := box.Execute(ctx, provider.Command{Argv: hostview.UTSCommand()})
	if err != nil {
		return none, err
	}
	guest, ok := hostview.Guest(hostview.InUTS(strings.TrimSpace(string(r.Stdout.Head))))
	if !ok {
		return none, errors.New("its pid 1 is not to be seen")
	}
	info, err := box.(provider.Describer).Describe(ctx)
	if err != nil {
		return none, err
	}
	s.passthrough = info.Isolation["passthrough"]
	return subject{
		namespace: fmt.Sprintf("/proc/%d/ns/mnt", guest.PID),
		dir:       mapping.Workspace, readOnly: mapping.Skills + "/" + readOnlyName,
		abort: func() { _ = unix.Kill(guest.Parent, unix.SIGKILL) }, // its keeper, or it has ended
	}, nil
}

// openMount mounts a thread on the host as a command would see it.
func (s *stage) openMount(ctx context.Context, _ string) (subject, error) {
	point := filepath.Join(s.dir, "mount.point")
	if err := os.Mkdir(point, 0o755); err != nil {
		return subject{}, err
	}
	s.mounted = true
	m, err := s.provider.MountAt(ctx, mountKey, provider.HostMountOptions{Point: point, View: provider.ViewAgent})
	if err != nil {
		return subject{}, err
	}
	return subject{
		dir: point + mapping.Workspace, readOnly: point + mapping.Skills + "/" + readOnlyName,
		abort: func() { _ = unix.Kill(m.PID, unix.SIGKILL) }, // its server, or it has ended
	}, nil
}

// goRoot asks the Go of the PATH, not one that a go.mod asks for, where its own
// directory is.
func goRoot(ctx context.Context) string {
	cmd := osexec.CommandContext(ctx, "go", "env", "GOROOT")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	if err != nil {
		return "" // the row that needs it says that go is not found
	}
	return strings.TrimSpace(string(out))
}

// close ends everything and removes what was made; nothing is removed while
// something is mounted below it.
func (s *stage) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	for _, v := range s.servers {
		err = errors.Join(err, v.stop())
	}
	if s.provider != nil {
		err = errors.Join(err, s.closeOurs(ctx))
	}
	mounted, lookErr := mountsBelow(s.dir)
	if err = errors.Join(err, lookErr); err != nil || len(mounted) > 0 {
		return errors.Join(err, fmt.Errorf("%s is left, with these mounts: %q", s.dir, mounted))
	}
	return os.RemoveAll(s.dir)
}

func (s *stage) closeOurs(ctx context.Context) error {
	var err error
	if s.mounted {
		mounts, listErr := s.provider.HostMounts(ctx)
		err = listErr
		for _, m := range mounts {
			if unmountErr := s.provider.UnmountAt(ctx, m.Point, provider.UnmountIdle); unmountErr != nil {
				err = errors.Join(err, unmountErr, s.provider.UnmountAt(ctx, m.Point, provider.UnmountLazy))
			}
		}
	}
	boxes, listErr := s.provider.List(ctx)
	err = errors.Join(err, listErr)
	for _, b := range boxes {
		err = errors.Join(err, s.provider.Stop(ctx, mapping.Key{User: b.User, Thread: b.Thread}))
	}
	return err
}

// find looks for a peer's program.
func find(name string) (string, error) {
	program, err := osexec.LookPath(name)
	if err != nil {
		return "", errors.New("not installed")
	}
	return program, nil
}
