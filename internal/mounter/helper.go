package mounter

import (
	"bytes"
	"context"
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// helperName is the set-user-ID program by which an ordinary user mounts and
// unmounts (fusermount3(1)).
const helperName = "fusermount3"

// helperTimeout bounds a run of it, which takes milliseconds.
const helperTimeout = 20 * time.Second

func findHelper() (string, error) {
	if p, err := osexec.LookPath(helperName); err == nil {
		return p, nil
	}
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		if st, err := os.Stat(filepath.Join(dir, helperName)); err == nil && st.Mode()&0o111 != 0 {
			return filepath.Join(dir, helperName), nil
		}
	}
	return "", &provider.Error{Kind: provider.Unavailable, Reason: helperName + " was not found; an ordinary user mounts with its help",
		Next: "install it (Debian: apt-get install fuse3)"}
}

// mountByHelper mounts at a directory and returns the device, which the helper
// sends over a socket. The helper inherits the maker's lock, so that a mount
// that it completes after this process was killed is made under the lock.
func mountByHelper(point, options string, lock *os.File) (*os.File, error) {
	program, err := findHelper()
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "socket")
	defer ours.Close()
	err = runHelper(program, []string{"-o", options, "--", point}, theirs, lock)
	theirs.Close()
	if err != nil {
		return nil, err
	}
	return receive(int(ours.Fd()))
}

// receive takes the device from the socket.
func receive(socket int) (*os.File, error) {
	space := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 8), space, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if err != nil {
		return nil, os.NewSyscallError("recvmsg", err)
	}
	messages, err := unix.ParseSocketControlMessage(space[:n])
	if err != nil {
		return nil, err
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err == nil && len(fds) == 1 {
			return os.NewFile(uintptr(fds[0]), "/dev/fuse"), nil
		}
	}
	return nil, errors.New(helperName + " sent no device")
}

// runHelper runs fusermount3. The files become its descriptors from 3 on.
func runHelper(program string, args []string, files ...*os.File) error {
	ctx, cancel := context.WithTimeout(context.Background(), helperTimeout)
	defer cancel()
	var stderr bytes.Buffer
	cmd := osexec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "_FUSE_COMMFD=3"}
	cmd.Dir = "/"
	cmd.ExtraFiles, cmd.Stderr = files, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if err == nil {
		return nil
	}
	return helperError(stderr.String(), err)
}

// helperError puts what fusermount3 says into an error with its cure.
func helperError(said string, err error) error {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	text := lines[len(lines)-1] // "PROGRAM: TEXT", and PROGRAM sometimes twice
	if i := strings.LastIndex(text, helperName+": "); i >= 0 {
		text = text[i+len(helperName)+2:]
	}
	if text == "" {
		text = err.Error()
	}
	e := &provider.Error{Kind: provider.Denied, Reason: helperName + ": " + text, Err: err}
	switch {
	case strings.Contains(said, "busy"):
		e.Kind = provider.Conflict
	case strings.Contains(said, "user_allow_other"):
		e.Next = "leave --allow-other out, or let root put the line user_allow_other into /etc/fuse.conf"
	case strings.Contains(said, "mount_max"):
		e.Next = "unmount some, or let root raise mount_max in /etc/fuse.conf"
	case strings.Contains(said, "write access"):
		e.Next = "mount at a directory that you can write to"
	case strings.Contains(said, "mtab"):
		e.Kind, e.Next = provider.Unavailable, "it looks its mounts up in /etc/mtab; let root make that: ln -s /proc/self/mounts /etc/mtab"
	case strings.Contains(said, "Operation not permitted"):
		e.Next = "it must be set-user-ID root and on a filesystem that allows it, and this process must not have no_new_privs"
	}
	return e
}
