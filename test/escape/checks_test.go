package escape

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/test/hostview"
)

// hostCheck is a check made outside the sandbox. Any part may be nil.
type hostCheck struct {
	// before sets something up.
	before func(*trial)
	// during runs beside the snippet until its context ends; the function it
	// returns is called then.
	during func(context.Context, *trial) func() error
	// after looks at what came of it.
	after func(*trial, Outcome) error
}

// hostChecks maps the words of the cases to functions.
func hostChecks() map[string]hostCheck {
	result := hostCheck{after: withinCap}
	none := hostCheck{after: noProcessLeft}
	return map[string]hostCheck{
		"other_thread_alive": {after: neighbourAlive},
		"daemon_alive":       {after: keeperAlive},
		"read_api(outputs/d/passwd) in a loop never returns host passwd":        {during: watchPasswd},
		"read_api(workspace/loopa) errors quickly":                              {after: loopErrors},
		"write_api(uploads/y/pwn) creates nothing on the host":                  {before: plantLink, after: linkNotFollowed},
		"skills tree hash unchanged":                                            {after: skillsUnchanged},
		"tmpfs growth below its size option":                                    {after: tmpfsBounded},
		"inode quota respected":                                                 {after: inodesBounded},
		"other thread's command latency < 4x idle":                              {during: neighbourLatency},
		"backing object carries no setuid/setgid bit or is not host-executable": {after: noSetID},
		"reports timeout, no sleep left":                                        {after: reportsTimeout},
		"no process left":                                                       none,
		"no process left after the command":                                     none,
		"daemon RSS growth < 8 MiB, result <= cap":                              {during: memoryFlat, after: withinCap},
		"stderr and stdout capped separately or in one ordered stream":          {after: cappedSeparately},
		"result <= cap":                    result,
		"valid JSON":                       {after: validJSON},
		"status still parsed":              {after: statusParsed},
		"caller told if cwd/env were lost": {after: toldOfShell},
		"policy: escapes kept or stripped, never interpreted":  {after: escapesKept},
		"rejected with a clear error or handled, daemon alive": {after: nulHandled},
		"backing owner is the daemon's own":                    {after: backingOwner},
		"API does not connect to or block on the socket":       {after: socketNotTouched},
	}
}

func (r *trial) hostChecksOf(c Case) []hostCheck {
	r.t.Helper()
	var checks []hostCheck
	for _, e := range c.Expect {
		if e.Kind != OnHost {
			continue
		}
		check, ok := hostChecks()[e.Text]
		if !ok {
			r.t.Fatalf("nothing checks %q on the host", e.Text)
		}
		checks = append(checks, check)
	}
	return checks
}

func neighbourAlive(r *trial, _ Outcome) error {
	if !r.neighbourSleeps(r.t) {
		return fmt.Errorf("the other thread's process is gone")
	}
	return nil
}

func keeperAlive(r *trial, _ Outcome) error {
	if r.keeper == 0 {
		return nil // an ordinary user's harness cannot see it
	}
	guest, ok := hostview.Guest(hostview.InUTS(r.uts))
	if !ok || guest.Parent != r.keeper {
		return fmt.Errorf("the sandbox's pid 1 is gone")
	}
	if _, ok := hostview.Look(r.keeper); !ok {
		return fmt.Errorf("the keeper is gone")
	}
	return nil
}

func skillsUnchanged(r *trial, _ Outcome) error {
	if r.sumSkills(r.t) != r.skillsSum {
		return fmt.Errorf("the skills tree changed")
	}
	return nil
}

func noProcessLeft(r *trial, _ Outcome) error {
	if left := hostview.Commands(hostview.InUTS(r.uts)); len(left) > 0 {
		return fmt.Errorf("still running: %+v", left)
	}
	return nil
}

func reportsTimeout(r *trial, o Outcome) error {
	const exitTimeout = 124
	if o.Code != exitTimeout {
		return fmt.Errorf("want exit status %d, got %d", exitTimeout, o.Code)
	}
	return noProcessLeft(r, o)
}

