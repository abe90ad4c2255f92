package mountinfo

import (
	"path"
	"strings"
)

// At returns what is mounted at a path, the topmost.
func (t Table) At(point string) (Mount, bool) {
	for i := len(t) - 1; i >= 0; i-- {
		if t[i].Point == point {
			return t[i], true
		}
	}
	return Mount{}, false
}

// Containing returns the mount in which a path lies.
func (t Table) Containing(p string) (Mount, bool) {
	for {
		if m, ok := t.At(p); ok {
			return m, true
		}
		if p == "/" || p == "." {
			return Mount{}, false
		}
		p = path.Dir(p)
	}
}

// Below returns what is mounted below a path, but not at it.
func (t Table) Below(p string) Table {
	var out Table
	for _, m := range t {
		if m.Point != p && Within(m.Point, p) {
			out = append(out, m)
		}
	}
	return out
}

// Inside reports whether a path is dir or lies below it, also where one of them
// is reached through a bind mount.
func (t Table) Inside(p, dir string) bool {
	if Within(p, dir) {
		return true
	}
	a, okA := t.Containing(p)
	b, okB := t.Containing(dir)
	return okA && okB && a.Device == b.Device && Within(a.inFilesystem(p), b.inFilesystem(dir))
}

// inFilesystem is a path's place in the filesystem that is mounted here.
func (m Mount) inFilesystem(p string) string {
	return path.Join(m.Root, strings.TrimPrefix(p, m.Point))
}

// Option returns the value of an option such as "user_id=0" of the filesystem.
func (m Mount) Option(name string) (value string, ok bool) {
	for o := range strings.SplitSeq(m.Options, ",") {
		if key, value, _ := strings.Cut(o, "="); key == name {
			return value, true
		}
	}
	return "", false
}

// Within reports whether a path is dir or lies below it, by its text.
func Within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
