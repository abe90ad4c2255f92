package testenv

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// envMark is inherited by every process that a test starts, however often it
// is re-parented, so that a process left behind is traced to its test.
const envMark = "SANDBOXFS_TEST_MARK"

// setMark marks this process's environment, once, and returns the mark.
func setMark() string {
	if mark := os.Getenv(envMark); mark != "" {
		return mark
	}
	mark := fmt.Sprintf("%d-%d", os.Getpid(), startTime(os.Getpid()))
	_ = os.Setenv(envMark, mark)
	return mark
}

// processes adds the processes that descend from this one or carry its mark,
// and returns their pids.
func (w *watcher) processes(all inventory) (map[int]bool, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	parents := map[int]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if st, ok := readStat(pid); ok {
			parents[pid] = st.parent
		}
	}
	self := os.Getpid()
	mine := map[int]bool{}
	for pid := range parents {
		if pid == self || !w.descends(pid, self, parents) && !carries(pid, w.mark) {
			continue
		}
		st, ok := readStat(pid)
		if !ok {
			continue
		}
		mine[pid] = true
		line := fmt.Sprintf("process: %d (%s) state %s", pid, st.name, st.state)
		if args := commandLine(pid); args != "" {
			line += ": " + args
		}
		all[fmt.Sprintf("process %d %d", pid, st.start)] = line
	}
	return mine, nil
}

func (w *watcher) descends(pid, from int, parents map[int]int) bool {
	for range len(parents) {
		parent, ok := parents[pid]
		if !ok || parent == 0 {
			return false
		}
		if parent == from {
			return true
		}
		pid = parent
	}
	return false
}

// carries reports whether a process inherited the mark. An ancestor of the
// test, where the mark was set outside, carries it too, but is there before
// and after.
func carries(pid int, mark string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false // ended, or not ours to read
	}
	want := []byte(envMark + "=" + mark)
	for _, entry := range bytes.Split(env, []byte{0}) {
		if bytes.Equal(entry, want) {
			return true
		}
	}
	return false
}

func commandLine(pid int) string {
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	const longest = 200
	line := strings.TrimSpace(string(bytes.ReplaceAll(args, []byte{0}, []byte{' '})))
	if len(line) > longest {
		line = line[:longest] + "..."
	}
	return line
}

// processStat is a part of /proc/PID/stat.
type processStat struct {
	name, state string
	parent      int
	start       uint64 // in clock ticks since boot; with the pid, unique
}

func readStat(pid int) (processStat, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return processStat{}, false
	}
	return parseStat(string(data))
}

// parseStat reads a line of /proc/PID/stat, whose second field is a name in
// parentheses that can hold spaces and parentheses (proc_pid_stat(5)).
func parseStat(line string) (processStat, bool) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return processStat{}, false
	}
	rest := strings.Fields(line[end+1:])
	const startField = 22 - 3 // of the fields after the name, which begin at 3
	if len(rest) <= startField {
		return processStat{}, false
	}
	parent, err := strconv.Atoi(rest[1])
	if err != nil {
		return processStat{}, false
	}
	start, err := strconv.ParseUint(rest[startField], 10, 64)
	if err != nil {
		return processStat{}, false
	}
	return processStat{name: line[open+1 : end], state: rest[0], parent: parent, start: start}, true
}

func startTime(pid int) uint64 {
	st, _ := readStat(pid)
	return st.start
}

// cgroups adds the cgroups of the tests' name that no process of another test
// is in.
func (w *watcher) cgroups(all inventory, mine map[int]bool) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // went away meanwhile, or is closed to this user
		}
		if strings.Contains(path, w.options.Cgroups) && !heldByOthers(path, mine) {
			all["cgroup "+path] = "cgroup: " + path
		}
		return nil
	})
}

func heldByOthers(cgroup string, mine map[int]bool) bool {
	data, err := os.ReadFile(filepath.Join(cgroup, "cgroup.procs"))
	if err != nil {
		return true // went away meanwhile
	}
	pids := strings.Fields(string(data))
	for _, field := range pids {
		if pid, err := strconv.Atoi(field); err == nil && mine[pid] {
			return false
		}
	}
	return len(pids) > 0
}
