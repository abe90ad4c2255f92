package fs

import (
	"os"
	"strings"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/mapping"
)

func TestOptions(t *testing.T) {
	dir := t.TempDir()
	open, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	plain, err := os.Create(dir + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	table, err := mapping.NewTable(mapping.Region{Virtual: "/w", Host: dir})
	if err != nil {
		t.Fatal(err)
	}
	old := unix.Umask(0)
	defer unix.Umask(old)
	roots := map[string]*os.File{"/w": open}
	for name, o := range map[string]Options{
		"no table":            {Roots: roots},
		"a root is missing":   {Table: table},
		"a root is a file":    {Table: table, Roots: map[string]*os.File{"/w": plain}},
		"too few descriptors": {Table: table, Roots: roots, MaxDescriptors: 3},
	} {
		tree, err := New(o)
		if err == nil {
			t.Errorf("%s: accepted", name)
			tree.Close()
		} else if strings.Contains(err.Error(), dir) {
			t.Errorf("%s: the message shows a host path: %v", name, err)
		}
	}
	unix.Umask(0o022)
	if _, err := New(Options{Table: table, Roots: roots}); err == nil || !strings.Contains(err.Error(), "ClearUmask") {
		t.Errorf("with a umask: %v", err)
	}
	ClearUmask()
	tree, err := New(Options{Table: table, Roots: roots})
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Close(); err != nil {
		t.Error(err)
	}
	if _, err := tree.Serve(open); err == nil {
		t.Error("a closed tree was served")
	}
}

// The decision about passthrough holds from the first open to the last close,
// with one id.
func TestPassthroughInvariants(t *testing.T) {
	b := serveDirs(t, nil, "rw:/w")
	b.write("_w/f", "x")
	f := b.walk("w/f")
	kernel := &fakeKernel{live: map[int32]bool{}}
	b.pass.backer = kernel
	open := func() (out fuse.OpenOut) {
		t.Helper()
		status(t, "open", b.Open(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: f}, Flags: unix.O_RDWR}, &out), 0)
		return out
	}
	closeFile := func(o fuse.OpenOut) { b.Release(nil, &fuse.ReleaseIn{Fh: o.Fh}) }
	passes := func(o fuse.OpenOut) bool { return o.OpenFlags&fuse.FOPEN_PASSTHROUGH != 0 }

	plain := open()
	b.pass.enabled.Store(true)
	if second := open(); passes(plain) || passes(second) {
		t.Error("passthrough began while a plain file was open")
	} else {
		closeFile(second)
	}
	closeFile(plain)
	one, two := open(), open()
	if !passes(one) || !passes(two) || one.BackingID != two.BackingID || one.BackingID == 0 {
		t.Errorf("two opens answer %+v and %+v", one, two)
	}
	b.pass.enabled.Store(false)
	closeFile(one)
	if three := open(); !passes(three) || three.BackingID != two.BackingID {
		t.Errorf("an open while another is live answers %+v", three)
	} else {
		closeFile(three)
	}
	if len(kernel.live) != 1 {
		t.Errorf("%d ids are live", len(kernel.live))
	}
	closeFile(two)
	if four := open(); !passes(four) || four.BackingID != two.BackingID {
		t.Errorf("an open soon after the last close answers %+v", four)
	} else {
		b.closeOlder(0)
		if len(kernel.live) != 1 {
			t.Error("the id of an open file was closed")
		}
		closeFile(four)
	}
	b.closeOlder(0)
	if len(kernel.live) != 0 {
		t.Error("an id outlives the node's descriptor")
	}
	kernel.refuse = unix.EPERM
	b.pass.enabled.Store(true)
	if o := open(); passes(o) || b.pass.enabled.Load() {
		t.Error("a refusal for lack of rights was not remembered")
	} else {
		closeFile(o)
	}
}

type fakeKernel struct {
	last   int32
	live   map[int32]bool
	refuse unix.Errno
}

func (k *fakeKernel) RegisterBackingFd(*fuse.BackingMap) (int32, unix.Errno) {
	if k.refuse != 0 {
		return 0, k.refuse
	}
	k.last++
	k.live[k.last] = true
	return k.last, 0
}

func (k *fakeKernel) UnregisterBackingFd(id int32) unix.Errno {
	delete(k.live, id)
	return 0
}

// A panic in a handler fails that request only.
func TestPanicIsAnError(t *testing.T) {
	b := serveDirs(t, nil, "rw:/w")
	defer func() { status(t, "the request", b.recovered(recover()), unix.EIO) }()
	var n *node
	_ = n.fd
}
