package main

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machine is what a reader of the table has to know about where it was made.
type machine struct {
	cpu, memory, kernel, goVersion, version string
	processors, uid                         int
}

func describeMachine(bin string) machine {
	m := machine{
		cpu: field("/proc/cpuinfo", "model name"), goVersion: runtime.Version(),
		processors: runtime.NumCPU(), uid: os.Getuid(), memory: "unknown size", version: "unknown version",
	}
	if fields := strings.Fields(field("/proc/meminfo", "MemTotal")); len(fields) > 0 {
		if kib, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
			m.memory = strconv.FormatInt((kib+mib/2)/mib, 10) + " GiB"
		}
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.kernel = unix.ByteSliceToString(u.Release[:])
	}
	if out, err := osexec.Command(filepath.Join(bin, "sandboxfs"), "version").Output(); err == nil {
		m.version = strings.TrimSpace(string(out))
	}
	return m
}

// field returns the value of the first line "name : value" of a file.
func field(file, name string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(data))[0]
}
