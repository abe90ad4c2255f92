package exec

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A slot may die at any moment after New, before anything else happened.
func TestSandboxFirstSlotDies(t *testing.T) {
	e := executor(t)
	var first *slotHandle
	e.mu.Lock()
	for s := range e.live {
		first = s
	}
	e.mu.Unlock()
	if err := unix.Kill(first.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-first.gone:
	case <-time.After(10 * time.Second):
		t.Fatal("the slot was not reaped")
	}
	if o := run(t, e, script("echo ran")); o.stdout != "ran\n" {
		t.Errorf("%+v", o)
	}
}
