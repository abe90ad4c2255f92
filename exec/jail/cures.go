package jail

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// Names of the calls that have cures of their own.
const (
	opClone    = "clone with new namespaces"
	opExec     = "execute sandboxfsd as the sandbox's user"
	opOpenFuse = "open /dev/fuse"
	opFsopen   = "fsopen(fuse)"
	opProc     = "mount /proc"
	opPrivate  = "make mounts private"
	opMaxUser  = "write /proc/sys/user/max_user_namespaces"
)

// cureFor says what to do about a failed call. read gives the value of a
// kernel setting, "" where it does not exist.
func cureFor(op string, err error, read func(string) string) string {
	is := func(errs ...error) bool {
		for _, e := range errs {
			if errors.Is(err, e) {
				return true
			}
		}
		return false
	}
	switch op {
	case opClone:
		return cloneCure(is, read)
	case opExec:
		return "the program must be executable for every user (chmod 755) and on a filesystem mounted without noexec"
	case opOpenFuse:
		switch {
		case is(unix.ENOENT, unix.ENXIO, unix.ENODEV):
			return "load the module with 'modprobe fuse'; in a container start it with '--device /dev/fuse'"
		case is(unix.EACCES):
			return "let users open it, as root: 'chmod 666 /dev/fuse', and for good a udev rule: KERNEL==\"fuse\", MODE=\"0666\""
		case is(unix.EPERM):
			return "the container's device rules forbid it: start the container with '--device /dev/fuse'"
		}
	case opFsopen:
		switch {
		case is(unix.ENODEV):
			return "load the module with 'modprobe fuse'"
		case is(unix.ENOSYS):
			return "this needs Linux 6.1 or newer, and a container whose seccomp profile allows the mount calls"
		case is(unix.EPERM, unix.EACCES):
			return mountCure(read)
		}
	case opProc:
		if is(unix.EPERM) {
			return "parts of /proc are masked here, as container engines do; start the container with unmasked system paths ('--security-opt systempaths=unconfined'; in Kubernetes 'procMount: Unmasked')"
		}
	}
	switch {
	case is(unix.ENOSYS):
		return "this needs Linux 6.1 or newer, and a container whose seccomp profile allows the call"
	case is(unix.EPERM, unix.EACCES):
		return mountCure(read)
	case is(unix.ENOSPC) && strings.HasPrefix(op, "mount"):
		return "raise the limit on mounts: 'sysctl -w fs.mount-max=100000'"
	}
	return ""
}

// cloneCure explains why new namespaces were refused.
func cloneCure(is func(...error) bool, read func(string) string) string {
	for _, n := range []string{"user", "mnt", "pid", "ipc", "uts", "net", "cgroup"} {
		if key := "user.max_" + n + "_namespaces"; read("user/max_"+n+"_namespaces") == "0" {
			return "namespaces are switched off here: 'sysctl -w " + key + "=10000'"
		}
	}
	switch {
	case is(unix.ENOSPC):
		return "the limit on namespaces is reached: end some sandboxes, or raise the user.max_*_namespaces settings"
	case is(unix.EUSERS):
		return "namespaces are nested too deeply here: run it further outside"
	case is(unix.EINVAL):
		return "this kernel lacks one of the user, pid, ipc, uts, net and cgroup namespaces"
	case is(unix.EAGAIN, unix.ENOMEM):
		return "the limit on processes or memory is reached: end something, or raise 'ulimit -u'"
	case read("kernel/unprivileged_userns_clone") == "0":
		return "user namespaces are kept from ordinary users: 'sysctl -w kernel.unprivileged_userns_clone=1'"
	case is(unix.EPERM, unix.EACCES):
		if c := mountCure(read); c != "" {
			return c
		}
	}
	return ""
}

// mountCure explains why a call that needs capabilities in our own user
// namespace was refused.
func mountCure(read func(string) string) string {
	if read("kernel/apparmor_restrict_unprivileged_userns") == "1" {
		return "AppArmor strips new user namespaces of their rights: install a profile for sandboxfsd that has 'userns,', or 'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0'"
	}
	return "a security module or a container's seccomp profile forbids it: in a container allow namespaces and mounts ('--security-opt seccomp=unconfined --security-opt apparmor=unconfined', or '--cap-add SYS_ADMIN')"
}