// watchPasswd reads, through the file calls, a path that the snippet swaps
// between a directory and a link to /etc.
func watchPasswd(ctx context.Context, r *trial) func() error {
	stdin, writer, err := os.Pipe()
	if err != nil {
		r.t.Fatal(err)
	}
	type answer struct {
		o   Outcome
		err error
	}
	done := make(chan answer, 1)
	go func() {
		o, err := r.call(5*time.Minute, "watch", r.thread, "/mnt/user-data/outputs/d/passwd", stdin)
		_ = stdin.Close()
		done <- answer{o, err}
	}()
	return func() error {
		_ = writer.Close()
		a := <-done
		if a.err != nil || a.o.Code != 0 {
			return fmt.Errorf("reading in a loop: %v %s", a.err, a.o.Stderr)
		}
		r.t.Logf("%s", a.o.Stderr)
		if leaksHostPasswd(string(a.o.Stdout)) {
			return fmt.Errorf("the host's /etc/passwd came out")
		}
		return nil
	}
}

func loopErrors(r *trial, _ Outcome) error {
	o, err := r.call(time.Duration(float64(10*time.Second)*r.slack), "read", r.thread, "/mnt/user-data/workspace/loopa", nil)
	if err != nil {
		return err
	}
	if o.Code == 0 {
		return fmt.Errorf("reading a loop of links succeeded")
	}
	return nil
}

// plantLink puts a link out of the tree where the operator's writes go, as
// somebody with access to the host's directory, or an older version, could.
func plantLink(r *trial) {
	link := filepath.Join(r.backing(r.thread), "user-data", "uploads", "y")
	if err := os.Symlink(r.writeDir, link); err != nil {
		r.t.Fatal(err)
	}
}

func linkNotFollowed(r *trial, _ Outcome) error {
	for _, op := range []string{"write", "update"} {
		o, err := r.call(30*time.Second, op, r.thread, "/mnt/user-data/uploads/y/pwn", nil)
		if err != nil {
			return err
		}
		if o.Code == 0 {
			return fmt.Errorf("the call %s through a link out of the tree succeeded", op)
		}
	}
	if names, err := os.ReadDir(r.writeDir); err != nil || len(names) > 0 {
		return fmt.Errorf("in the host's directory: %v, %v", names, err)
	}
	return nil
}

// tmpfsBounded compares what was written with what the mounts allow.
func tmpfsBounded(r *trial, o Outcome) error {
	limits := map[string]int64{}
	for line := range strings.Lines(r.must(r.t, r.thread, "grep ' tmpfs ' /proc/mounts")) {
		f := strings.Fields(line)
		m := regexp.MustCompile(`\bsize=(\d+)k\b`).FindStringSubmatch(f[3])
		if m == nil && !strings.Contains(","+f[3]+",", ",ro,") {
			return fmt.Errorf("the tmpfs %s has no size", f[1])
		}
		if m != nil {
			kib, err := strconv.ParseInt(m[1], 10, 64)
			if err != nil {
				return err
			}
			limits[f[1]] = kib << 10
		}
	}
	written := regexp.MustCompile(`(?m)^(\d+) bytes`).FindAllStringSubmatch(o.Combined(), -1)
	for i, where := range []string{"/tmp", "/dev/shm"} {
		if limits[where] == 0 {
			return fmt.Errorf("%s is no tmpfs of limited size", where)
		}
		if i >= len(written) {
			continue // dd was ended by the memory limit
		}
		if n, err := strconv.ParseInt(written[i][1], 10, 64); err != nil || n > limits[where] {
			return fmt.Errorf("%s bytes went into %s, which has %d (%v)", written[i][1], where, limits[where], err)
		}
	}
	return nil
}

// inodesBounded demands that the bomb met the store's end, and that files can
// be made afterwards.
func inodesBounded(r *trial, o Outcome) error {
	fields := strings.Fields(o.Combined())
	if len(fields) == 0 {
		return fmt.Errorf("no count of files in the output")
	}
	n, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil || n == 0 || n > storeInodes {
		return fmt.Errorf("want at most %d files, got %q", storeInodes, fields[len(fields)-1])
	}
	r.must(r.t, r.thread, "echo x >after && cat after")
	return nil
}

// neighbourLatency compares the other thread's commands beside the snippet
// with those on an idle machine.
func neighbourLatency(ctx context.Context, r *trial) func() error {
	idle := r.latencies(r.t.Context(), 9)
	done := make(chan []time.Duration, 1)
	go func() { done <- r.latencies(ctx, 1000) }()
	return func() error {
		busy := <-done
		if len(idle) == 0 || len(busy) < 3 {
			return fmt.Errorf("only %d commands of the other thread ended", len(busy))
		}
		a, b := median(idle), median(busy)
		r.t.Logf("the other thread's command: idle %v, beside it %v (%d)", a, b, len(busy))
		if b > 4*a {
			return fmt.Errorf("the other thread's command takes %v, idle %v", b, a)
		}
		return nil
	}
}

