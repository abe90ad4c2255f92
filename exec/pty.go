package exec

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// openPTY makes a terminal from the sandbox's own devpts.
func openPTY(size Size) (master *os.File, slave int, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	master = pollable(fd, "terminal")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		master.Close()
		return nil, 0, fmt.Errorf("unlock terminal: %w", err)
	}
	// By descriptor and not by name: no path has to lead to it.
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		master.Close()
		return nil, 0, fmt.Errorf("open the terminal's other side: %w", errno)
	}
	if err := setWindow(master, size); err != nil {
		unix.Close(int(peer))
		master.Close()
		return nil, 0, err
	}
	return master, int(peer), nil
}

// setWindow sets the window's size.
func setWindow(master *os.File, size Size) error {
	w := unix.Winsize{Row: size.Rows, Col: size.Cols}
	if w.Row == 0 {
		w.Row = 24
	}
	if w.Col == 0 {
		w.Col = 80
	}
	raw, err := master.SyscallConn()
	if err != nil {
		return err
	}
	var errno error
	if err := raw.Control(func(fd uintptr) { errno = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &w) }); err != nil {
		return err
	}
	return os.NewSyscallError("ioctl(TIOCSWINSZ)", errno)
}

// ttyInput writes to a terminal. The master side is the output's to close.
type ttyInput struct {
	master *os.File

	mu   sync.Mutex
	last byte // typed last; 0 is nothing yet
}

func (t *ttyInput) Write(p []byte) (int, error) {
	n, err := t.master.Write(p)
	if n > 0 {
		t.mu.Lock()
		t.last = p[n-1]
		t.mu.Unlock()
	}
	return n, err
}

// Close types the end-of-file character, where the terminal is in the mode that
// interprets it. Within a line it only hands over what was typed so far, and
// must be typed again to mean the end.
func (t *ttyInput) Close() error {
	raw, err := t.master.SyscallConn()
	if err != nil {
		return nil
	}
	var mode *unix.Termios
	raw.Control(func(fd uintptr) { mode, err = unix.IoctlGetTermios(int(fd), unix.TCGETS) })
	if err != nil || mode == nil || mode.Lflag&unix.ICANON == 0 {
		return nil
	}
	eof := []byte{mode.Cc[unix.VEOF]}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != 0 && !endsLine(mode, t.last) {
		eof = append(eof, eof[0])
	}
	t.last = 0
	t.master.Write(eof)
	return nil
}

// endsLine reports whether a typed character leaves an empty line behind it.
func endsLine(mode *unix.Termios, c byte) bool {
	switch c {
	case '\n', mode.Cc[unix.VEOF], mode.Cc[unix.VEOL], mode.Cc[unix.VEOL2]:
		return true
	case '\r':
		return mode.Iflag&unix.ICRNL != 0
	case mode.Cc[unix.VINTR], mode.Cc[unix.VQUIT], mode.Cc[unix.VSUSP]:
		return mode.Lflag&unix.ISIG != 0 && mode.Lflag&unix.NOFLSH == 0
	case mode.Cc[unix.VKILL]:
		return true
	}
	return false
}
