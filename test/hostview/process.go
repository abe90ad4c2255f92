package hostview

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Process is a living process; one that ended and was not reaped is none.
type Process struct {
	PID, Parent int
	Name        string
	// Depth is the number of pid namespaces below the host's that the process
	// is in.
	Depth int
	// First reports that it is pid 1 of the innermost of them.
	First bool
	// Program is the base name of the file that it runs, where that can be
	// read.
	Program string
}

// UTSCommand returns the command that prints, inside a sandbox, the name of
// the namespace that [InUTS] asks for.
func UTSCommand() []string { return []string{"readlink", "/proc/self/ns/uts"} }

// InUTS returns the processes in a UTS namespace, named as readlink prints it.
// All processes of a sandbox share one, whatever pid namespace they are in and
// whoever adopted them.
func InUTS(name string) []Process {
	return collect(func(pid string) bool {
		ns, err := os.Readlink("/proc/" + pid + "/ns/uts")
		return err == nil && ns == strings.TrimSpace(name)
	})
}

// Running returns the processes that run a program file, wherever it is
// mounted in their view.
func Running(file string) ([]Process, error) {
	want, err := identityOf(file)
	if err != nil {
		return nil, err
	}
	return collect(func(pid string) bool {
		got, err := identityOf("/proc/" + pid + "/exe")
		return err == nil && got == want
	}), nil
}

type identity struct{ dev, ino uint64 }

func identityOf(file string) (identity, error) {
	info, err := os.Stat(file)
	if err != nil {
		return identity{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, fmt.Errorf("no inode number of %s", file)
	}
	return identity{st.Dev, st.Ino}, nil
}

func collect(keep func(pid string) bool) []Process {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var all []Process
	for _, dir := range dirs {
		pid := filepath.Base(dir)
		if !keep(pid) {
			continue
		}
		n, err := strconv.Atoi(pid)
		if err != nil {
			continue
		}
		if p, ok := Look(n); ok {
			all = append(all, p)
		}
	}
	return all
}

// Look describes one process, by its pid on the host; false where it ended.
func Look(pid int) (Process, bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Process{}, false
	}
	p, ok := parse(string(status))
	p.PID = pid
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil {
		p.Program = filepath.Base(strings.TrimSuffix(exe, " (deleted)"))
	}
	return p, ok
}

// parse reads /proc/PID/status (proc_pid_status(5)).
func parse(status string) (p Process, ok bool) {
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Name":
			p.Name = value
		case "State":
			ok = !strings.HasPrefix(value, "Z") && !strings.HasPrefix(value, "X")
		case "PPid":
			p.Parent, _ = strconv.Atoi(value)
		case "NSpid":
			if pids := strings.Fields(value); len(pids) > 0 {
				p.Depth, p.First = len(pids)-1, pids[len(pids)-1] == "1"
			}
		}
	}
	return p, ok
}

// Guest finds a sandbox's own pid 1 among its processes.
func Guest(all []Process) (Process, bool) {
	for _, p := range all {
		if p.First && p.Depth == 1 {
			return p, true
		}
	}
	return Process{}, false
}

// Daemon is the base name of the program that runs in every sandbox.
const Daemon = "sandboxfsd"

// Commands returns those of a sandbox's processes that are not its own
// program's.
func Commands(all []Process) []Process {
	var commands []Process
	for _, p := range all {
		if p.Program != Daemon {
			commands = append(commands, p)
		}
	}
	return commands
}
