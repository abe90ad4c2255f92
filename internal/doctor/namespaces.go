package doctor

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/sandboxfs/sandboxfs/exec/jail"
	"golang.org/x/sys/unix"
)

// inside runs a probe in namespaces as a sandbox has them. The probe is our own
// code, so it keeps this user's own ids, which a sandbox of root's never has.
func inside(probe string) answer {
	return ask(jail.OpNamespaces, &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
			unix.CLONE_NEWUTS | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}, nil, probe)
}

// refused is the finding of a probe that failed: in the words, and with the
// cure, of the error that starting a sandbox gives.
func refused(a answer) Finding {
	return fail(a.Op+": "+a.err().Error(), noSandbox, jail.Cure(a.Op, a.err()))
}

func checkNamespaces(*machine) Finding {
	if a := inside(probeMounts); !a.ok() {
		return refused(a)
	}
	detail := "user, mount, pid, ipc, uts, net and cgroup namespaces, and mounts in them"
	if n, err := strconv.Atoi(kernelSetting("user/max_user_namespaces")); err == nil {
		detail += ", at most " + strconv.Itoa(n)
		if n < 512 { // one for each of 256 sandboxes, and room for others
			return warn(detail, "more sandboxes at once than that", "sysctl -w user.max_user_namespaces=10000")
		}
	}
	return ok(detail)
}

func checkProc(*machine) Finding {
	if a := inside(probeProc); !a.ok() {
		return refused(a)
	}
	return ok("a private /proc can be mounted in new namespaces")
}

// kernelSetting is the value of a file below /proc/sys; "" where it does not
// exist.
func kernelSetting(name string) string {
	b, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
