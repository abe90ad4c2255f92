package mounter

import (
	"os"
	"path"
	"strings"
)

// fsType is what mountinfo calls our mounts.
const fsType = "fuse.sandboxfs"

// mountEntry is one line of mountinfo (proc(5)).
type mountEntry struct {
	id     string // of the mount; used again as soon as it is gone
	device string // "major:minor", of the filesystem; used again too
	root   string // the directory of the filesystem that is seen at point
	point  string
	kind   string
	userID string // user_id of a FUSE mount
}

// mountTable lists what is mounted in this process's mount namespace, later
// mounts after those that they lie over.
type mountTable []mountEntry

func readTable() (mountTable, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseTable(string(b)), nil
}

func parseTable(mountinfo string) mountTable {
	var t mountTable
	for line := range strings.Lines(mountinfo) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 6 || len(r) < 3 {
			continue
		}
		m := mountEntry{id: l[0], device: l[2], root: unescape(l[3]), point: unescape(l[4]), kind: r[0]}
		for o := range strings.SplitSeq(r[2], ",") {
			if id, ok := strings.CutPrefix(o, "user_id="); ok {
				m.userID = id
			}
		}
		t = append(t, m)
	}
	return t
}

// unescape undoes the octal escapes of mountinfo.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && octal(s[i+1]) && octal(s[i+2]) && octal(s[i+3]) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func octal(c byte) bool { return '0' <= c && c <= '7' }

// at returns what is mounted at a path, the topmost.
func (t mountTable) at(point string) (mountEntry, bool) {
	for i := len(t) - 1; i >= 0; i-- {
		if t[i].point == point {
			return t[i], true
		}
	}
	return mountEntry{}, false
}

// containing returns the mount in which a real path lies.
func (t mountTable) containing(p string) (mountEntry, bool) {
	for {
		if m, ok := t.at(p); ok {
			return m, true
		}
		if p == "/" || p == "." {
			return mountEntry{}, false
		}
		p = path.Dir(p)
	}
}

// below returns what is mounted below a path.
func (t mountTable) below(p string) []mountEntry {
	var out []mountEntry
	for _, m := range t {
		if m.point != p && within(m.point, p) {
			out = append(out, m)
		}
	}
	return out
}

// inside reports whether a real path is dir or lies below it, also where one
// of them is reached through a bind mount.
func (t mountTable) inside(p, dir string) bool {
	if within(p, dir) {
		return true
	}
	a, okA := t.containing(p)
	b, okB := t.containing(dir)
	return okA && okB && a.device == b.device && within(a.inFilesystem(p), b.inFilesystem(dir))
}

// inFilesystem is a path's place in the filesystem that is mounted here.
func (m mountEntry) inFilesystem(p string) string {
	return path.Join(m.root, strings.TrimPrefix(p, m.point))
}

func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
