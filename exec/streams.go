package exec

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// streams are the guest's and the command's ends of its standard streams.
type streams struct {
	stdin   io.WriteCloser
	out     *output
	err     *output
	pty     *os.File
	inPipe  *os.File
	foreign []int // the command's ends, until they are sent
}

// openStreams makes pipes or a terminal.
func openStreams(c *Command) (*streams, error) {
	s := &streams{}
	if c.TTY != nil {
		master, slave, err := openPTY(*c.TTY)
		if err != nil {
			return nil, err
		}
		s.pty, s.foreign = master, []int{slave}
		s.out = newOutput(master, true)
		s.stdin = &ttyInput{master: master}
		return s, nil
	}
	if c.Stdin == StdinPipe {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return nil, os.NewSyscallError("pipe2", err)
		}
		s.foreign = append(s.foreign, p[0])
		s.inPipe = pollable(p[1], "stdin")
		s.stdin = s.inPipe
	}
	for _, o := range []**output{&s.out, &s.err} {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			s.closeTheirs()
			s.closeOurs()
			return nil, os.NewSyscallError("pipe2", err)
		}
		s.foreign = append(s.foreign, p[1])
		*o = newOutput(pollable(p[0], "output"), false)
	}
	return s, nil
}

// pollable makes our own end non-blocking; the command's end, another open
// file, stays blocking as programs expect.
func pollable(fd int, name string) *os.File {
	unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), name)
}

// interfaces returns nil interfaces for streams that are not there.
func (s *streams) interfaces() (in io.WriteCloser, out, err io.ReadCloser) {
	if s.err != nil {
		err = s.err
	}
	return s.stdin, s.out, err
}

// attach adds a memory file to what is sent.
func (s *streams) attach(name string, content []byte) error {
	f, err := memoryFile(name, content)
	if err != nil {
		return err
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	s.foreign = append(s.foreign, fd)
	return nil
}

// lend adds a copy of a file's descriptor to what is sent.
func (s *streams) lend(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	fd := -1
	if err := raw.Control(func(n uintptr) { fd, err = unix.FcntlInt(n, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return err
	}
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	s.foreign = append(s.foreign, fd)
	return nil
}

func (s *streams) theirs() []int { return s.foreign }

func (s *streams) closeTheirs() {
	closeAll(s.foreign)
	s.foreign = nil
}

// closeOurs is for a command that was not started.
func (s *streams) closeOurs() {
	if s.inPipe != nil {
		s.inPipe.Close()
	}
	for _, o := range []*output{s.out, s.err} {
		if o != nil {
			o.Close()
		}
	}
}

// finish is called when the tree is gone: nobody reads the input any more, and
// what is in the pipes is all there will be.
func (s *streams) finish() {
	if s.inPipe != nil {
		s.inPipe.Close()
	}
	s.out.finish()
	if s.err != nil {
		s.err.finish()
	}
}

func (s *streams) resize(size Size) error {
	if s.pty == nil {
		return unix.ENOTTY
	}
	return setWindow(s.pty, size)
}
