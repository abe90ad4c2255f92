package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// parent is the directory that holds all groups of this program, in every
// tree. Nothing outside it is ever removed or killed.
const parent = "sandboxfs"

// ErrUnavailable says that this user can have no group with a limit on tasks
// or memory here. The text of the wrapping error says why.
var ErrUnavailable = errors.New("no cgroup can be had")

// Group is one sandbox's group. Its methods are not for concurrent use,
// except Kill.
type Group struct {
	name string
	dirs []dir
}

// dir is the group's directory in one tree.
type dir struct {
	root    *os.Root // the directory called sandboxfs
	version int
	// controllers that are limited here.
	controllers []string
}

// ValidName reports whether a name can be a group: 1 to 64 letters, digits,
// '_' and '-'.
func ValidName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// Create makes the group of a sandbox and sets its limits. A leftover of the
// same name is ended and removed first: whoever creates must hold the
// sandbox's lock. Without any place for a group the error is ErrUnavailable.
// The caller ends with Remove.
func Create(name string, l Limits) (*Group, error) {
	if !ValidName(name) {
		return nil, fmt.Errorf("create cgroup: %q is not a name of 1 to 64 letters, digits, '_' and '-'", name)
	}
	l, err := l.Resolved()
	if err != nil {
		return nil, err
	}
	mounts, self, err := system()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
	g := &Group{name: name}
	why := g.addV1(mounts, l)
	if len(g.dirs) == 0 {
		if w := g.addV2(mounts, self, l); w != nil {
			why = w
		}
	}
	if len(g.dirs) == 0 {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, why)
	}
	return g, nil
}

// make creates the group below parent and writes its settings; on an error
// nothing is left.
func (g *Group) make(d dir, settings []setting) error {
	err := d.root.Mkdir(g.name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err = d.remove(ctx, g.name); err == nil {
			err = d.root.Mkdir(g.name, 0o755)
		}
	}
	if err != nil {
		return bare(err)
	}
	for _, s := range settings {
		err := write(d.root, g.name+"/"+s.file, s.value)
		if err != nil && !s.optional {
			d.root.Remove(g.name)
			return fmt.Errorf("set %s to %s: %w", s.file, s.value, bare(err))
		}
	}
	g.dirs = append(g.dirs, d)
	return nil
}

// Start calls start, which must fork a process on the calling thread with the
// given attributes; that process is in the group before it runs anything. The
// calling goroutine must be locked to its thread.
//
// Version 2 has the kernel put the child there as it is made (the attributes
// are changed for that). Version 1 has no such call, but a child inherits the
// groups of the thread that forks, so the thread goes in, forks and returns.
func (g *Group) Start(attr *syscall.SysProcAttr, start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := g.ownTasks()
	if err != nil {
		return fmt.Errorf("find own cgroup: %w", bare(err))
	}
	var back []*os.File
	defer func() {
		for _, f := range back {
			// "0" is the calling thread, and spares the kernel a grace period.
			f.WriteString("0")
		}
		for _, f := range home {
			f.Close()
		}
	}()
	for i, d := range g.dirs {
		if d.version == 2 {
			f, err := d.root.Open(g.name)
			if err != nil {
				return fmt.Errorf("open cgroup: %w", bare(err))
			}
			defer f.Close()
			attr.UseCgroupFD, attr.CgroupFD = true, int(f.Fd())
			continue
		}
		back = append(back, home[i])
		if err := write(d.root, g.name+"/tasks", "0"); err != nil {
			return fmt.Errorf("enter cgroup: %w", bare(err))
		}
	}
	return start()
}

// String says what is limited and how, such as "v1: pids, memory, cpu".
func (g *Group) String() string {
	var names []string
	version := 0
	for _, d := range g.dirs {
		version = d.version
		names = append(names, d.controllers...)
	}
	return fmt.Sprintf("v%d: %s", version, strings.Join(names, ", "))
}

// Has reports whether a controller's limit is in force.
func (g *Group) Has(controller string) bool {
	for _, d := range g.dirs {
		if d.has(controller) {
			return true
		}
	}
	return false
}

func (d dir) has(controller string) bool { return slices.Contains(d.controllers, controller) }

// Kill sends SIGKILL to every process in the group. It does not wait for
// their end.
func (g *Group) Kill() error {
	var errs []error
	for _, d := range g.dirs {
		_, err := d.kill(g.name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Remove ends what is left in the group and removes it. The context bounds
// the wait for processes that are still ending. The group is of no use
// afterwards, whatever the answer; a second call does nothing.
func (g *Group) Remove(ctx context.Context) error {
	var errs []error
	for _, d := range g.dirs {
		errs = append(errs, d.remove(ctx, g.name))
		d.root.Close()
	}
	g.dirs = nil
	return errors.Join(errs...)
}

// kill ends the members of a group once and says how many it met.
func (d dir) kill(name string) (int, error) {
	f, err := d.root.Open(name + "/cgroup.procs")
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		return 0, bare(err)
	}
	defer f.Close()
	text, err := readAll(f)
	if err != nil {
		return 0, bare(err)
	}
	pids := strings.Fields(text)
	if d.version == 2 && len(pids) > 0 {
		if write(d.root, name+"/cgroup.kill", "1") == nil {
			return len(pids), nil
		}
	}
	for _, p := range pids {
		// 0 stands for a process that this pid namespace cannot name; and
		// this process itself is in the list while a thread of it forks.
		if pid, err := strconv.Atoi(p); err == nil && pid > 0 && pid != os.Getpid() {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
	return len(pids), nil
}

// remove kills and removes one group of this tree, until it is gone or the
// context ends. A killed process leaves its group some time later and version
// 1 has no event for that, so the removal itself is the question asked.
func (d dir) remove(ctx context.Context, name string) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := d.root.Remove(name)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("remove cgroup: %w", bare(err))
		}
		if _, err := d.kill(name); err != nil {
			return fmt.Errorf("end cgroup: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("remove cgroup: a process in it does not end: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// bare strips the path from an error of package os.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
