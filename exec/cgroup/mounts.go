package cgroup

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
)

// controllers are the ones a sandbox is bounded by, in the order they are
// reported.
var controllers = [...]string{"pids", "memory", "cpu"}

// mount is one mounted cgroup tree.
type mount struct {
	point string // where it is mounted
	root  string // which group of the tree is seen there
	// version is 1 or 2; options are the controllers of a version 1 tree.
	version int
	options []string
}

// treesIn finds the cgroup trees among what is mounted.
func treesIn(table mountinfo.Table) []mount {
	var out []mount
	for _, line := range table {
		m := mount{root: line.Root, point: line.Point}
		switch line.Type {
		case "cgroup":
			m.version, m.options = 1, strings.Split(line.Options, ",")
		case "cgroup2":
			m.version = 2
		default:
			continue
		}
		out = append(out, m)
	}
	return out
}

// parseSelf returns the version 2 group named in the text of a
// /proc/PID/cgroup file, or "" when there is none.
func parseSelf(text string) string {
	for line := range strings.Lines(text) {
		if p, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return p
		}
	}
	return ""
}

// v1Mount returns the tree of a version 1 controller.
func v1Mount(mounts []mount, controller string) (mount, bool) {
	for _, m := range mounts {
		if m.version == 1 && slices.Contains(m.options, controller) {
			return m, true
		}
	}
	return mount{}, false
}

// v2Mount returns the version 2 tree.
func v2Mount(mounts []mount) (mount, bool) {
	for _, m := range mounts {
		if m.version == 2 {
			return m, true
		}
	}
	return mount{}, false
}

// v2Places returns the groups of the version 2 tree below which a sandbox's
// group may be made, relative to the mount point, most wanted first: the
// user's own service manager (where systemd delegates to an ordinary user),
// then from the top of the tree down to our own group.
func v2Places(m mount, self string, uid int) []string {
	var out []string
	if uid != 0 {
		s := strconv.Itoa(uid)
		out = append(out, "user.slice/user-"+s+".slice/user@"+s+".service")
	}
	self = path.Clean("/" + self)
	rel, inside := strings.CutPrefix(self, strings.TrimSuffix(m.root, "/"))
	if m.root != "/" && !inside {
		rel = "/"
	}
	out = append(out, ".")
	for i, c := range rel {
		if c == '/' && i > 0 {
			out = append(out, rel[1:i])
		}
	}
	if len(rel) > 1 {
		out = append(out, rel[1:])
	}
	return slices.Compact(out)
}

// system reads what this process can know about cgroups.
func system() (mounts []mount, self string, err error) {
	table, err := mountinfo.Read()
	if err != nil {
		return nil, "", err
	}
	cg, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, "", err
	}
	return treesIn(table), parseSelf(string(cg)), nil
}
