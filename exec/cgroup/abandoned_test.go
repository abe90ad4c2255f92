package cgroup

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

func TestAbandoned(t *testing.T) {
	g, name := create(t, Limits{})
	is := func(age time.Duration) bool {
		t.Helper()
		names, err := Abandoned(age)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(names, name)
	}
	if is(time.Hour) {
		t.Error("a group that may be in the making counts as abandoned")
	}
	if !is(-time.Hour) {
		t.Error("an empty group does not count as abandoned")
	}
	cmd, _ := shell(t, g, "echo up; exec sleep 1000")
	if is(-time.Hour) {
		t.Error("a group with a process counts as abandoned")
	}
	// As seen from another pid namespace, where the process has no number.
	if gone, err := RemoveEmpty(name); gone || err != nil {
		t.Errorf("a group with a process: removed %v, %v", gone, err)
	}
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	testenv.Poll(t, 5*time.Second, "the removal of an empty group", func() bool {
		gone, err := RemoveEmpty(name)
		if err != nil {
			t.Fatal(err)
		}
		return gone
	})
	if gone, err := RemoveEmpty(name); gone || err != nil {
		t.Errorf("a group that is gone: removed %v, %v", gone, err)
	}
	if _, err := RemoveEmpty("../x"); err == nil {
		t.Error("a path is taken for a name")
	}
}
