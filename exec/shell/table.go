package shell

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// proc is one process, as the guest sees it.
type proc struct {
	pid, parent int
	// start is when it began, in ticks since the machine's; with the number
	// it names the process for good.
	start uint64
	state byte
}

// same reports whether both are one process.
func (p *proc) same(o *proc) bool { return p.pid == o.pid && p.start == o.start }

func (p *proc) dead() bool { return p.state == 'Z' || p.state == 'X' }

// table is a look at all processes that the guest sees.
type table struct {
	byPID    map[int]*proc
	children map[int][]*proc
}

// readTable looks at the processes. What ends meanwhile is not in it.
func readTable() (*table, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	t := &table{byPID: map[int]*proc{}, children: map[int][]*proc{}}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p := readProc(pid); p != nil {
			t.byPID[pid] = p
			t.children[p.parent] = append(t.children[p.parent], p)
		}
	}
	return t, nil
}

// readProc looks at one process; nil where it is gone.
func readProc(pid int) *proc {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return parseStat(pid, b)
}

// parseStat reads proc_pid_stat(5). A program's name can hold anything, but
// what comes after the last parenthesis is the kernel's.
func parseStat(pid int, b []byte) *proc {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return nil
	}
	f := strings.Fields(string(b[i+1:]))
	const state, parent, start = 0, 1, 19 // from the third field on
	if len(f) <= start || len(f[state]) != 1 {
		return nil
	}
	p := &proc{pid: pid, state: f[state][0]}
	var err, err2 error
	p.parent, err = strconv.Atoi(f[parent])
	p.start, err2 = strconv.ParseUint(f[start], 10, 64)
	if err != nil || err2 != nil {
		return nil
	}
	return p
}

// below returns a process's living descendants.
func (t *table) below(root int) []*proc {
	var all []*proc
	queue := []int{root}
	seen := map[int]bool{root: true}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, c := range t.children[at] {
			if seen[c.pid] {
				continue
			}
			seen[c.pid] = true
			queue = append(queue, c.pid)
			if !c.dead() {
				all = append(all, c)
			}
		}
	}
	return all
}

// innerPID is a process's number in its own pid namespace.
func innerPID(pid int) int {
	for _, f := range statusField(pid, "NSpid:") {
		if n, err := strconv.Atoi(f); err == nil {
			pid = n
		}
	}
	return pid
}

// ignoresKeyboard reports whether a process was started with SIGINT and SIGQUIT
// ignored, as a shell without job control starts a background job.
func ignoresKeyboard(pid int) bool {
	f := statusField(pid, "SigIgn:")
	if len(f) != 1 {
		return false
	}
	mask, err := strconv.ParseUint(f[0], 16, 64)
	const both = 1<<(unix.SIGINT-1) | 1<<(unix.SIGQUIT-1)
	return err == nil && mask&both == both
}

func statusField(pid int, name string) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.Fields(rest)
		}
	}
	return nil
}

// send sends a signal to exactly this process, and to nobody who got its number
// later.
func (p *proc) send(sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now := readProc(p.pid); now != nil && now.same(p) {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}
