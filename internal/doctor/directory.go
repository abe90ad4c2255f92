package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// existing returns the path, or where it is missing the nearest directory above
// it that exists, and whether that is the path itself.
func existing(path string) (dir string, found bool) {
	for dir = filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == "/" {
			return dir, dir == filepath.Clean(path)
		}
	}
}

func checkData(m *machine) Finding {
	const cure = "set SANDBOXFS_HOME to a directory of your own on a local file system"
	dir, found := existing(m.Home)
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fail(dir+": "+err.Error(), noSandbox, cure)
	}
	skew, err := tryWrite(dir)
	if err != nil {
		what := "no file can be made in " + dir
		if !found {
			what = m.Home + " is missing, and cannot be made in " + dir
		}
		return fail(what+": "+err.Error(), noSandbox, cure)
	}
	kind := kindOf(int64(fs.Type))
	detail := m.Home + ", on " + kind.name
	if !found {
		detail += ", made when it is first needed"
	}
	switch {
	case kind.trust == network:
		return warn(detail, "speed, and another machine's changes are seen late; locks and ownership are the server's", cure)
	case kind.trust == vanishes:
		return warn(detail, "the threads' files at the next boot", cure)
	case kind.trust == unknown:
		return warn(detail, "it is not known how well this file system keeps what sandboxfs relies on", cure)
	case skew > maxSkew || skew < -maxSkew:
		return warn(fmt.Sprintf("%s, whose clock differs from this machine's by %v", detail, skew.Round(time.Second)),
			"programs that compare times, such as make, go wrong", "synchronise the clocks, with chrony or systemd-timesyncd")
	}
	return ok(detail)
}

// maxSkew is how far a file's time may be from ours: programs see a difference
// of seconds.
const maxSkew = 2 * time.Second

// tryWrite makes a file that leaves nothing, and returns how far its time of
// change is ahead of this machine's clock.
func tryWrite(dir string) (time.Duration, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if isErr(err, unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL) {
		// Not every file system has files without a name.
		var f *os.File
		if f, err = os.CreateTemp(dir, ".sandboxfs-doctor-*"); err == nil {
			defer f.Close()
			err = os.Remove(f.Name())
			fd, _ = unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
		}
	}
	if err != nil {
		return 0, cause(err)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte("x")); err != nil {
		return 0, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	sec, nsec := st.Mtim.Unix()
	return time.Until(time.Unix(sec, nsec)), nil
}

func cause(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func checkRuntime(m *machine) Finding {
	const cure = "set SANDBOXFS_RUNTIME_DIR to a directory of your own with mode 0700"
	dir, found := existing(m.RuntimeDir)
	if !found {
		if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
			return fail(fmt.Sprintf("%s is missing, and cannot be made in %s: %v", m.RuntimeDir, dir, err), noSandbox, cure)
		}
		return ok(m.RuntimeDir + ", made when it is first needed")
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return fail(dir+": "+err.Error(), noSandbox, cure)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fail(dir+" is no directory", noSandbox, cure)
	case int(st.Uid) != m.UID:
		return fail(fmt.Sprintf("%s belongs to uid %d", dir, st.Uid), noSandbox, cure)
	case st.Mode&0o022 != 0:
		return fail("others can write to "+dir, noSandbox, "chmod 700 "+dir)
	}
	if _, err := tryWrite(dir); err != nil {
		return fail("no file can be made in "+dir+": "+err.Error(), noSandbox, cure)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fail(dir+": "+err.Error(), noSandbox, cure)
	}
	if kind := kindOf(int64(fs.Type)); kind.trust == network || kind.trust == unknown {
		return warn(dir+", on "+kind.name, "locks and sockets may not work there, so that a thread could get two sandboxes", cure)
	}
	return ok(dir)
}
