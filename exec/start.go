package exec

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// start runs a command in the slot, which is the caller's. The slot is released
// or discarded here or by the process's end.
func (s *slotHandle) start(ctx context.Context, c *Command) (*Process, error) {
	request := startRequest{argv: c.Argv, env: c.Env, dir: c.Dir, tty: c.TTY != nil, stdin: c.Stdin == StdinPipe && c.TTY == nil, keep: s.held}
	io, err := openStreams(c)
	if err != nil {
		s.putBack()
		return nil, resourceError(c.Argv[0], err)
	}
	defer io.closeTheirs()
	if short, script, long := longScript(c.Argv); long {
		request.argv, request.script = short, true
		if err := io.attach("script", []byte(script)); err != nil {
			io.closeOurs()
			s.putBack()
			return nil, resourceError(c.Argv[0], err)
		}
	}
	if c.Extra != nil {
		request.extra = c.ExtraFD
		if err := io.lend(c.Extra); err != nil {
			io.closeOurs()
			s.putBack()
			return nil, resourceError(c.Argv[0], err)
		}
	}
	body := request.appendBody(&encoder{}).b
	if len(body) > maxPacket-64 {
		request.body = true
		if len(body) > maxBody {
			err = syscall.E2BIG
		} else {
			err = io.attach("request", body)
		}
		if err != nil {
			io.closeOurs()
			s.putBack()
			if errors.Is(err, syscall.E2BIG) {
				return nil, &StartError{Reason: TooLong, Path: c.Argv[0], Err: syscall.E2BIG}
			}
			return nil, resourceError(c.Argv[0], err)
		}
	}
	message := newMessage(msgStart).flags(request.stdin, request.tty, request.script, request.body, request.keep, c.Extra != nil)
	if !request.body {
		message.b = append(message.b, body...)
	}

	p := newProcess(s, io)
	s.process.Store(p)
	s.e.count(+1)
	fail := func(err error) (*Process, error) {
		s.process.Store(nil)
		if p.claimEnd() {
			s.e.count(-1)
		}
		io.closeOurs()
		return nil, err
	}
	if err := s.send(message.b, io.theirs()); err != nil {
		s.discard()
		return fail(errSlotUnused)
	}
	io.closeTheirs()
	limited, cancel := context.WithTimeout(ctx, slotStartTimeout)
	defer cancel()
	d, err := s.await(limited, p.reply)
	switch {
	case errors.Is(err, errSlotLost) && s.unread:
		return fail(errSlotUnused)
	case errors.Is(err, errSlotLost):
		// The command may have run, and even have ended the slot. It is taken
		// for started, and killed with the slot.
		return p, nil
	case err != nil:
		s.kill()
		s.discard()
		if ctx.Err() != nil {
			return fail(ctx.Err())
		}
		return fail(errSlotLate)
	}
	switch d.kind() {
	case msgStarted:
		p.pid = int(d.num())
		return p, nil
	case msgFailed:
		serr := &StartError{Reason: Reason(d.num()), Err: syscall.Errno(d.num()), Path: d.str(), Detail: d.str()}
		_, err := fail(serr)
		s.putBack()
		return nil, err
	default:
		s.kill()
		s.discard()
		return fail(&StartError{Reason: Failed, Path: c.Argv[0], Detail: errWire.Error()})
	}
}

// resourceError wraps a failure to make pipes, terminals or memory files.
func resourceError(program string, err error) *StartError {
	return &StartError{Reason: NoResources, Path: program, Detail: err.Error()}
}

// startError turns a failure to have a slot into one that says what to do. A
// slot that does not get to work has found no thread or no memory.
func startError(program string, err error) error {
	var serr *StartError
	if errors.As(err, &serr) || errors.Is(err, ErrClosed) || errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("start %s: no process could be had for it in the given time; the sandbox or the machine is too busy, end other commands first: %w", program, err)
	}
	for _, e := range []error{
		unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.ENOSPC, errSlotLost, errSlotUnused, errSlotLate,
	} {
		if errors.Is(err, e) {
			return &StartError{Reason: NoResources, Path: program, Detail: err.Error()}
		}
	}
	return &StartError{Reason: Failed, Path: program, Detail: err.Error()}
}
