package quota

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// Ledger is one holder's access to what a thread holds. It is safe for
// concurrent use. A nil *Ledger bounds and counts nothing.
type Ledger struct {
	limits provider.QuotaConfig
	name   *rundir.Ledger
	file   *os.File
	roots  []*os.File
	mem    []byte
	h      *header
	slot   int

	// gate is held by the goroutine that holds, or waits for, gateByte.
	gate     sync.Mutex
	closed   atomic.Bool
	counting atomic.Bool // a walk in the background
	running  sync.WaitGroup

	names  [nameStripes]sync.Mutex
	inodes [inoStripes]sync.Mutex

	openMu sync.Mutex
	opens  map[inode]int
	// orphans is how many inodes without a name this holder has open.
	orphans atomic.Int64
}

// Open attaches to a ledger. roots are the thread's directories, none below
// another; Open duplicates them. limits are this holder's own. It returns
// before the thread is counted: what needs the numbers waits for them. It
// fails where the file cannot be had, or ctx ends while too many hold it.
func Open(ctx context.Context, name *rundir.Ledger, roots []*os.File, limits provider.QuotaConfig) (*Ledger, error) {
	l := &Ledger{limits: limits, name: name, slot: -1, opens: map[inode]int{}}
	if err := l.open(ctx, roots); err != nil {
		l.free()
		return nil, fmt.Errorf("quota: %w", err)
	}
	l.running.Go(func() { l.settle() }) // counts if nobody has
	return l, nil
}

func (l *Ledger) open(ctx context.Context, roots []*os.File) error {
	for _, r := range roots {
		fd, err := unix.Openat(int(r.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("open", err)
		}
		l.roots = append(l.roots, os.NewFile(uintptr(fd), "root"))
	}
	for {
		err := l.attach()
		if !errors.Is(err, errAgain) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
}

// errAgain is a failure to attach that may be over in a moment.
var errAgain = errors.New("too many programs write to this thread at once")

// attach opens and maps the file and takes a slot.
func (l *Ledger) attach() (err error) {
	f, err := l.name.Open()
	if err != nil {
		return err
	}
	l.file = f
	defer func() {
		if err != nil {
			l.detach()
		}
	}()
	if !l.lockByte(gateByte, gatePatience) {
		return errors.New("another program keeps the thread's count locked; it may have been stopped: continue or end it")
	}
	defer func() {
		if err == nil {
			l.unlockByte(gateByte)
		}
	}()
	if !l.name.Named(f) {
		return errAgain // its last holder removed it while we waited
	}
	lives := l.lockedElsewhere(slotBytes, maxHolders)
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !lives {
		if err := reset(f); err != nil {
			return err
		}
	} else if st.Size() != int64(fileSize) {
		return errForeign
	}
	if l.mem, l.h, err = mapHeader(f); err != nil {
		return err
	}
	if !lives {
		l.h.magic.Store(magic)
	} else if l.h.magic.Load() != magic {
		return errForeign
	}
	return l.enter()
}

// errForeign is a file that is in use and not of our layout.
var errForeign = errors.New("the thread's count is kept by another version of sandboxfs; end its sandbox and its mounts, then try again")

// enter takes a slot. The gate is held, and operations of others are kept out
// for a moment: from then on they use locks that we see.
func (l *Ledger) enter() error {
	l.bury()
	free := -1
	for i := range l.h.slots {
		if l.h.slots[i].used.Load() == 0 && l.setLock(unix.F_WRLCK, slotBytes+int64(i), 1) {
			free = i
			break
		}
	}
	if free < 0 {
		return errAgain
	}
	l.h.stop.Store(1)
	l.drain(patience)
	s := &l.h.slots[free]
	s.inflight.Store(0)
	s.ops.Store(0)
	s.pid.Store(int64(os.Getpid()))
	s.used.Store(1)
	l.slot = free
	l.h.holders.Store(l.used())
	l.h.stop.Store(0)
	return nil
}

// used counts the slots in use.
func (l *Ledger) used() (n int64) {
	for i := range l.h.slots {
		if l.h.slots[i].used.Load() != 0 {
			n++
		}
	}
	return n
}

// dead reports whether a slot is in use by nobody who lives.
func (l *Ledger) dead(i int) bool {
	return i != l.slot && l.h.slots[i].used.Load() != 0 && !l.lockedElsewhere(slotBytes+int64(i), 1)
}

// bury frees the slots of the dead. What they left is not known: there must
// be a walk. The gate is held.
func (l *Ledger) bury() {
	buried := false
	for i := range l.h.slots {
		if l.dead(i) {
			l.h.valid.Store(0)
			l.h.slots[i].inflight.Store(0)
			l.h.slots[i].used.Store(0)
			buried = true
		}
	}
	if buried {
		l.h.holders.Store(l.used())
	}
}

// Close detaches. No operation may be at work or begin afterwards.
func (l *Ledger) Close() error {
	if l == nil || l.closed.Swap(true) {
		return nil
	}
	l.running.Wait()
	l.gate.Lock()
	defer l.gate.Unlock()
	if l.lockByte(gateByte, gatePatience) {
		if len(l.opens) > 0 {
			l.h.valid.Store(0) // somebody forgot to close them
		}
		l.h.slots[l.slot].used.Store(0)
		l.bury()
		l.h.holders.Store(l.used())
		if l.used() == 0 && l.name.Named(l.file) {
			l.name.Remove()
		}
	}
	l.free()
	return nil
}

// free gives everything back; the kernel ends the locks with the file.
func (l *Ledger) free() {
	l.detach()
	for _, r := range l.roots {
		r.Close()
	}
	l.roots = nil
}

func (l *Ledger) detach() {
	if l.mem != nil {
		unix.Munmap(l.mem)
		l.mem, l.h = nil, nil
	}
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}