// latencies times up to most commands of the other thread.
func (r *trial) latencies(ctx context.Context, most int) []time.Duration {
	var times []time.Duration
	for len(times) < most && ctx.Err() == nil {
		o, err := r.exec(ctx, otherThread, "true")
		if err == nil && o.Code == 0 {
			times = append(times, o.Took)
		}
	}
	return times
}

func noSetID(r *trial, _ Outcome) error {
	info, err := os.Stat(filepath.Join(r.workspace(r.thread), "sid2"))
	if err != nil {
		return err
	}
	if info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		return fmt.Errorf("the file on the host has mode %v", info.Mode())
	}
	return nil
}

// memoryFlat watches the memory of the host side and of the guest.
func memoryFlat(ctx context.Context, r *trial) func() error {
	const allowed = 8 << 20
	guest, ok := hostview.Guest(hostview.InUTS(r.uts))
	if !ok {
		return func() error { return nil } // not to be seen by an ordinary user
	}
	pids := []int{guest.PID, r.keeper}
	before := map[int]int64{}
	for _, pid := range pids {
		before[pid], _ = hostview.Anonymous(pid)
	}
	done := make(chan error, 1)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		most := map[int]int64{}
		for ctx.Err() == nil {
			for _, pid := range pids {
				now, _ := hostview.Anonymous(pid)
				most[pid] = max(most[pid], now-before[pid])
			}
			<-tick.C
		}
		r.t.Logf("memory grew by (bytes, guest and keeper): %d, %d", most[pids[0]], most[pids[1]])
		for _, grown := range most {
			if grown > allowed {
				done <- fmt.Errorf("a process grew by %d bytes", grown)
				return
			}
		}
		done <- nil
	}()
	return func() error { return <-done }
}

// marker is more than the note about what was left out takes.
const marker = 300

func withinCap(_ *trial, o Outcome) error {
	if len(o.Stdout) > maxOutput+marker || len(o.Stderr) > maxOutput+marker {
		return fmt.Errorf("%d and %d bytes of output where %d are allowed", len(o.Stdout), len(o.Stderr), maxOutput)
	}
	return nil
}

func cappedSeparately(r *trial, o Outcome) error {
	if want := "out-ok\n"; string(o.Stdout) != want {
		return fmt.Errorf("want standard output %q, got %q", want, shorten(string(o.Stdout)))
	}
	if !bytes.HasPrefix(o.Stderr, []byte("1\n2\n")) || !bytes.Contains(o.Stderr, []byte("\n3000000\n")) {
		return fmt.Errorf("standard error lacks its head or its tail: %s", shorten(string(o.Stderr)))
	}
	return withinCap(r, o)
}

// validJSON demands every byte from the command line, and from the calls, whose
// wire is JSON, the same bytes or a readable form of them.
func validJSON(r *trial, o Outcome) error {
	const want = "a\x00b\x00c\n"
	if string(o.Stdout) != want {
		return fmt.Errorf("want every byte, %q, got %q", want, o.Stdout)
	}
	again, err := r.call(time.Minute, "script", r.thread, "-", strings.NewReader(`printf 'a\0b\0c\n'`))
	if err != nil {
		return err
	}
	if !regexp.MustCompile(`^a.{1,6}b.{1,6}c\n$`).Match(again.Stdout) {
		return fmt.Errorf("through the calls: %q, %s", again.Stdout, again.Stderr)
	}
	return nil
}

func escapesKept(_ *trial, o Outcome) error {
	if want := "\x1b[31mred\x1b[0m\x1b]0;title\a\n"; string(o.Stdout) != want {
		return fmt.Errorf("want every byte, %q, got %q", want, o.Stdout)
	}
	return nil
}

func nulHandled(r *trial, o Outcome) error {
	if o.Code != 0 && len(bytes.TrimSpace(o.Stderr)) == 0 {
		return fmt.Errorf("refused without a word")
	}
	return keeperAlive(r, o)
}

func backingOwner(r *trial, _ Outcome) error {
	uid, err := ownerOf(filepath.Join(r.workspace(r.thread), "a.txt"))
	if err != nil {
		return err
	}
	want := os.Getuid()
	if r.user != nil {
		want = r.user.UID
	}
	if uid != want {
		return fmt.Errorf("want the host's file to belong to uid %d, got %d", want, uid)
	}
	return nil
}
