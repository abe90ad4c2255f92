package fs

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// maxRequest is the greatest READ or WRITE in bytes, the kernel's default
// limit. It costs memory only where requests of that size come, which with
// passthrough they do not.
const maxRequest = 1 << 20

// Server is a tree that is being served.
type Server struct {
	tree       *Tree
	connection *connection
	done       chan struct{}
	once       sync.Once
	err        error

	mu     sync.Mutex
	device int // our own duplicate of the fuse device, -1 when closed
}

// Stats are numbers about a served tree, for diagnosis and tests.
type Stats struct {
	Nodes            int    // inodes that the kernel knows
	Descriptors      int    // descriptors held for them
	Budget           int    // bound of Descriptors and open files together
	Open             int    // open files and directories
	Evictions        uint64 // descriptors closed to keep the budget
	PassthroughOpens uint64
	PlainOpens       uint64
	Backings         int64 // files registered for passthrough, never more than Descriptors
	Requests         uint64
	Watches          int // directories watched on the host
	Leases           int // names that the kernel may keep for LeaseTime
	Instances        int // inotify instances: 0 or 1
	Overflows        int // times that every lease was taken back
}

// Passthrough reports whether reads and writes of regular files bypass the
// server: the kernel offers it and has not refused it so far.
func (s *Server) Passthrough() bool { return s.tree.pass.enabled.Load() }

// Serve answers the requests of a FUSE connection that is already mounted,
// in the background, and returns as soon as the connection is set up. It
// takes ownership of the device, also on failure. A tree is served once. The
// connection ends when it is unmounted or the server closed; until then no
// descriptor of the tree is free.
//
// The mounter sets rootmode=40000, allow_other and default_permissions (the
// latter not for a container whose users all may write).
func (t *Tree) Serve(device *os.File) (*Server, error) {
	defer device.Close()
	if !t.served.CompareAndSwap(false, true) {
		return nil, errors.New("fs: the tree is served already or closed; make another with New")
	}
	s, err := t.serve(device)
	if err != nil {
		t.free()
		return nil, err
	}
	return s, nil
}

func (t *Tree) serve(device *os.File) (*Server, error) {
	fd, err := duplicate(device)
	if err != nil {
		return nil, fmt.Errorf("fs: duplicating the fuse device: %w", err)
	}
	c, err := t.start(fd)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	s := &Server{tree: t, connection: c, device: fd, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		var idle sync.WaitGroup
		stop := make(chan struct{})
		idle.Go(func() { t.closeIdle(stop, c.shrink) })
		c.running.Wait()
		c.notify.close()
		<-c.notify.ended
		t.watcher.close()
		close(stop)
		idle.Wait()
		t.free()
		s.mu.Lock()
		defer s.mu.Unlock()
		unix.Close(s.device)
		s.device = -1
	}()
	return s, nil
}

func (t *Tree) start(fd int) (*connection, error) {
	// Another holder of the device may have left it non-blocking.
	if err := unix.SetNonblock(fd, false); err != nil {
		return nil, fmt.Errorf("fs: preparing the fuse device: %w", err)
	}
	t.pass.enabled.Store(false)
	c, err := connect(t, fd)
	if err != nil {
		return nil, err
	}
	if err := t.checkOpens(c.settled); err != nil {
		return nil, err
	}
	var shared error
	if c.notify, shared = newNotifier(fd); shared == nil {
		t.watcher.serve(c.notify.say, c.inFlight)
	} else {
		t.log.WithError(shared).Info("the kernel is given short times only, since notices have no device of their own")
	}
	t.settling.tell = func(id uint64) { c.notify.inode(id, 0, 0) }
	t.pass.backer = c
	t.pass.enabled.Store(t.wantPassthrough() && c.settled&fuse.CAP_PASSTHROUGH != 0)
	if err := c.run(); err != nil {
		c.notify.close()
		t.watcher.close()
		return nil, err
	}
	return c, nil
}

func (t *Tree) wantPassthrough() bool {
	return !t.unasked() && t.opts.Passthrough == PassthroughAuto && os.Geteuid() == 0
}

// recovered turns a panic in a handler into EIO for that one request.
func (t *Tree) recovered(v any) fuse.Status {
	t.log.WithField("panic", fmt.Sprint(v)).WithField("stack", string(debug.Stack())).Error("a filesystem request failed inside")
	return fuse.EIO
}

func duplicate(f *os.File) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	cerr := raw.Control(func(from uintptr) { fd, err = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 3) })
	return fd, errors.Join(cerr, err)
}

// Wait returns when the connection has ended and everything is freed.
func (s *Server) Wait() { <-s.done }

// closePatience bounds how long Close waits for requests at work.
const closePatience = 10 * time.Second

// Close aborts the connection: requests at work are finished, later ones
// answer ENOTCONN to the client. It returns when everything is freed, or an
// error when a request does not end. It may be called more than once.
//
// The kernel aborts a connection when nobody holds its device, so the readers
// must let go of it: the device is made non-blocking, which ends a read as
// soon as a signal restarts it, and the runtime's threads are sent the signal
// that it uses for itself.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.connection.notify.close()
		select { // a notice may wait for a reader
		case <-s.connection.notify.ended:
		case <-time.After(closePatience):
		}
		s.connection.closing.Store(true)
		s.mu.Lock()
		if s.device >= 0 {
			s.connection.setNonblock(true)
		}
		s.mu.Unlock()
		s.err = s.interruptReaders()
	})
	return s.err
}

func (s *Server) interruptReaders() error {
	deadline := time.NewTimer(closePatience)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		signalThreads()
		select {
		case <-s.done:
			return nil
		case <-again.C:
		case <-deadline.C:
			return errors.New("fs: a request did not end in time; the connection is closed when it does")
		}
	}
}

// signalThreads sends each thread of this process SIGURG, which the Go
// runtime expects at any time and ignores when it did not ask for it.
func signalThreads() {
	dir, err := os.Open("/proc/self/task")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	pid := os.Getpid()
	for _, name := range names {
		tid := 0
		for _, c := range name {
			tid = tid*10 + int(c-'0')
		}
		unix.Tgkill(pid, tid, unix.SIGURG)
	}
}

// Stats returns current numbers.
func (s *Server) Stats() Stats {
	t := s.tree
	out := t.stats()
	out.Requests = s.connection.handled.Load()
	t.watcher.stats(&out)
	return out
}

func (t *Tree) stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{
		Nodes: len(t.nodes), Descriptors: t.held, Budget: t.budget, Open: t.handles.len(), Evictions: t.evictions,
		PassthroughOpens: t.pass.opened.Load(), PlainOpens: t.pass.plain.Load(),
		Backings: t.pass.ids.Load(),
	}
}
