package hostview

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Anonymous returns a process's anonymous resident memory, in bytes: what it
// allocated.
func Anonymous(pid int) (int64, error) {
	return sumKiB(fmt.Sprintf("/proc/%d/status", pid), "RssAnon:")
}

// Private returns the resident memory, in bytes, that only this process has:
// what would be free without it.
func Private(pid int) (int64, error) {
	return sumKiB(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Private_")
}

// sumKiB adds the lines "NAME: N kB" whose name begins with a prefix.
func sumKiB(file, prefix string) (int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var sum int64
	found := false
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 || !strings.HasPrefix(f[0], prefix) {
			continue
		}
		kib, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return 0, err
		}
		sum, found = sum+kib<<10, true
	}
	if !found {
		return 0, fmt.Errorf("no line %s in %s", prefix, file)
	}
	return sum, nil
}
