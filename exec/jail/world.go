package jail

import (
	"os"

	"golang.org/x/sys/unix"
)

// newWorld says what the guest is to build for a checked spec.
func newWorld(s Spec) *world {
	w := &world{
		Tier: s.Tier, Net: s.Net, Hostname: s.Hostname, Home: s.Home,
		TreeDirs: s.TreeDirs, Mounts: s.Mounts, ReadOnly: s.ReadOnly,
		TmpBytes: s.TmpBytes, Extra: s.Extra,
		MountInside: !mayMount(),
		UID:         InsideUID, GID: InsideGID,
		OwnUserNS: true,
		Isolation: map[string]string{"tier": string(s.Tier), "net": string(s.Net)},
	}
	if s.Tier == Host {
		w.UID, w.GID = uint32(os.Geteuid()), uint32(os.Getegid())
		w.OwnUserNS = w.MountInside
	}
	w.Isolation["userns"] = "own"
	if !w.OwnUserNS {
		w.Isolation["userns"] = "host's"
	}
	if len(s.ReadOnly) > 0 {
		w.Isolation[isolationReadOnly] = "a file system of its own"
		w.Second = s.ServeReadOnly != nil
		if !w.Second {
			w.Isolation[isolationReadOnly] = bound
		}
	}
	w.Isolation["fuse"] = "mounted outside, attached inside"
	if w.MountInside {
		w.Isolation["fuse"] = "mounted inside"
	}
	return w
}

// isolationReadOnly is the key for how the paths of Spec.ReadOnly are mounted.
const (
	isolationReadOnly = "read_only"
	bound             = "bound from the tree"
)

// noSecond does without the second mount.
func (w *world) noSecond(why error) {
	w.Second = false
	w.Isolation[isolationReadOnly] = bound + ": " + why.Error()
}

// TreeOwner returns the ids that the tree must show as everybody's owner for
// a sandbox of this spec started by this process. Numbers in FUSE messages are
// those of the user namespace that mounts: the host's when we may mount
// outside, the sandbox's when it is mounted inside.
func TreeOwner(s Spec) (uid, gid uint32) {
	switch {
	case s.Tier == Host:
		return uint32(os.Geteuid()), uint32(os.Getegid())
	case mayMount():
		return s.HostUID, s.HostGID
	}
	return InsideUID, InsideGID
}

// mayMount reports whether this process may mount outside the sandbox.
func mayMount() bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}
