package shell

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
	"golang.org/x/sys/unix"
)

// process is one living shell.
type process struct {
	p      *exec.Process
	self   *proc
	line   string   // its command line
	status *os.File // where it reports
}

// readyLimit bounds the start of a shell with all that it has to restore.
const readyLimit = 20 * time.Second

var errNotReady = errors.New("the shell did not get ready")

// start starts a shell in the session's slot and lets it restore the state. It
// is not called while another one lives.
func (s *Session) start(ctx context.Context, from *state) (*process, error) {
	private, slot, err := s.place(ctx)
	if err != nil {
		return nil, err
	}
	if err := private.write(fileEpilog, []byte(s.d.epilog)); err != nil {
		return nil, err
	}
	status, err := private.fifo(fileStatus, unix.O_RDWR)
	if err != nil {
		return nil, err
	}
	p, err := slot.Start(ctx, exec.Command{
		Argv: s.d.argv, Dir: s.o.Dir(), Env: s.o.Env, Stdin: exec.StdinPipe,
		Extra: private.dir, ExtraFD: s.d.fd,
	})
	if err != nil {
		status.Close()
		return nil, err
	}
	for _, r := range []io.ReadCloser{p.Stdout, p.Stderr} {
		go func() {
			_, _ = io.Copy(io.Discard, r)
			r.Close()
		}()
	}
	sh := &process{p: p, status: status, line: strings.Join(s.d.argv, " ")}
	if sh.self = findMain(slot.Pid(), p.Pid()); sh.self == nil {
		sh.abandon()
		return nil, errNotReady
	}
	if err := s.prepare(ctx, sh, private, from); err != nil {
		sh.end()
		return nil, err
	}
	return sh, nil
}

// place makes the session's slot and private directory where there are none.
func (s *Session) place(ctx context.Context) (*private, *exec.Slot, error) {
	s.mu.Lock()
	private, slot := s.private, s.slot
	s.mu.Unlock()
	if private == nil {
		p, err := newPrivate()
		if err != nil {
			return nil, nil, err
		}
		private = p
	}
	if slot == nil || isDone(slot.Done()) {
		fresh, err := s.o.Executor.Reserve(ctx)
		if err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.private = private; s.closed {
				private.close()
			}
			return nil, nil, err
		}
		slot = fresh
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		slot.Close()
		private.close()
		return nil, nil, ErrClosed
	}
	s.private, s.slot = private, slot
	return private, slot, nil
}

// prepare makes a new shell restore a state, and waits until it has.
func (s *Session) prepare(ctx context.Context, sh *process, private *private, from *state) error {
	var b strings.Builder
	b.WriteString(s.d.greeting)
	if from != nil {
		for i, n := range s.d.restore {
			name := fmt.Sprintf("r%d", i)
			content := from.section[n]
			if n == sectionShopt && i == 0 {
				content = append(content[:len(content):len(content)], "\\builtin shopt -u expand_aliases\n"...)
			}
			if err := private.write(name, content); err != nil {
				return err
			}
			defer private.remove(name)
			if n == sectionOptions {
				if dir := from.dir(); dir != "" {
					b.WriteString(s.d.cd + " -- " + quote(dir) + "\n")
				}
			}
			b.WriteString(`\. ` + inShell(s.d.fd, name) + "\n")
		}
	}
	if s.d.hook != "" && (from == nil || !from.hasExitTrap()) {
		b.WriteString(s.d.hook)
	}
	nonce := newNonce()
	fmt.Fprintf(&b, s.d.report, nonce)
	private.remove(fileState)
	if err := sh.send(b.String()); err != nil {
		return err
	}
	got := make(chan int, 1)
	go sh.awaitReport(nonce, got)
	t := time.NewTimer(readyLimit)
	defer t.Stop()
	select {
	case <-got:
		st, err := readState(private)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.last = st
		s.mu.Unlock()
		return nil
	case <-sh.p.Done():
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return errNotReady
}

// sendLimit bounds how long a shell that reads may take over its lines.
const sendLimit = 10 * time.Second

// send writes lines for the shell to read.
func (sh *process) send(lines string) error {
	if f, ok := sh.p.Stdin.(*os.File); ok {
		_ = f.SetWriteDeadline(time.Now().Add(sendLimit))
	}
	_, err := io.WriteString(sh.p.Stdin, lines)
	return err
}

// unread is how much of its lines the shell has not read.
func (sh *process) unread() int {
	n := 0
	if f, ok := sh.p.Stdin.(syscall.Conn); ok {
		if raw, err := f.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
		}
	}
	return n
}

// awaitReport reads the FIFO until the report with the nonce has come, or until
// the shell is abandoned.
func (sh *process) awaitReport(nonce string, got chan<- int) {
	var r reports
	buf := make([]byte, 4096)
	for {
		n, err := sh.status.Read(buf)
		if status, ok := r.add(buf[:n], nonce); ok {
			got <- status
			return
		}
		if err != nil {
			return
		}
	}
}

// end kills the shell, and nothing else of the slot.
func (sh *process) end() {
	sh.self.send(unix.SIGKILL)
	waitFor(sh.p.Done(), killLimit)
	sh.abandon()
}

// abandon lets go of a shell that has ended.
func (sh *process) abandon() {
	sh.p.Stdin.Close()
	sh.status.Close()
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// findMain finds a slot's child by its number in the slot's namespace.
func findMain(slot, inner int) *proc {
	t, err := readTable()
	if err != nil {
		return nil
	}
	for _, c := range t.children[slot] {
		if innerPID(c.pid) == inner {
			return c
		}
	}
	return nil
}

// newNonce is a word that nobody can know before.
func newNonce() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
