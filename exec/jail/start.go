package jail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	osexec "os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// startLimit bounds Start when its context has no deadline.
const startLimit = 30 * time.Second

// guestEnv is the whole environment of pid 1; nothing of the caller's gets in.
var guestEnv = [...]string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"LANG=C.UTF-8",
}

// builderEnv is what its first execution has besides: it runs for some
// milliseconds, one step after the other, and needs neither threads nor a
// garbage collector for that.
var builderEnv = [...]string{"GOMAXPROCS=1", "GOGC=off"}

// Start builds a sandbox and returns when its guest has said that it is ready.
// The context bounds the start only. On an error nothing is left: no process,
// no mount, no descriptor, no cgroup; the error is an [*Error] that names the
// failing call and its cure. There is no quiet step down to less isolation.
// The caller ends the sandbox with Close. Safe for concurrent use.
func Start(ctx context.Context, s Spec) (*Jail, error) {
	s, err := s.resolved()
	if err != nil {
		return nil, err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, startLimit)
		defer cancel()
	}
	j := &Jail{done: make(chan struct{})}
	if err := j.start(ctx, s); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

func (j *Jail) start(ctx context.Context, s Spec) error {
	w := newWorld(s)
	if err := j.limit(s, w); err != nil {
		return err
	}
	files := []*os.File{s.Listener}
	if !w.MountInside {
		tree, err := serveOutside(s)
		if err != nil {
			return err
		}
		defer tree.Close()
		files = append(files, tree)
	}
	ours, theirs, err := socketpair()
	if err != nil {
		return failed("socketpair", err)
	}
	j.control = ours
	err = j.spawn(s, w, theirs)
	theirs.Close()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { ours.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := j.handshake(s, w, files); err != nil {
		return j.explain(ctx, err)
	}
	if !stop() {
		return j.explain(ctx, ctx.Err())
	}
	return nil
}

// serveOutside mounts the tree attached nowhere, has it served, and returns
// the mount.
func serveOutside(s Spec) (*os.File, error) {
	fuse, err := openFuse()
	if err != nil {
		return nil, err
	}
	tree, err := mountFuse(fuse, 0, 0)
	if err != nil {
		fuse.Close()
		return nil, err
	}
	if err := s.Serve(fuse); err != nil {
		tree.Close()
		return nil, failed("serve the tree", err)
	}
	return tree, nil
}

// spawn starts pid 1 from a thread that lives as long as pid 1 does: the
// parent-death signal is sent when the forking *thread* ends.
func (j *Jail) spawn(s Spec, w *world, control *os.File) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if s.Tier == Isolated {
			// A keyring of its own keeps the caller's keys out of reach and out
			// of /proc/keys. An ordinary user's quota of keys may be used up;
			// commands are kept from the key calls by their filter as well.
			_, _ = unix.KeyctlJoinSessionKeyring("")
		}
		cmd, err := j.fork(s, w, control)
		if err == nil {
			j.process = cmd.Process
		}
		started <- err
		if err != nil {
			return
		}
		j.ended = cmd.Wait()
		close(j.done)
	}()
	if err := <-started; err != nil {
		close(j.done)
		return spawnError(err)
	}
	return nil
}

// fork starts pid 1 on the calling thread, in the cgroup when there is one.
func (j *Jail) fork(s Spec, w *world, control *os.File) (*osexec.Cmd, error) {
	if j.group != nil {
		cmd := command(s, w, control)
		err := j.group.Start(cmd.SysProcAttr, cmd.Start)
		if err == nil || !cmd.SysProcAttr.UseCgroupFD {
			return cmd, err
		}
		// Version 2 needs clone3, which a container's seccomp profile may
		// refuse, and rules of delegation that only the clone itself tries. If
		// it was not the group's fault, the next attempt fails the same way.
		j.dropGroup()
		w.noGroup(s, "the kernel refused to start a process in it: "+cause(err).Error())
	}
	cmd := command(s, w, control)
	return cmd, cmd.Start()
}

