package fs

import (
	"strings"

	"golang.org/x/sys/unix"
)

// maxName is the longest name in bytes, NAME_MAX of Linux.
const maxName = 255

// checkName refuses everything that is not exactly one path component. The
// kernel never sends such a name; the check is what makes "one component
// relative to a held descriptor" true whoever is at the other end.
func checkName(name string) unix.Errno {
	switch {
	case name == "" || name == "." || name == "..":
		return unix.EINVAL
	case len(name) > maxName:
		return unix.ENAMETOOLONG
	case strings.ContainsAny(name, "/\x00"):
		return unix.EINVAL
	}
	return 0
}
