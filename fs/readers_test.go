package fs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// gates is a quota that makes no directory until it is let.
type gates struct {
	Quota
	waiting chan chan struct{}
}

func (g gates) Make(_ int, _ uint32, _ int64, act func() unix.Errno) unix.Errno {
	gate := make(chan struct{})
	g.waiting <- gate
	<-gate
	return act()
}

// kernel is the other end of a device that is a socket, which keeps the
// requests and replies apart as a device does.
type kernel struct {
	t    *testing.T
	fd   int
	last uint64
	got  map[uint64]fuse.Status
}

func (k *kernel) ask(op uint32, node uint64, fixed []byte, name string) uint64 {
	k.t.Helper()
	k.last++
	h := fuse.InHeader{Opcode: op, Unique: k.last, NodeId: node}
	h.Pid = 1
	h.Length = uint32(inHeader + len(fixed) + len(name) + 1)
	request := append(asBytes(&h)[:inHeader:inHeader], fixed...)
	request = append(append(request, name...), 0)
	if _, err := unix.Write(k.fd, request); err != nil {
		k.t.Fatal(err)
	}
	return k.last
}

// answer waits for the reply to a request.
func (k *kernel) answer(unique uint64) fuse.Status {
	k.t.Helper()
	buf := make([]byte, 8192)
	for {
		if s, ok := k.got[unique]; ok {
			delete(k.got, unique)
			return s
		}
		n, err := unix.Read(k.fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err == unix.EAGAIN {
			stacks := make([]byte, 1<<20)
			k.t.Fatalf("request %d has no answer\n%s", unique, stacks[:runtime.Stack(stacks, true)])
		}
		if err != nil || n < outHeader {
			k.t.Fatalf("%d bytes, %v", n, err)
		}
		h := as[fuse.OutHeader](buf)
		k.got[h.Unique] = fuse.Status(-h.Status)
	}
}

// Whatever requests do not end, in whatever order they come and end: the next
// one is answered. Readers come and go all the time here.
func TestSoakReaders(t *testing.T) {
	for _, processors := range []int{Processors, 4} {
		t.Run(fmt.Sprint(processors), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			comeAndGo(t, testenv.Soak(1000, 20_000))
		})
	}
}

func comeAndGo(t *testing.T, rounds int) {
	g := gates{waiting: make(chan chan struct{}, maxReaders)}
	b := serveDirs(t, func(o *Options) { o.Quota, o.Charged = g, []string{"/w"} }, "rw:/w")
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := newConnection(b.Tree, pair[0])
	if err := c.run(); err != nil {
		t.Fatal(err)
	}
	k := &kernel{t: t, fd: pair[1], got: map[uint64]fuse.Status{}}
	// A request that gets no answer in this time would get none ever.
	patient := unix.Timeval{Sec: 20}
	if err := unix.SetsockoptTimeval(k.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patient); err != nil {
		t.Fatal(err)
	}
	w := b.walk("w")
	random := rand.New(rand.NewPCG(1, 2))
	var stuck []chan struct{}
	var made []uint64
	release := func(i int) {
		close(stuck[i])
		stuck = append(stuck[:i], stuck[i+1:]...)
	}
	defer func() { // also after a failure
		c.closing.Store(true)
		for len(stuck) > 0 {
			release(0)
		}
		unix.Shutdown(k.fd, unix.SHUT_RDWR)
		c.running.Wait()
		unix.Close(pair[0])
		unix.Close(pair[1])
	}()
	for range rounds {
		switch n := random.IntN(8); {
		case n < 3 && len(stuck) < 20:
			made = append(made, k.ask(opMkdir, w, make([]byte, 8), fmt.Sprint("d", k.last)))
			select {
			case gate := <-g.waiting:
				stuck = append(stuck, gate)
			case <-time.After(20 * time.Second):
				t.Fatal("a request is not read")
			}
		case n < 6 && len(stuck) > 0:
			for range 1 + random.IntN(len(stuck)) {
				release(random.IntN(len(stuck)))
			}
		default:
			for range random.IntN(40) {
				k.answer(k.ask(opGetattr, w, make([]byte, 16), ""))
			}
		}
		// The kernel has others ask at the same time.
		one, other := k.ask(opLookup, w, nil, "x"), k.ask(opLookup, w, nil, "y")
		k.answer(other)
		k.answer(one)
	}
	for len(stuck) > 0 {
		release(0)
	}
	for _, unique := range made {
		if s := k.answer(unique); s != fuse.OK {
			t.Errorf("mkdir: %v", s)
		}
	}
	entries, err := os.ReadDir(filepath.Join(b.root, "_w"))
	if err != nil || len(entries) != len(made) {
		t.Errorf("%d directories, %v, want %d", len(entries), err, len(made))
	}
	testenv.Poll(t, 20*time.Second, "the readers that came to leave", func() bool { return c.readers.Load() == steadyReaders })
}
