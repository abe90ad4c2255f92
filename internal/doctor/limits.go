package doctor

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// minDescriptors is the least hard limit with which a tree keeps a middling
// repository's files at hand: below it directories are opened again and again.
const minDescriptors = 4096

func checkDescriptors(*machine) Finding {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return warn("the limit on descriptors cannot be read: "+err.Error(), "nothing, where the sandbox below is good", "")
	}
	return judgeDescriptors(l.Max)
}

func judgeDescriptors(hard uint64) Finding {
	if hard == unix.RLIM_INFINITY {
		return ok("no limit on open descriptors")
	}
	detail := fmt.Sprintf("at most %d open descriptors", hard)
	if hard < minDescriptors {
		return warn(detail, "speed: a tree holds few files open, and commands run out of descriptors early",
			"put '* hard nofile 65536' into /etc/security/limits.d/sandboxfs.conf and log in again; for a service 'LimitNOFILE=65536'")
	}
	return ok(detail)
}

// Instances and watches that one user needs for some sandboxes at work.
const (
	minInotifyInstances = 128
	minInotifyWatches   = 8192
)

func checkInotify(*machine) Finding {
	const lost = "programs that watch files (build servers, editors) fail in sandboxes"
	instances, watches := kernelSetting("fs/inotify/max_user_instances"), kernelSetting("fs/inotify/max_user_watches")
	more := "sysctl -w fs.inotify.max_user_instances=1024 fs.inotify.max_user_watches=524288"
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return warn("inotify_init1: "+err.Error(), lost, more)
	}
	defer unix.Close(fd)
	if _, err := unix.InotifyAddWatch(fd, "/", unix.IN_CREATE); errors.Is(err, unix.ENOSPC) {
		return warn("this user's watches are used up", lost, more)
	}
	detail := fmt.Sprintf("%s instances and %s watches for each user", instances, watches)
	for _, l := range []struct {
		text string
		min  int
	}{{instances, minInotifyInstances}, {watches, minInotifyWatches}} {
		if n, err := strconv.Atoi(l.text); err == nil && n < l.min {
			return warn(detail, lost+" when many run", more)
		}
	}
	return ok(detail)
}
