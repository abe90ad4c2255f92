package fault

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// writers write through a mount until it fails or they are told to stop, and
// keep what was acknowledged, byte for byte.
type writers struct {
	mount, host string // the same directory, in the mount and behind it
	stop        chan struct{}
	killed      atomic.Bool    // the server, or it is about to be
	begun       sync.WaitGroup // each has had its first acknowledgement
	all         sync.WaitGroup
	checks      []func(t *testing.T)
}

func startWriters(t *testing.T, mount, host string, seed uint64) *writers {
	t.Helper()
	w := &writers{mount: mount, host: host, stop: make(chan struct{})}
	kinds := []func(*testing.T, *rand.Rand, string, func()) func(*testing.T){w.appends, w.overwrites, w.renames}
	for i := range 2 * len(kinds) {
		w.begun.Add(1)
		var check func(*testing.T)
		begun := sync.OnceFunc(w.begun.Done)
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		w.all.Go(func() {
			defer begun()
			check = kinds[i%len(kinds)](t, random, fmt.Sprint("w", i), begun)
		})
		w.checks = append(w.checks, func(t *testing.T) { check(t) })
	}
	return w
}

// end stops them and compares with what is on the host.
func (w *writers) end(t *testing.T) {
	t.Helper()
	close(w.stop)
	w.all.Wait()
	for _, check := range w.checks {
		check(t)
	}
}

func (w *writers) stopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// gone reports whether a failure is that of a mount without a server. EIO is
// what the kernel says of the request that the server was just reading.
func (w *writers) gone(err error) bool {
	killed := w.killed.Load() && errors.Is(err, unix.EIO)
	return killed || errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED)
}

func someBytes(random *rand.Rand, most int) []byte {
	b := make([]byte, 1+random.IntN(most))
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// appends writes records to the end of one file.
func (w *writers) appends(t *testing.T, random *rand.Rand, name string, begun func()) func(*testing.T) {
	var acknowledged, last []byte
	f, err := os.OpenFile(filepath.Join(w.mount, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err == nil {
		defer f.Close()
	}
	for err == nil && !w.stopped() {
		var n int
		last = someBytes(random, 8000)
		n, err = f.Write(last)
		acknowledged = append(acknowledged, last[:n]...)
		last = last[n:]
		begun()
	}
	if err != nil && !w.gone(err) {
		t.Errorf("appending: %v", err)
	}
	return func(t *testing.T) {
		got, err := os.ReadFile(filepath.Join(w.host, name))
		if acknowledged == nil && err != nil {
			return
		}
		more, ok := bytes.CutPrefix(got, acknowledged)
		if err != nil || !ok || !bytes.HasPrefix(last, more) {
			t.Errorf("%s: %d bytes, %v, are not the %d that were acknowledged", name, len(got), err, len(acknowledged))
		}
	}
}

// overwrites writes at random places of one file.
func (w *writers) overwrites(t *testing.T, random *rand.Rand, name string, begun func()) func(*testing.T) {
	const size = 256 << 10
	acknowledged := make([]byte, size)
	var last []byte
	at := 0
	f, err := os.OpenFile(filepath.Join(w.mount, name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err == nil {
		defer f.Close()
		err = f.Truncate(size)
	}
	if err != nil && !w.gone(err) {
		t.Errorf("making a file: %v", err)
	}
	if err != nil {
		return func(*testing.T) {}
	}
	for err == nil && !w.stopped() {
		var n int
		last = someBytes(random, 8000)
		at = random.IntN(size - len(last))
		n, err = f.WriteAt(last, int64(at))
		copy(acknowledged[at:], last[:n])
		last, at = last[n:], at+n
		begun()
	}
	if err != nil && !w.gone(err) {
		t.Errorf("overwriting: %v", err)
	}
	return func(t *testing.T) {
		got, err := os.ReadFile(filepath.Join(w.host, name))
		if err != nil || len(got) != size {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
			return
		}
		// Of the last write some of the beginning may have been written.
		for i := 0; i < len(last) && got[at+i] == last[i]; i++ {
			acknowledged[at+i] = last[i]
		}
		if !bytes.Equal(got, acknowledged) {
			t.Errorf("%s is not what was acknowledged", name)
		}
	}
}

// renames makes files and puts each in the place of the one before.
func (w *writers) renames(t *testing.T, random *rand.Rand, name string, begun func()) func(*testing.T) {
	final, made := filepath.Join(w.mount, name), filepath.Join(w.mount, name+".new")
	var acknowledged, last []byte
	var err error
	for err == nil && !w.stopped() {
		last = someBytes(random, 20000)
		if err = os.WriteFile(made, last, 0o644); err == nil {
			err = os.Rename(made, final)
		}
		if err == nil {
			acknowledged = last
		}
		begun()
	}
	if err != nil && !w.gone(err) {
		t.Errorf("renaming: %v", err)
	}
	return func(t *testing.T) {
		got, err := os.ReadFile(filepath.Join(w.host, name))
		if acknowledged == nil && err != nil {
			return
		}
		if err != nil || !bytes.Equal(got, acknowledged) && !bytes.Equal(got, last) {
			t.Errorf("%s: %d bytes, %v, are not the %d that were put there", name, len(got), err, len(acknowledged))
		}
	}
}
