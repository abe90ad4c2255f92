package keeper

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/exec/cgroup"
	"github.com/sandboxfs/sandboxfs/exec/jail"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// GuestSpec is what the keeper tells the guest, through the jail.
type GuestSpec struct {
	Identity    provider.Info `json:"identity"`
	IdleSeconds int           `json:"idle_seconds"`
}

// world describes the sandbox to build. Root's sandbox gets a uid of
// nobody's: with uid 0 a private /proc would let it write the host's sysctls.
func (k *keeper) world(spec Spec, table *mapping.Table) (jail.Spec, error) {
	w := jail.Spec{
		Tier: jail.Tier(spec.Tier), Net: jail.Net(spec.Net), Name: groupName(k.dir),
		HostUID: uint32(os.Geteuid()), HostGID: uint32(os.Getegid()),
		TreeDirs: treeDirs(table, jail.Tier(spec.Tier)), Mounts: mounts(table), ReadOnly: readOnly(table),
		Limits: cgroup.Limits{Memory: memoryLimit()},
	}
	if w.Tier == jail.Host || w.HostUID != 0 {
		return w, nil
	}
	uid, f, err := k.dir.ClaimUID()
	if err != nil {
		return w, err
	}
	k.uid = f
	w.HostUID, w.HostGID = uid, uid
	return w, nil
}

// groupName is a name for the sandbox's cgroup that no other sandbox has, nor
// one of the same thread in another runtime directory or at another time.
func groupName(dir *rundir.Dir) string {
	var b [4]byte
	rand.Read(b[:])
	return dir.Name() + "-" + hex.EncodeToString(b[:])
}

// memoryLimit leaves a quarter of the machine's memory to everybody else; 0,
// no limit, where its size is not known.
func memoryLimit() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit) / 4 * 3)
}

// treeDirs lists the directories of the tree that appear in the sandbox's root.
// An isolated one has nothing else in them, so that whole top-level
// directories are shown. On the host's own root only the regions are laid over
// what is there: a mount at /srv/data must not hide the rest of /srv.
func treeDirs(table *mapping.Table, tier jail.Tier) []string {
	var dirs []string
	for _, name := range table.Children("/") {
		if tier != jail.Host || "/"+name == path.Dir(mapping.UserData) {
			dirs = append(dirs, "/"+name)
		}
	}
	if tier != jail.Host {
		return dirs
	}
	for _, r := range table.Regions() {
		_, _, nested := table.Lookup(path.Dir(r.Virtual))
		if !nested && !strings.HasPrefix(r.Virtual, path.Dir(mapping.UserData)+"/") {
			dirs = append(dirs, r.Virtual)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// mounts lists what is a mount of its own: /mnt/user-data of a thread, where
// programs look for one, and regions that are writable inside one that is not.
func mounts(table *mapping.Table) []string {
	var paths []string
	if table.IsSynthetic(mapping.UserData) {
		paths = append(paths, mapping.UserData)
	}
	for _, r := range table.Regions() {
		outer, _, nested := table.Lookup(path.Dir(r.Virtual))
		if nested && outer.Access(mapping.AgentView) == mapping.ReadOnly && r.Access(mapping.AgentView) != mapping.ReadOnly {
			paths = append(paths, r.Virtual)
		}
	}
	slices.Sort(paths)
	return paths
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
	slices.Sort(paths) // a directory sorts before what is in it
	return paths
}
