package shell

import (
	"bytes"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Job is a process that a command started and did not wait for, with its
// descendants.
type Job struct {
	// PID is its number as the session sees it.
	PID int
	// Command is its command line, cut after 200 bytes.
	Command string
	// Started is when it began.
	Started time.Time
	// Processes counts it and its descendants.
	Processes int

	root *proc
}

// maxCommandLine bounds Job.Command.
const maxCommandLine = 200

// Jobs lists the living background jobs, oldest first.
func (s *Session) Jobs() []Job {
	s.mu.Lock()
	slot, sh, run := s.slot, s.sh, s.run
	s.mu.Unlock()
	if slot == nil {
		return nil
	}
	t, err := readTable()
	if err != nil {
		return nil
	}
	var jobs []Job
	now, up := time.Now(), uptime()
	for _, r := range jobRoots(t, slot.Pid(), sh, run) {
		jobs = append(jobs, Job{
			PID: innerPID(r.pid), Command: commandLine(t, r, sh),
			Started:   now.Add(time.Duration(r.start)*tick - up),
			Processes: 1 + len(t.below(r.pid)), root: r,
		})
	}
	return jobs
}

// CountJobs counts the living background jobs of some sessions, by one look at
// the processes.
func CountJobs(all ...*Session) []int {
	counts := make([]int, len(all))
	var t *table
	for i, s := range all {
		s.mu.Lock()
		slot, sh, run := s.slot, s.sh, s.run
		s.mu.Unlock()
		if slot == nil {
			continue
		}
		if t == nil {
			var err error
			if t, err = readTable(); err != nil {
				return counts
			}
		}
		counts[i] = len(jobRoots(t, slot.Pid(), sh, run))
	}
	return counts
}

// jobRoots finds the jobs' first processes: what the slot has got as an orphan,
// and the shell's children but those that the running command waits for.
func jobRoots(t *table, slot int, sh *process, run *Run) []*proc {
	var roots []*proc
	for _, p := range t.children[slot] {
		if !p.dead() && (sh == nil || !p.same(sh.self)) {
			roots = append(roots, p)
		}
	}
	if sh != nil {
		for _, p := range t.children[sh.self.pid] {
			if !p.dead() && (run == nil || isBackground(p, run)) {
				roots = append(roots, p)
			}
		}
	}
	sort.Slice(roots, func(i, j int) bool {
		a, b := roots[i], roots[j]
		return a.start < b.start || a.start == b.start && a.pid < b.pid
	})
	return roots
}

// isBackground tells a job from what the running command waits for: it was there
// before the command, or a shell has started it as a job.
func isBackground(p *proc, run *Run) bool { return p.start < run.begun || ignoresKeyboard(p.pid) }

// commandLine is what runs in a process. A part of the shell itself, as in "(a;
// b) &", has the shell's own line, so its child's is told.
func commandLine(t *table, p *proc, sh *process) string {
	line := readCommandLine(p.pid)
	if sh != nil && line == sh.line {
		for _, c := range t.children[p.pid] {
			if !c.dead() {
				return cut("(" + readCommandLine(c.pid) + ")")
			}
		}
		return "(shell)"
	}
	return cut(line)
}

func readCommandLine(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(b) == 0 {
		b, _ = os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	}
	return strings.TrimSpace(string(bytes.ReplaceAll(b, []byte{0}, []byte(" "))))
}

func cut(s string) string {
	if len(s) > maxCommandLine {
		s = s[:maxCommandLine]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// tick is the unit of times in /proc: USER_HZ, 100 on every supported
// processor.
const tick = 10 * time.Millisecond

// uptime is the clock that start times are told by.
func uptime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// StopJob ends a job with all it started: SIGTERM, and after the grace SIGKILL.
// It reports whether there is such a job.
func (s *Session) StopJob(pid int, grace time.Duration) bool {
	for _, j := range s.Jobs() {
		if j.PID == pid {
			endTrees([]*proc{j.root}, grace)
			return true
		}
	}
	return false
}
