package doctor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What of the FUSE protocol is needed to be offered passthrough
// (include/uapi/linux/fuse.h).
const (
	opInit             = 26
	initExt            = 1 << 30 // the second word of flags is there
	flags2Passthrough  = 1 << (37 - 32)
	maxStackDepth      = 2          // the kernel's own bound
	ioctlBackingOpen   = 0x4010e501 // _IOW(229, 1, struct fuse_backing_map)
	minRequestBuffer   = 8192
	lengthOfInHeader   = 40
	lengthOfOutHeader  = 16
	lengthOfInitOut    = 64
	offsetInitFlags    = lengthOfInHeader + 12
	offsetInitFlags2   = lengthOfInHeader + 16
	opBacking          = "register a file with the FUSE device"
	opInitialise       = "initialise a FUSE mount"
	noPassthroughOffer = "this kernel offers no passthrough"
)

const lostPassthrough = "speed: reads and writes of files pass through the tree's server"

func checkPassthrough(m *machine) Finding {
	if !m.root() {
		return warn("only root's trees have it", lostPassthrough, "run as root, where that is right otherwise")
	}
	a := ask("start the probe", nil, nil, probePassthrough, m.Home)
	switch {
	case a.ok():
		return ok("files of the data directory are read and written by the kernel itself")
	case a.Op == opBacking && a.Errno == unix.ELOOP:
		return warn("the data directory's file system is itself stacked on others", lostPassthrough, "set SANDBOXFS_HOME to a directory on a plain file system, such as ext4 or xfs")
	case a.Text == noPassthroughOffer:
		return warn(a.Text, lostPassthrough, "boot Linux 6.9 or newer, built with CONFIG_FUSE_PASSTHROUGH")
	}
	return warn(a.Op+": "+a.err().Error(), lostPassthrough, "run with the capability SYS_ADMIN, on Linux 6.9 or newer")
}

// tryPassthrough serves a mount that nobody uses just far enough to be offered
// passthrough, and registers a file.
func tryPassthrough(args []string) answer {
	f, op, err := openAndMount()
	if err != nil {
		return failedProbe(op, err)
	}
	defer f.close()
	offered, err := initialise(f.device)
	if err != nil {
		return failedProbe(opInitialise, err)
	}
	if !offered {
		return answer{Op: opInitialise, Text: noPassthroughOffer}
	}
	backing, err := nameless(args)
	if err != nil {
		return failedProbe("make a file in the data directory", err)
	}
	defer backing.Close()
	// struct fuse_backing_map: the descriptor, flags and padding.
	request := [4]uint32{uint32(backing.Fd())}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(f.device), ioctlBackingOpen, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return failedProbe(opBacking, errno)
	}
	return answer{}
}

// initialise answers the kernel's first request and reports whether it offers
// passthrough.
func initialise(device int) (bool, error) {
	in := make([]byte, minRequestBuffer)
	n, err := unix.Read(device, in)
	if err != nil {
		return false, err
	}
	order := binary.NativeEndian
	if n < offsetInitFlags2+4 || order.Uint32(in[4:]) != opInit {
		return false, errors.New("the kernel's first request is not understood")
	}
	offered := order.Uint32(in[offsetInitFlags:])&initExt != 0 && order.Uint32(in[offsetInitFlags2:])&flags2Passthrough != 0
	if !offered {
		return false, nil
	}
	out := make([]byte, lengthOfOutHeader+lengthOfInitOut)
	order.PutUint32(out, uint32(len(out)))
	copy(out[8:16], in[8:16]) // the request's number
	body := out[lengthOfOutHeader:]
	order.PutUint32(body, 7)            // protocol 7.40
	order.PutUint32(body[4:], 40)       //
	order.PutUint32(body[12:], initExt) //
	order.PutUint32(body[20:], 4096)    // the largest write
	order.PutUint32(body[32:], flags2Passthrough)
	order.PutUint32(body[36:], maxStackDepth)
	if _, err := unix.Write(device, out); err != nil {
		return false, err
	}
	return true, nil
}

// nameless opens a file on the data directory's file system that goes with its
// descriptor.
func nameless(args []string) (*os.File, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("want one directory, got %d", len(args))
	}
	dir, _ := existing(args[0])
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), dir), nil
}
