package testenv

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// descriptors adds the open descriptors of this process.
func descriptors(all inventory) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil {
			continue // the descriptor of the listing itself
		}
		id := "descriptor " + e.Name() + " " + target
		all[id] = fmt.Sprintf("descriptor: %s -> %s", e.Name(), target)
	}
	return nil
}

// warmNetpoller makes the runtime open the descriptors of its own that it
// opens on first use (epoll, its wake-up event), so that they count as there
// before.
func warmNetpoller() {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	_ = r.SetReadDeadline(time.Now())
	_ = r.Close()
	_ = w.Close()
	// The runtime probes for pidfd when it first starts or finds a process.
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Release()
	}
}

// runtimeGoroutines are started once by the runtime or the standard library
// and stay by design. They are known by a function in their stack.
var runtimeGoroutines = []string{
	"os/signal.signal_recv",
	"os/signal.loop",
	"runtime.ensureSigM",
	"runtime/trace.Start",
	"testing.(*M).startAlarm",
}

// goroutines adds the goroutines of this process but the calling one and the
// runtime's.
func goroutines(all inventory) {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	stacks := strings.Split(string(buf), "\n\n")
	for _, stack := range stacks[1:] { // the first is the caller
		id, line, ok := describeGoroutine(stack)
		if ok {
			all["goroutine "+strconv.Itoa(id)] = line
		}
	}
}

// describeGoroutine returns a goroutine's number and, in a line, what it does
// and who started it.
func describeGoroutine(stack string) (id int, line string, ok bool) {
	for _, known := range runtimeGoroutines {
		if strings.Contains(stack, known) {
			return 0, "", false
		}
	}
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	head, found := strings.CutPrefix(lines[0], "goroutine ")
	if !found || len(lines) < 2 {
		return 0, "", false
	}
	number, state, _ := strings.Cut(head, " ")
	if id, err := strconv.Atoi(number); err == nil {
		creator := ""
		for i, l := range lines {
			if rest, ok := strings.CutPrefix(l, "created by "); ok {
				creator = ", " + l[:len("created by ")] + rest
				if i+1 < len(lines) {
					creator += " at " + strings.TrimSpace(lines[i+1])
				}
			}
		}
		return id, fmt.Sprintf("goroutine: %d %s in %s%s", id, strings.TrimSuffix(state, ":"), lines[1], creator), true
	}
	return 0, "", false
}
