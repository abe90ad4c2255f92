package rundir

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// uidBase begins the range that systemd's list of uid ranges
	// (https://systemd.io/UIDS-GIDS) leaves to nobody: 0x70000000 up to
	// 0x7FFFFFFE.
	uidBase = 0x70000000
	uidSpan = 1 << 24
	uidFile = "uids"
)

// ClaimUID finds a host uid that no other living sandbox of this runtime
// directory is mapped to and claims it for as long as the returned file is
// open: a record lock on the byte of that number, so that a claim ends with
// its process and leaves nothing. The search begins at a place that the
// sandbox's name gives, so that sandboxes of other runtime directories hardly
// ever meet it. The same number serves as gid.
func (d *Dir) ClaimUID() (uint32, *os.File, error) {
	fd, err := unix.Openat(int(d.root.dir.Fd()), uidFile, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return 0, nil, &os.PathError{Op: "open", Path: uidFile, Err: err}
	}
	f := os.NewFile(uintptr(fd), uidFile)
	h := fnv.New32a()
	h.Write([]byte(d.Path()))
	start := h.Sum32() % uidSpan
	for i := range uint32(1 << 16) {
		n := (start + i) % uidSpan
		lk := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(n), Len: 1}
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lk)
		if err == nil {
			return uidBase + n, f, nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			f.Close()
			return 0, nil, os.NewSyscallError("fcntl", err)
		}
	}
	f.Close()
	return 0, nil, fmt.Errorf("no free uid for a sandbox in 65536 tries")
}
