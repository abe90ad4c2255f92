package record

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is what a reader of a table has to know about where it was made.
type Machine struct {
	CPU, Memory, Kernel, GoVersion string
	// Version is what `sandboxfs version` says.
	Version         string
	Processors, UID int
}

const mib = 1 << 20

// Describe looks at the machine and asks the sandboxfs in the directory bin
// for its version. What cannot be found out is called unknown.
func Describe(bin string) Machine {
	m := Machine{
		CPU: field("/proc/cpuinfo", "model name"), GoVersion: runtime.Version(),
		Processors: runtime.NumCPU(), UID: os.Getuid(), Memory: "unknown size", Version: "unknown version",
	}
	if fields := strings.Fields(field("/proc/meminfo", "MemTotal")); len(fields) > 0 {
		if kib, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
			m.Memory = strconv.FormatInt((kib+mib/2)/mib, 10) + " GiB"
		}
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	if out, err := osexec.Command(filepath.Join(bin, "sandboxfs"), "version").Output(); err == nil {
		m.Version = strings.TrimSpace(string(out))
	}
	return m
}

// String is the beginning of a table's notes, without a full stop.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d processors, %s of memory, kernel %s, %s, uid %d", m.CPU, m.Processors, m.Memory, m.Kernel, m.GoVersion, m.UID)
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

// Load returns the load average of the last minute.
func Load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(data))[0]
}
