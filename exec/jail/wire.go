package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// message is one packet on the socket between the two halves. Only the field
// that belongs to the kind is set.
type message struct {
	Kind      string            `json:"kind"`
	World     *world            `json:"world,omitempty"`
	Isolation map[string]string `json:"isolation,omitempty"`
	Failure   *failure          `json:"failure,omitempty"`
	Second    *failure          `json:"second,omitempty"`
}

const (
	kindWorld  = "world"  // host to guest: what to build; with the listener and, mounted outside, the tree and the second
	kindFuse   = "fuse"   // guest to host: mounted inside; with the /dev/fuse descriptor, and the second's
	kindGo     = "go"     // host to guest: the tree is being served, and the second unless there is a failure
	kindReady  = "ready"  // guest to host: the world is complete and locked
	kindFailed = "failed" // guest to host: what could not be done
)

// world is the part of a Spec that the guest needs.
type world struct {
	Tier        Tier              `json:"tier"`
	Net         Net               `json:"net"`
	Hostname    string            `json:"hostname"`
	Home        string            `json:"home"`
	TreeDirs    []string          `json:"tree_dirs"`
	Mounts      []string          `json:"mounts"`
	ReadOnly    []string          `json:"read_only"`
	TmpBytes    int64             `json:"tmp_bytes"`
	Extra       []byte            `json:"extra"`
	MountInside bool              `json:"mount_inside"`
	Second      bool              `json:"second"`
	UID         uint32            `json:"uid"`
	GID         uint32            `json:"gid"`
	OwnUserNS   bool              `json:"own_userns"`
	Pids        int64             `json:"pids"`
	DataBytes   int64             `json:"data_bytes"`
	Isolation   map[string]string `json:"isolation"`
}

// failure is an Error on its way through the socket.
type failure struct {
	Op    string `json:"op"`
	Errno int    `json:"errno"`
	Text  string `json:"text"`
	Cure  string `json:"cure"`
}

func toFailure(err error) *failure {
	e := failed("build the sandbox", err)
	f := &failure{Op: e.Op, Text: e.Err.Error(), Cure: e.Cure}
	var no unix.Errno
	if errors.As(e.Err, &no) {
		f.Errno = int(no)
	}
	return f
}

func (f *failure) err() *Error {
	e := &Error{Op: f.Op, Err: errors.New(f.Text), Cure: f.Cure}
	if f.Errno != 0 {
		e.Err = unix.Errno(f.Errno)
	}
	return e
}

// maxMessage is more than any message has.
const maxMessage = 160 << 10

// send writes one message with descriptors, which stay the caller's.
func send(c *net.UnixConn, m message, files ...*os.File) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(b) > maxMessage {
		return fmt.Errorf("a message of %d bytes is too long", len(b))
	}
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		oob = unix.UnixRights(fds...)
	}
	_, _, err = c.WriteMsgUnix(b, oob, nil)
	return err
}

// receive reads one message. The descriptors in it are the caller's and are
// close-on-exec. The end of the other side is io.EOF.
func receive(c *net.UnixConn) (m message, files []*os.File, err error) {
	b := make([]byte, maxMessage)
	oob := make([]byte, unix.CmsgSpace(4*4))
	n, on, flags, _, err := c.ReadMsgUnix(b, oob)
	if err != nil {
		return m, nil, err
	}
	files, err = rights(oob[:on])
	if err == nil && flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errors.New("a message was cut short")
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err == nil {
		err = json.Unmarshal(b[:n], &m)
	}
	if err != nil {
		closeAll(files)
		return m, nil, err
	}
	return m, files, nil
}

// rights takes the descriptors out of a control message.
func rights(oob []byte) ([]*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	cmsgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for i := range cmsgs {
		fds, err := unix.ParseUnixRights(&cmsgs[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// socketpair makes the socket between the halves: the host's end and the file
// that the child inherits.
func socketpair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	theirs := os.NewFile(uintptr(fds[1]), "control")
	ours, err := conn(os.NewFile(uintptr(fds[0]), "control"))
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// conn makes a connection of a socket's descriptor, which it closes.
func conn(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("the control descriptor is not a unix socket")
	}
	return u, nil
}
