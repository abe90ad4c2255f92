package doctor

import (
	"bufio"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	fuseConf        = "/etc/fuse.conf"
	mtab            = "/etc/mtab"
	lostHostMounts  = "ordinary users' trees mounted on the host (sandboxes need no fusermount3)"
	lostOtherReader = "other users, containers and services cannot look into an ordinary user's mounts"
)

// forUsers is a warning for an ordinary user, and only a remark for root, who
// needs none of it.
func (m *machine) forUsers(detail, lost, cure string) Finding {
	if m.root() {
		return ok(detail + "; only ordinary users need it")
	}
	return warn(detail, lost, cure)
}

func checkFusermount(m *machine) Finding {
	const program, install = "fusermount3", "apt-get install fuse3"
	path, err := osexec.LookPath(program)
	if err != nil {
		return m.forUsers("there is no "+program+" in PATH", lostHostMounts, install)
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return m.forUsers("stat "+path+": "+err.Error(), lostHostMounts, install)
	}
	if st.Uid != 0 || st.Mode&unix.S_ISUID == 0 {
		return m.forUsers(path+" is not set-uid root", lostHostMounts, fmt.Sprintf("chown root %s && chmod 4755 %s", path, path))
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err == nil && fs.Flags&unix.ST_NOSUID != 0 {
		return m.forUsers(path+" lies on a file system that is mounted nosuid", lostHostMounts, "mount it without nosuid")
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err == nil && n == 1 {
		return m.forUsers("set-uid programs have no effect here (no_new_privs)", lostHostMounts,
			"start the service without NoNewPrivileges, the container without 'no-new-privileges'")
	}
	if err := unix.Stat(mtab, &st); err != nil {
		return m.forUsers(fmt.Sprintf("there is no %s, in which %s looks up what it shall unmount", mtab, program), "unmounting of ordinary users' trees on the host",
			"as root: ln -s /proc/self/mounts "+mtab)
	}
	return ok(path + ", set-uid root")
}

func checkFuseConf(m *machine) Finding {
	const allow, cure = "user_allow_other", "echo user_allow_other | sudo tee -a " + fuseConf
	f, err := os.Open(fuseConf)
	if err != nil {
		return m.forUsers(fmt.Sprintf("%s cannot be read, so %s is not set", fuseConf, allow), lostOtherReader, cure)
	}
	defer f.Close()
	if hasLine(f, allow) {
		return ok(allow + " is set in " + fuseConf)
	}
	return m.forUsers(allow+" is not set in "+fuseConf, lostOtherReader, cure)
}

// hasLine reports whether a setting stands alone on a line, as
// mount.fuse3(8) wants it.
func hasLine(r io.Reader, want string) bool {
	for s := bufio.NewScanner(io.LimitReader(r, 1<<20)); s.Scan(); {
		if strings.TrimSpace(s.Text()) == want {
			return true
		}
	}
	return false
}
