package audit

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Sync says when a record is on the disk.
type Sync string

const (
	// Grouped hands a record to the kernel before the command starts, where
	// the end of every process cannot reach it, and to the disk within
	// groupTime while the log is open, else when the kernel writes it. A
	// crash of the machine can lose the last records; verify says so.
	Grouped Sync = "grouped"
	// Always has it on the disk before the command starts.
	Always Sync = "always"
)

// groupTime is how long a record of a log with Grouped may wait for the disk.
const groupTime = time.Second

// Defaults of the options.
const (
	DefaultMaxSegment = 8 << 20
	DefaultMaxBytes   = 1 << 30
	DefaultMaxAge     = 365 * 24 * time.Hour
)

// LogOptions say where a log is and how it is kept.
type LogOptions struct {
	// Dir is the log's own directory, made if it is missing, for its owner
	// alone.
	Dir string
	// Sync is Grouped unless set.
	Sync Sync
	// MaxSegment is after how many bytes another file is begun;
	// DefaultMaxSegment unless set.
	MaxSegment int64
	// MaxBytes is how much all files may hold; the oldest are removed when
	// they hold more. DefaultMaxBytes unless set, no bound if negative.
	MaxBytes int64
	// MaxAge is how long a file is kept after its last record, likewise
	// DefaultMaxAge.
	MaxAge time.Duration
	// Now is the clock, time.Now unless set.
	Now func() time.Time
}

// Log is the record of what was run, of one data directory. Any number of
// processes of the host append to it at once, one at a time: a lock that the
// kernel takes from who dies orders them. It is safe for concurrent use.
// Whoever opened it closes it.
type Log struct {
	o     LogOptions
	root  *os.Root
	chain chain
	lock  *os.File
	head  *os.File

	mu       sync.Mutex
	queue    []*batch
	leading  bool
	closed   bool
	segment  *os.File // the one written to last
	name     string
	unsynced bool
	timer    *time.Timer
}

// batch is what one caller wants appended.
type batch struct {
	record Record
	err    error
	done   chan struct{}
}

const (
	lockFile = "lock"
	keyFile  = "key"
	headFile = "head"
	suffix   = ".jsonl"
)

// OpenLog opens a log, and makes it if there is none. The key is made with it
// and never leaves its file. An error says which file could not be used; no
// log means that no agent's command runs.
func OpenLog(o LogOptions) (*Log, error) {
	if o.Sync == "" {
		o.Sync = Grouped
	}
	if o.Sync != Grouped && o.Sync != Always {
		return nil, fmt.Errorf("audit: sync is %q; use grouped or always", o.Sync)
	}
	if o.MaxSegment == 0 {
		o.MaxSegment = DefaultMaxSegment
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxAge == 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, hidden("making the directory", err)
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, hidden("opening the directory", err)
	}
	l := &Log{o: o, root: root}
	if err := l.open(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *Log) open() (err error) {
	if l.lock, err = l.root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return hidden("opening the lock", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	if err := l.take(ctx); err != nil {
		return err
	}
	defer l.give()
	if l.chain.key, err = l.readKey(); err != nil {
		return err
	}
	if l.head, err = l.root.OpenFile(headFile, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return hidden("opening the head", err)
	}
	return nil
}

// readKey reads the key, or makes it where nothing was ever written.
func (l *Log) readKey() ([]byte, error) {
	key, err := readKey(l.root)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if names, err := segments(l.root); err != nil || len(names) > 0 {
		return nil, errors.Join(err, errors.New("audit: the key is missing though there is a log; put it back, or move the log's directory away to begin another"))
	}
	var raw [32]byte
	rand.Read(raw[:])
	f, err := l.root.OpenFile(keyFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, hidden("making the key", err)
	}
	_, err = f.WriteString(hex.EncodeToString(raw[:]) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, errors.Join(hidden("writing the key", err), l.root.Remove(keyFile))
	}
	return raw[:], nil
}

func readKey(root *os.Root) ([]byte, error) {
	text, err := root.ReadFile(keyFile)
	if err != nil {
		return nil, hidden("reading the key", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return nil, errors.New("audit: the key is damaged; put the right one back, or move the log's directory away to begin another")
	}
	return key, nil
}

const (
	// lockPatience bounds how long others may hold the log.
	lockPatience = 10 * time.Second
	lockAgain    = 2 * time.Millisecond
)

// take gets the lock that orders processes.
func (l *Log) take(ctx context.Context) error {
	again := time.NewTicker(lockAgain)
	defer again.Stop()
	for {
		err := unix.Flock(int(l.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return hidden("locking the log", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("audit: another process holds the log: %w", ctx.Err())
		case <-again.C:
		}
	}
}

func (l *Log) give() { unix.Flock(int(l.lock.Fd()), unix.LOCK_UN) }

// hidden is an error without the host path in the texts of package os.
func hidden(what string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("audit: %s: %w", what, err)
}

// Append writes a record and returns when it is as safe as Sync says. Seq and
// Time are set by it. Callers that come at once share one write, in their
// order. On an error nothing of the record is in the log, and the command that
// it announces must not run. A caller waits for 10 seconds at most for other
// processes to let go of the log.
func (l *Log) Append(ctx context.Context, r Record) error {
	b := &batch{record: r, done: make(chan struct{})}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return errors.New("audit: the log is closed")
	}
	l.queue = append(l.queue, b)
	if l.leading {
		l.mu.Unlock()
		<-b.done // the leader is bounded
		return b.err
	}
	l.leading = true
	l.mu.Unlock()
	// Others wait for what this one writes, so its caller's end is not theirs.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockPatience)
	defer cancel()
	for {
		l.mu.Lock()
		queue := l.queue
		l.queue = nil
		if len(queue) == 0 {
			l.leading = false
			l.mu.Unlock()
			return b.err
		}
		l.mu.Unlock()
		err := l.write(ctx, queue)
		for _, x := range queue {
			x.err = err
			close(x.done)
		}
	}
}

// Close gives everything back. What waits for the disk is written when the
// kernel does: a short command does not wait for it.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	var errs []error
	for _, f := range []*os.File{l.segment, l.head, l.lock} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(append(errs, l.root.Close())...)
}
