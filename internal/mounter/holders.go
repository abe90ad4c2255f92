package mounter

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
)

// maxHolders bounds how many processes an error names.
const maxHolders = 5

// holders names processes that use what lies below a mount point: their
// working and root directory, open files and mapped files. It reads links of
// /proc alone, which the kernel answers without asking the mount.
func holders(point string) []string {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var who []string
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || !holds(pid, point) {
			continue
		}
		if len(who) == maxHolders {
			return append(who, "and others")
		}
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		who = append(who, fmt.Sprintf("%s (%d)", strings.TrimSpace(string(name)), pid))
	}
	return who
}

func holds(pid int, point string) bool {
	dir := fmt.Sprintf("/proc/%d/", pid)
	links := []string{"cwd", "root"}
	fds, _ := os.ReadDir(dir + "fd")
	for _, fd := range fds {
		links = append(links, "fd/"+fd.Name())
	}
	for _, l := range links {
		if target, err := os.Readlink(dir + l); err == nil && mountinfo.Within(target, point) {
			return true
		}
	}
	maps, _ := os.ReadFile(dir + "maps")
	for line := range strings.Lines(string(maps)) {
		if i := strings.IndexByte(line, '/'); i >= 0 && mountinfo.Within(strings.TrimSuffix(line[i:], "\n"), point) {
			return true
		}
	}
	return false
}
