package escape

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// An insider is a process of a sandbox, seen from the host.
type insider struct {
	pid, parent int
	name        string
	// depth is the number of pid namespaces below the host's in which the
	// process has a pid, and first whether it is pid 1 in the innermost.
	depth int
	first bool
	// ours reports that it runs the guest's own program.
	ours bool
}

// insiders returns the processes in a UTS namespace, which all of a sandbox's
// processes share, whatever pid namespace they are in and whoever adopted
// them. The namespace is as readlink prints it.
func insiders(uts string) []insider {
	links, _ := filepath.Glob("/proc/[0-9]*/ns/uts")
	var all []insider
	for _, link := range links {
		if ns, err := os.Readlink(link); err != nil || ns != uts {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
		if p, ok := inspect(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

func inspect(pid int) (insider, bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return insider{}, false
	}
	p := insider{pid: pid}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		switch key {
		case "Name":
			p.name = value
		case "State":
			if strings.HasPrefix(value, "Z") || strings.HasPrefix(value, "X") {
				return insider{}, false // ended
			}
		case "PPid":
			p.parent, _ = strconv.Atoi(value)
		case "NSpid":
			pids := strings.Fields(value)
			p.depth = len(pids) - 1
			p.first = pids[len(pids)-1] == "1"
		}
	}
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	p.ours = strings.HasSuffix(strings.TrimSuffix(exe, " (deleted)"), "sandboxfsd")
	return p, true
}

// guestOf is the sandbox's own pid 1.
func guestOf(all []insider) (insider, bool) {
	for _, p := range all {
		if p.first && p.depth == 1 {
			return p, true
		}
	}
	return insider{}, false
}

// commandsOf are the insiders that are none of the guest's own processes.
func commandsOf(all []insider) []insider {
	var commands []insider
	for _, p := range all {
		if !p.ours {
			commands = append(commands, p)
		}
	}
	return commands
}

// residentPrivate is a process's anonymous memory in bytes.
func residentPrivate(pid int) (int64, bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
