package jail

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

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
		neutralThread()
		c, err := j.fork(s, w, control)
		j.child = c
		started <- err
		if err != nil {
			return
		}
		j.ended = c.wait()
		close(j.done)
	}()
	if err := <-started; err != nil {
		close(j.done)
		return spawnError(err)
	}
	return nil
}

// fork starts pid 1 on the calling thread, in the cgroup when there is one.
func (j *Jail) fork(s Spec, w *world, control *os.File) (c *child, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	files := []*os.File{null, null, null, control}
	if s.Log != nil {
		files[2] = s.Log
	}
	env := append(guestEnv[:len(guestEnv):len(guestEnv)], builderEnv[:]...)
	a := attributes(s, w)
	start := func() error {
		c, err = startChild(s.Program, s.Argv, env, files, a)
		return err
	}
	if j.group != nil {
		err := j.group.Start(a, start)
		if err == nil || !a.UseCgroupFD {
			return c, err
		}
		// Version 2 needs clone3, which a container's seccomp profile may
		// refuse, and rules of delegation that only the clone itself tries. If
		// it was not the group's fault, the next attempt fails the same way.
		j.dropGroup()
		w.noGroup(s, "the kernel refused to start a process in it: "+cause(err).Error())
		a.UseCgroupFD = false
	}
	err = start()
	return c, err
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
