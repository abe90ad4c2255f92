package hostview

import (
	"os"
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	cases := map[string]struct {
		status string
		want   Process
		alive  bool
	}{
		"host":   {"Name:\tbash\nState:\tS (sleeping)\nPPid:\t7\nNSpid:\t42\n", Process{Name: "bash", Parent: 7}, true},
		"guest":  {"Name:\texe\nState:\tR (running)\nPPid:\t7\nNSpid:\t42\t1\n", Process{Name: "exe", Parent: 7, Depth: 1, First: true}, true},
		"inner":  {"Name:\tsh\nState:\tS (sleeping)\nPPid:\t9\nNSpid:\t42\t12\t2\n", Process{Name: "sh", Parent: 9, Depth: 2}, true},
		"zombie": {"Name:\tsh\nState:\tZ (zombie)\nPPid:\t9\nNSpid:\t42\n", Process{Name: "sh", Parent: 9}, false},
		"empty":  {"", Process{}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, alive := parse(c.status)
			if got != c.want || alive != c.alive {
				t.Errorf("want %+v, %v, got %+v, %v", c.want, c.alive, got, alive)
			}
		})
	}
}

func TestFindsItself(t *testing.T) {
	isSelf := func(p Process) bool { return p.PID == os.Getpid() }
	uts, err := os.Readlink("/proc/self/ns/uts")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(InUTS(uts+"\n"), isSelf) {
		t.Error("not found by its namespace")
	}
	running, err := Running("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(running, isSelf) {
		t.Error("not found by its program")
	}
	if _, err := Running("/nonexistent"); err == nil {
		t.Error("want an error for a program that is not there")
	}
}

func TestGuestAndCommands(t *testing.T) {
	guest := Process{PID: 2, Depth: 1, First: true, Program: Daemon}
	slot := Process{PID: 3, Depth: 2, First: true, Program: Daemon}
	command := Process{PID: 4, Depth: 2, Program: "bash"}
	all := []Process{slot, command, guest}
	if got, ok := Guest(all); !ok || got != guest {
		t.Errorf("want %+v, got %+v, %v", guest, got, ok)
	}
	if _, ok := Guest(all[:2]); ok {
		t.Error("a slot is no guest")
	}
	if got := Commands(all); len(got) != 1 || got[0] != command {
		t.Errorf("want the command alone, got %+v", got)
	}
}

func TestMemory(t *testing.T) {
	for name, look := range map[string]func(int) (int64, error){"anonymous": Anonymous, "private": Private} {
		if got, err := look(os.Getpid()); err != nil || got <= 0 {
			t.Errorf("%s: got %d, %v", name, got, err)
		}
		if _, err := look(-1); err == nil {
			t.Errorf("%s: want an error for no process", name)
		}
	}
}
