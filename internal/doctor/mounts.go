package doctor

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxMounts bounds how many mounts are asked, each within a probe's deadline.
const maxMounts = 32

func checkMounts(m *machine) Finding {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return warn("the list of mounts cannot be read: "+err.Error(), "dead mounts are not found", "")
	}
	points := ours(string(text), m.UID)
	type reply struct {
		point string
		a     answer
	}
	asked := points[:min(len(points), maxMounts)]
	replies := make(chan reply, len(asked))
	for _, p := range asked {
		go func() { replies <- reply{p, ask("start the probe", nil, nil, probeStatfs, p)} }()
	}
	var dead []string
	for range asked {
		if r := <-replies; !r.a.ok() && r.a.Errno != unix.EACCES { // somebody else's mount may be closed to us
			dead = append(dead, r.point)
		}
	}
	if len(dead) > 0 {
		slices.Sort(dead)
		return warn("mounts that nobody serves any more: "+strings.Join(dead, ", "), "whoever looks there gets an error, or hangs", m.unmount(dead))
	}
	return ok(fmt.Sprintf("%d mounts of ours, none of them dead", len(points)))
}

// unmount is the command that ends mounts, dead ones too.
func (m *machine) unmount(points []string) string {
	var words []string
	for _, p := range points {
		words = append(words, quote(p))
	}
	if m.root() {
		return "umount -l " + strings.Join(words, " ")
	}
	return "fusermount3 -u -z " + strings.Join(words, " && fusermount3 -u -z ") // it takes one alone
}

// quote makes a path one word for a shell.
func quote(path string) string {
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// ours returns the mount points of our trees in the text of a mountinfo file:
// all of them for root, else those that the user has mounted.
func ours(mountinfo string, uid int) []string {
	var points []string
	for line := range strings.Lines(mountinfo) {
		left, right, found := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !found || len(l) < 5 || len(r) < 3 {
			continue
		}
		mine := uid == 0 || slices.Contains(strings.Split(r[2], ","), fmt.Sprintf("user_id=%d", uid))
		if mine && (r[0] == "fuse.sandboxfs" || r[0] == "fuse" && r[1] == "sandboxfs") {
			points = append(points, strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(l[4]))
		}
	}
	return points
}

// tryStatfs asks a mount for its numbers, which a dead or stuck one does not
// give.
func tryStatfs(args []string) answer {
	var fs unix.Statfs_t
	for _, path := range args {
		if err := unix.Statfs(path, &fs); err != nil {
			return failedProbe("statfs", err)
		}
	}
	return answer{}
}
