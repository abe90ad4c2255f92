package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
)

// LeakDeadline is how long [NoLeaks] waits for what is torn down in the
// background, where no deadline is given.
const LeakDeadline = 10 * time.Second

// Leaks says what [NoLeaks] looks at. The zero value is right for most tests.
type Leaks struct {
	// MountsBelow are directories below which every new mount counts as this
	// test's, beside those below its own temporary directories.
	MountsBelow []string
	// Cgroups is the text that the path of this test's cgroups holds; empty
	// means "sandboxfs".
	Cgroups string
	// Ignore are the resources that may stay, by a part of their line in the
	// message.
	Ignore []string
	// Deadline bounds the wait for asynchronous teardown; 0 means
	// LeakDeadline.
	Deadline time.Duration
}

// NoLeaks fails the test if, at its end, there are more file descriptors,
// goroutines, processes, mounts or cgroups than now; the message lists each.
// Call it first in a test, so that it looks last, after every other cleanup.
//
// Descriptors and goroutines are those of this process, so it must not be used
// in tests that run in parallel with others. Processes are found, wherever
// they were re-parented to, by descent or by a mark in the environment that
// they inherited. Mounts count that lie below a temporary directory of this
// test; cgroups count that are empty or hold such a process. So the tests of
// other packages, which run at the same time, are not blamed on this one.
func NoLeaks(t testing.TB, o Leaks) {
	t.Helper()
	if o.Deadline == 0 {
		o.Deadline = LeakDeadline
	}
	if o.Cgroups == "" {
		o.Cgroups = "sandboxfs"
	}
	w := newWatcher(t.Name(), o)
	before, err := w.look()
	if err != nil {
		t.Fatalf("cannot look for leaks: %v", err)
	}
	t.Cleanup(func() {
		var left []string
		var lookErr error
		ok := poll(o.Deadline, func() bool {
			after, err := w.look()
			lookErr = err
			left = before.added(after, o.Ignore)
			return err == nil && len(left) == 0
		})
		if lookErr != nil {
			t.Errorf("cannot look for leaks: %v", lookErr)
		}
		if !ok && len(left) > 0 {
			t.Errorf("still there %v after the test, and not before it:\n\t%s", o.Deadline, strings.Join(left, "\n\t"))
		}
	})
}

// inventory is what exists at one moment: a line for a person, by an identity
// that is not used twice.
type inventory map[string]string

// added returns the lines of what is in after alone, sorted.
func (before inventory) added(after inventory, ignore []string) []string {
	var lines []string
next:
	for id, line := range after {
		if _, ok := before[id]; ok {
			continue
		}
		for _, part := range ignore {
			if strings.Contains(line, part) {
				continue next
			}
		}
		lines = append(lines, line)
	}
	sort.Strings(lines)
	return lines
}

// watcher looks at the machine for one test.
type watcher struct {
	options Leaks
	mine    *regexp.Regexp // mount points of the test's own
	mark    string
}

func newWatcher(test string, o Leaks) *watcher {
	warmNetpoller()
	return &watcher{options: o, mine: ownMounts(test), mark: setMark()}
}

// ownMounts matches the mount points below the directories of t.TempDir, whose
// names begin with the test's and end in digits.
func ownMounts(test string) *regexp.Regexp {
	root, _, _ := strings.Cut(test, "/")
	return regexp.MustCompile("^" + regexp.QuoteMeta(filepath.Clean(os.TempDir())) + "/" + regexp.QuoteMeta(root) + "[^/]*[0-9]+/")
}

func (w *watcher) look() (inventory, error) {
	all := inventory{}
	processes, err := w.processes(all)
	if err != nil {
		return nil, err
	}
	if err := w.mounts(all); err != nil {
		return nil, err
	}
	w.cgroups(all, processes)
	goroutines(all)
	return all, descriptors(all)
}

func (w *watcher) mounts(all inventory) error {
	mounts, err := mountinfo.Read()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		own := w.mine.MatchString(m.Point)
		for _, dir := range w.options.MountsBelow {
			own = own || mountinfo.Within(m.Point, dir)
		}
		if own {
			all["mount "+m.ID+" "+m.Point] = fmt.Sprintf("mount: %s on %s", m.Type, m.Point)
		}
	}
	return nil
}
