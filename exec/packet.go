package exec

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// maxPacket bounds one message on the socket; what is larger goes through
	// a memory file.
	maxPacket = 64 << 10
	// maxDescriptors is the most that one message carries.
	maxDescriptors = 6
	// maxBody bounds argv, env and dir: the kernel takes 6 MiB at most.
	maxBody = 16 << 20
)

// memoryFile makes a sealed, unnamed file with the bytes, positioned at its
// start.
func memoryFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.WriteAt(content, 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("write memory file: %w", err)
	}
	unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	return f, nil
}

// receive reads one message with its descriptors from a blocking socket. The
// descriptors are close-on-exec. n is 0 when the other end is closed.
func receive(fd int, buf []byte) (n int, fds []int, err error) {
	oob := make([]byte, unix.CmsgSpace(maxDescriptors*4))
	var oobn, flags int
	for {
		n, oobn, flags, _, err = unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return 0, nil, err
	}
	if oobn > 0 {
		msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil {
			return 0, nil, err
		}
		for i := range msgs {
			got, err := unix.ParseUnixRights(&msgs[i])
			if err == nil {
				fds = append(fds, got...)
			}
		}
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		closeAll(fds)
		return 0, nil, errWire
	}
	return n, fds, nil
}

// send writes one message to a blocking socket.
func send(fd int, b []byte) error {
	for {
		err := unix.Sendmsg(fd, b, nil, nil, unix.MSG_NOSIGNAL)
		if err != unix.EINTR {
			return err
		}
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
