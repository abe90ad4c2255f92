package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
	"golang.org/x/sys/unix"
)

// maxMounts bounds how many mounts are asked, each within a probe's deadline.
const maxMounts = 32

func checkMounts(m *machine) Finding {
	table, err := mountinfo.Read()
	if err != nil {
		return warn("the list of mounts cannot be read: "+err.Error(), "dead mounts are not found", "")
	}
	points := ours(table, m.UID)
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

// ours returns the mount points of our trees: all of them for root, else those
// that the user has mounted.
func ours(table mountinfo.Table, uid int) []string {
	var points []string
	for _, m := range table {
		maker, _ := m.Option("user_id")
		mine := uid == 0 || maker == strconv.Itoa(uid)
		if mine && (m.Type == "fuse.sandboxfs" || m.Type == "fuse" && m.Source == "sandboxfs") {
			points = append(points, m.Point)
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
