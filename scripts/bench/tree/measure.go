package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	osexec "os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// times are by row and subject, one for each round. Those of a row have the
// same length for every subject that has any.
type times map[string]map[string][]time.Duration

// A plan is what to measure and how often.
type plan struct {
	groups   []group
	subjects []subject
	warmUps  int // rounds that are not counted
	rounds   int
	limit    time.Duration // no round begins that would end later, no group after it; 0: none
	began    time.Time
	progress io.Writer
}

// findings are what measure returns.
type findings struct {
	times  times
	rounds int // that were counted
	// missing has what has no number, and why, by row or group and subject.
	missing []gap
}

// A gap is a number that is not there.
type gap struct{ subject, what, reason string }

// measure does each group for all subjects in turn, beginning each time with
// another. What fails for a subject once is not tried again: its rows are a
// gap. It stops only where the context ends.
func (p plan) measure(ctx context.Context, do func(context.Context, subject, group) (outcome, error)) (findings, error) {
	f := findings{times: times{}}
	failed := map[gap]bool{} // by subject and group
	seen := map[gap]bool{}
	var longest time.Duration
	for round := range p.warmUps + p.rounds {
		roundBegan := time.Now()
		if f.rounds > 0 && p.limit > 0 && time.Since(p.began)+longest > p.limit {
			break
		}
		for g, group := range p.groups {
			if p.limit > 0 && time.Since(p.began) > p.limit {
				if f.rounds == 0 {
					f.lacks(gap{"every column", strings.Join(group.rows, ", "), "the time was over"})
				}
				continue
			}
			for i := range p.subjects {
				s := p.subjects[(round+g+i)%len(p.subjects)]
				fmt.Fprintf(p.progress, "\rround %d of %d: %-12s %-16s", round+1, p.warmUps+p.rounds, group.name, s.name)
				if failed[gap{subject: s.name, what: group.name}] {
					continue
				}
				out, err := do(ctx, s, group)
				if ctx.Err() != nil {
					return f, ctx.Err()
				}
				if err != nil {
					failed[gap{subject: s.name, what: group.name}] = true
					f.fail(s.name, group, err.Error())
					fmt.Fprintf(p.progress, "\n%s of %s failed: %v\n", group.name, s.name, err)
					continue
				}
				for _, row := range slices.Sorted(maps.Keys(out.Missing)) {
					if m := (gap{s.name, row, out.Missing[row]}); !seen[m] {
						seen[m] = true
						f.lacks(m)
					}
				}
				if round >= p.warmUps {
					f.times.add(s.name, out.Times)
				}
			}
		}
		longest = max(longest, time.Since(roundBegan))
		if round >= p.warmUps {
			f.rounds++
		}
	}
	fmt.Fprintln(p.progress)
	return f, nil
}

func (t times) add(subject string, took map[string]time.Duration) {
	for row, d := range took {
		if t[row] == nil {
			t[row] = map[string][]time.Duration{}
		}
		t[row][subject] = append(t[row][subject], d)
	}
}

// fail drops what a group has so far of a subject, which would not be of the
// same rounds as the others'.
func (f *findings) fail(subject string, g group, reason string) {
	for _, row := range g.rows {
		delete(f.times[row], subject)
	}
	f.lacks(gap{subject, strings.Join(g.rows, ", "), reason})
}

// lacks adds a gap, to one of the same subject and reason where there is one.
func (f *findings) lacks(m gap) {
	for i, other := range f.missing {
		if other.subject == m.subject && other.reason == m.reason {
			f.missing[i].what += ", " + m.what
			return
		}
	}
	f.missing = append(f.missing, m)
}

// perform does a group of workloads for a subject in a process of its own,
// after what the page cache has to write is written.
func (s *stage) perform(ctx context.Context, v subject, g group) (outcome, error) {
	var out outcome
	if err := s.settle(g.drop); err != nil {
		return out, err
	}
	argument, err := json.Marshal(job{Group: g.name, Namespace: v.namespace, Dir: v.dir, ReadOnly: v.readOnly, GoRoot: s.goRoot, Sizes: s.sizes, Data: s.data})
	if err != nil {
		return out, err
	}
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.sizes.Deadline)
	defer cancel()
	cmd := osexec.CommandContext(ctx, self, workVerb, string(argument))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ended := make(chan struct{})
	cmd.Cancel = func() error {
		// A process that waits for an answer of a filesystem cannot be killed;
		// it ends with the filesystem.
		go func() {
			select {
			case <-ended:
			case <-time.After(serverDeadline):
				v.abort()
			}
		}()
		return unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}
	cmd.WaitDelay = 2 * serverDeadline
	var printed, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &complaint
	err = cmd.Run()
	close(ended)
	if err != nil {
		if ctx.Err() != nil {
			return out, fmt.Errorf("it took longer than %s: %w", s.sizes.Deadline, ctx.Err())
		}
		// In one line, and without the name of a directory that will be gone.
		said := strings.ReplaceAll(strings.Join(strings.Fields(complaint.String()), " "), s.dir+"/", "")
		return out, fmt.Errorf("%s (%w)", strings.TrimPrefix(said, "bench: "), err)
	}
	return out, json.Unmarshal(printed.Bytes(), &out)
}

// dropFile drops what the kernel has cached of all filesystems.
const dropFile = "/proc/sys/vm/drop_caches"

// settle has the disk write what is dirty, so that nobody pays for another's
// writes, then drops caches.
func (s *stage) settle(drop int) error {
	dir, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return fmt.Errorf("syncfs: %w", err)
	}
	if drop == dropNothing {
		return nil
	}
	if err := os.WriteFile(dropFile, fmt.Appendf(nil, "%d\n", drop), 0o200); err != nil {
		return err
	}
	time.Sleep(forgetting)
	return nil
}

// forgetting is how long all servers have to handle what the kernel tells them
// when it drops what it knows of their files: nobody shall be measured while
// the others do.
const forgetting = 200 * time.Millisecond

// feasible returns the groups that this user can measure, and the gap that the
// others leave.
func feasible(all []group, mayDrop error) (groups []group, missing []gap) {
	var rows []string
	for _, g := range all {
		if g.drop != dropNothing && mayDrop != nil {
			rows = append(rows, g.rows...)
			continue
		}
		groups = append(groups, g)
	}
	if len(rows) > 0 {
		missing = append(missing, gap{"every column", strings.Join(rows, ", "), mayDrop.Error()})
	}
	return groups, missing
}

// mayDrop says whether this process may drop caches.
func mayDrop() error {
	f, err := os.OpenFile(dropFile, os.O_WRONLY, 0)
	if err != nil {
		return errors.New("only root can drop the kernel's caches")
	}
	return f.Close()
}
