package keeper

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/exec/jail"
	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// GuestSpec is what the keeper tells the guest, through the jail.
type GuestSpec struct {
	Identity    provider.Info `json:"identity"`
	IdleSeconds int           `json:"idle_seconds"`
}

// insideUID is the uid and gid that a command of an isolated sandbox sees.
const insideUID = 1000

// identity says who a sandbox is, on the host and in its tree.
type identity struct {
	tier              jail.Tier
	host, hostGroup   uint32 // whom the inside uid is on the host
	shown, shownGroup uint32 // whom the tree names as owner, in the mounting namespace's numbers
}

// identity decides the sandbox's uids. Root's tree is mounted in the host's
// user namespace and shows the host's number; a user's is mounted inside the
// sandbox's own and shows the number there. Root's sandbox gets a uid of
// nobody's: with uid 0 a private /proc would let it write the host's sysctls.
func (k *keeper) identity(spec Spec) (identity, error) {
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	switch {
	case spec.Tier == "host":
		return identity{jail.Host, uid, gid, uid, gid}, nil
	case uid != 0:
		return identity{jail.Isolated, uid, gid, insideUID, insideUID}, nil
	}
	claimed, f, err := k.dir.ClaimUID()
	if err != nil {
		return identity{}, err
	}
	k.uid = f
	return identity{jail.Isolated, claimed, claimed, claimed, claimed}, nil
}

// openRoots opens the host directory of every region, and makes those of the
// thread's that are missing.
func openRoots(spec Spec, table *mapping.Table) (_ map[string]*os.File, err error) {
	roots := map[string]*os.File{}
	defer func() {
		if err != nil {
			for _, f := range roots {
				f.Close()
			}
		}
	}()
	home, err := hostpath.Open(spec.Home)
	if err != nil {
		return nil, unopened("the data directory", err)
	}
	defer home.Close()
	for _, r := range table.Regions() {
		var dir *os.File
		if rel, ok := strings.CutPrefix(r.Host, spec.Home+"/"); ok {
			dir, err = hostpath.MakeDirs(home, 0o755, strings.Split(rel, "/")...)
		} else {
			dir, err = hostpath.Open(r.Host)
		}
		if err != nil {
			return nil, unopened("the directory behind "+r.Virtual, err)
		}
		roots[r.Virtual] = dir
	}
	return roots, nil
}

func unopened(what string, err error) error {
	return &provider.Error{Kind: provider.Unavailable, Reason: fmt.Sprintf("%s cannot be opened: %s", what, errText(err)),
		Next: "check SANDBOXFS_HOME and its permissions", Err: err}
}

func topDirs(table *mapping.Table) []string {
	var dirs []string
	for _, name := range table.Children("/") {
		dirs = append(dirs, "/"+name)
	}
	return dirs
}

// readOnly lists the regions that the jail makes read-only mounts too, outer
// ones first.
func readOnly(table *mapping.Table) []string {
	var paths []string
	for _, r := range table.Regions() {
		if r.Access(mapping.AgentView) == mapping.ReadOnly {
			paths = append(paths, r.Virtual)
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return len(path.Clean(a)) - len(path.Clean(b)) })
	return paths
}

func netOf(name string) jail.Net {
	if name == "none" {
		return jail.NetNone
	}
	return jail.NetHost
}

// closeForeign closes the descriptors that whoever started the keeper forgot
// to keep to himself: a pipe among them would never end for its reader. What
// the Go runtime opened before main (its poller, its cgroup's CPU limit)
// stays.
func closeForeign() {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return
	}
	for _, name := range names {
		var fd int
		if _, err := fmt.Sscan(name, &fd); err != nil || fd <= reportFD || fd == int(dir.Fd()) {
			continue
		}
		target, _ := os.Readlink("/proc/self/fd/" + name)
		if strings.HasPrefix(target, "anon_inode:[event") || strings.HasPrefix(target, "/sys/fs/cgroup/") || strings.HasPrefix(target, "/proc/") {
			continue
		}
		unix.Close(fd)
	}
	unix.CloseOnExec(reportFD)
}