// command is pid 1, not started yet.
func command(s Spec, w *world, control *os.File) *osexec.Cmd {
	cmd := &osexec.Cmd{
		Path:        s.Program,
		Args:        s.Argv,
		Env:         append(guestEnv[:len(guestEnv):len(guestEnv)], builderEnv[:]...),
		Dir:         "/",
		ExtraFiles:  []*os.File{control},
		SysProcAttr: attributes(s, w),
	}
	if s.Log != nil {
		cmd.Stderr = s.Log
	}
	return cmd
}

// spawnError tells a program that cannot be executed from a namespace that
// cannot be had.
func spawnError(err error) error {
	var pe *os.PathError
	switch {
	case !errors.As(err, &pe):
		return failed("start the guest", err)
	case errors.Is(err, unix.EACCES) && dumpable() != 1 && os.Geteuid() != 0:
		return &Error{Op: "write uid_map", Err: unix.EACCES,
			Cure: "the starting process may not be non-dumpable when it is an ordinary user's"}
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOEXEC):
		return failed(opExec, err)
	}
	return failed(opClone, err)
}

func dumpable() int {
	n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		return 1
	}
	return n
}

// attributes says which namespaces and ids pid 1 is born with.
func attributes(s Spec, w *world) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		Setsid:     true,
		Pdeathsig:  unix.SIGKILL,
	}
	if s.Net == NetNone {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if s.Tier == Isolated {
		a.Cloneflags |= unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
		// After the fork, when the child is in its cgroup: the namespace's
		// root is the group of the process that makes it.
		a.Unshareflags = unix.CLONE_NEWCGROUP
	}
	if !w.OwnUserNS {
		return a
	}
	a.Cloneflags |= unix.CLONE_NEWUSER
	host := [2]uint32{s.HostUID, s.HostGID}
	if s.Tier == Host {
		host = [2]uint32{uint32(os.Geteuid()), uint32(os.Getegid())}
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(w.UID), HostID: int(host[0]), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(w.GID), HostID: int(host[1]), Size: 1}}
	if os.Geteuid() == 0 {
		// Root's supplementary groups must go, and setgroups is the call for
		// that; afterwards nothing inside has the capability to call it.
		a.GidMappingsEnableSetgroups = true
	}
	a.Credential = &syscall.Credential{Uid: w.UID, Gid: w.GID, NoSetGroups: os.Geteuid() != 0}
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_RESOURCE}
	if s.Net == NetNone {
		a.AmbientCaps = append(a.AmbientCaps, unix.CAP_NET_ADMIN)
	}
	return a
}

// handshake tells the guest what to build and waits until it is built.
func (j *Jail) handshake(s Spec, w *world, files []*os.File) error {
	if err := send(j.control, message{Kind: kindWorld, World: w}, files...); err != nil {
		return err
	}
	for {
		m, got, err := receive(j.control)
		if err != nil {
			return err
		}
		switch m.Kind {
		case kindFuse:
			if !w.MountInside || len(got) != 1 {
				closeAll(got)
				return errors.New("the guest sent an unexpected descriptor")
			}
			w.MountInside = false // once
			if err := s.Serve(got[0]); err != nil {
				return failed("serve the tree", err)
			}
			if err := send(j.control, message{Kind: kindGo}); err != nil {
				return err
			}
		case kindReady:
			closeAll(got)
			j.isolation = m.Isolation
			return nil
		case kindFailed:
			closeAll(got)
			if m.Failure == nil {
				return errors.New("the guest failed and did not say why")
			}
			return m.Failure.err()
		default:
			closeAll(got)
			return fmt.Errorf("the guest sent %q", m.Kind)
		}
	}
}

// explain turns an error of the handshake into what really happened.
func (j *Jail) explain(ctx context.Context, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if ctx.Err() != nil {
		return &Error{Op: "wait for the guest", Err: ctx.Err()}
	}
	var ne net.Error
	if errors.Is(err, io.EOF) || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) || errors.As(err, &ne) {
		select {
		case <-j.done:
			return &Error{Op: "wait for the guest", Err: fmt.Errorf("it ended while its world was being built (%v)", j.ended),
				Cure: "its log has the reason"}
		case <-ctx.Done():
		}
	}
	return failed("talk to the guest", err)
}
