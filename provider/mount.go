package provider

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// The bounds of what a configuration may mount.
const (
	// MaxMounts is the greatest number of mounts.
	MaxMounts = 64
	// MaxContainerPath is the greatest length of a mount's container path, in
	// bytes.
	MaxContainerPath = 200
)

// systemDirs are the names at the root of a sandbox that its own system takes,
// or may take on another machine.
var systemDirs = [...]string{"bin", "boot", "dev", "etc", "opt", "proc", "run", "sbin", "sys", "tmp", "usr", "var"}

// kernelDirs are the host's windows into its kernel, where reading a file can
// have effects and a symlink can lead anywhere.
var kernelDirs = [...]string{"/proc", "/sys", "/dev"}

// Validate checks a mount by itself, by its paths alone: it looks at no file.
// Kind: invalid.
func (m Mount) Validate() error {
	if reason := hostPathFault(m.HostPath); reason != "" {
		return invalidConfig(fmt.Sprintf("the host path %q of a mount %s", m.HostPath, reason), "give the absolute path of a directory")
	}
	if reason := containerPathFault(m.ContainerPath); reason != "" {
		return invalidConfig(fmt.Sprintf("a mount cannot be shown at %q: %s", m.ContainerPath, reason),
			"choose a place of its own, such as /mnt/NAME or /data")
	}
	return nil
}

func hostPathFault(p string) string {
	switch {
	case !isCleanAbs(p):
		return "is not absolute and clean"
	case !utf8.ValidString(p):
		return "is not UTF-8"
	case p == "/":
		return "is the whole host"
	}
	for _, dir := range kernelDirs {
		if within(p, dir) && !(dir == "/dev" && within(p, "/dev/shm") && p != "/dev/shm") {
			return "lies in " + dir + ", which holds no data but the kernel's"
		}
	}
	return ""
}

// containerPathFault says why nothing can be shown at a path; "" where it can.
func containerPathFault(p string) string {
	switch {
	case !isCleanAbs(p):
		return "it is not an absolute path without '.', '..' and doubled slashes"
	case !utf8.ValidString(p):
		return "it is not UTF-8"
	case len(p) > MaxContainerPath:
		return fmt.Sprintf("it has more than %d bytes", MaxContainerPath)
	}
	for _, own := range [...]string{mapping.UserData, mapping.Skills, mapping.ACPWorkspace} {
		switch {
		case p == own:
			return "it is a directory of the thread's own"
		case within(p, own):
			return "it lies in " + own + ", a directory of the thread's own"
		case within(own, p):
			return "it contains " + own + ", a directory of the thread's own"
		}
	}
	top, _, _ := strings.Cut(p[1:], "/")
	if slices.Contains(systemDirs[:], top) || strings.HasPrefix(top, "lib") {
		return "/" + top + " belongs to the sandbox's system"
	}
	return ""
}

// validateMounts checks a configuration's mounts among themselves and against
// its directories, as far as they are known. What shows the data or the
// runtime directory, or a part of one, would show other threads' files or the
// sandboxes' sockets; a writable mount of the skills would make them writable.
func validateMounts(c Config) error {
	mounts := c.Mounts
	if len(mounts) > MaxMounts {
		return invalidConfig(fmt.Sprintf("there are %d mounts, more than %d", len(mounts), MaxMounts), "mount a directory that holds several of them")
	}
	at := map[string]bool{}
	for _, m := range mounts {
		if err := m.Validate(); err != nil {
			return err
		}
		if at[m.ContainerPath] {
			return invalidConfig(fmt.Sprintf("two mounts are to be shown at %q", m.ContainerPath), "give each a place of its own")
		}
		at[m.ContainerPath] = true
		for _, own := range [...]struct {
			what, dir, why string
			applies        bool
		}{
			{"data directory", c.Home, "would show other threads' files", true},
			{"runtime directory", c.RuntimeDir, "would show the sandboxes' sockets", true},
			{"skills directory", c.SkillsDir, "would make skills writable", !m.ReadOnly},
		} {
			dir := path.Clean(own.dir)
			if own.applies && own.dir != "" && (within(m.HostPath, dir) || within(dir, m.HostPath)) {
				return invalidConfig(fmt.Sprintf("the host path %q of the mount at %s lies in the %s %q or contains it, and %s", m.HostPath, m.ContainerPath, own.what, dir, own.why),
					"mount a directory outside of it")
			}
		}
	}
	return nil
}

func isCleanAbs(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}

// within reports whether a clean path is dir or lies below it.
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}
