package detached

import (
	"os"
	"testing"
)

func TestCloseForeignKeepsItsOwn(t *testing.T) {
	if os.Getenv("SANDBOXFS_TEST_FOREIGN") == "" {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		attr := &os.ProcAttr{
			Env:   append(os.Environ(), "SANDBOXFS_TEST_FOREIGN=1"),
			Files: []*os.File{nil, os.Stdout, os.Stderr, w, w, w},
		}
		p, err := os.StartProcess("/proc/self/exe", []string{"detached.test", "-test.run=^" + t.Name() + "$"}, attr)
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		state, err := p.Wait()
		if err != nil || !state.Success() {
			t.Errorf("the child: %v, %v", state, err)
		}
		return
	}
	closeForeign()
	for fd, want := range map[int]bool{0: false, 1: true, 2: true, 3: true, 4: true, 5: false} {
		_, err := os.Readlink("/proc/self/fd/" + string(rune('0'+fd)))
		if open := err == nil; fd > 2 && open != want {
			t.Errorf("descriptor %d: open %v, want %v", fd, open, want)
		}
	}
	// The runtime's poller must still work.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go w.Write([]byte("x"))
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
}
