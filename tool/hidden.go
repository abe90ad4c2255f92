package tool

import (
	"path"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
)

// hides reports whether a path is at or below a hidden one.
func (s *Set) hides(p string) bool {
	if len(s.o.Hidden) == 0 {
		return false
	}
	p = path.Clean(p)
	for _, h := range s.o.Hidden {
		if isAt(p, path.Clean(h)) {
			return true
		}
	}
	return false
}

func isAt(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}

// isOurs reports whether a path is of our own making and of no interest to an
// agent that looks around: kept outputs, uploads and writes that are not
// complete. It is shown where the agent's own path names it.
func isOurs(root, p string) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(p, path.Clean(root)), "/")
	for part := range strings.SplitSeq(rest, "/") {
		switch {
		case part == privateDir,
			strings.HasPrefix(part, ".upload-") && strings.HasSuffix(part, ".part"),
			strings.HasPrefix(part, ".sandboxfs-") && strings.HasSuffix(part, ".tmp"):
			return true
		}
	}
	return false
}

// belowIgnored reports whether a path lies in a directory of the ignore list
// that is itself below the root.
func belowIgnored(root, p string) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(path.Dir(p), path.Clean(root)), "/")
	for part := range strings.SplitSeq(rest, "/") {
		if provider.IsIgnoredDir(part) {
			return true
		}
	}
	return false
}
