package mounter

import (
	"os"
	"strconv"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
	"github.com/sandboxfs/sandboxfs/internal/regions"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Audience says who may use a mount.
type Audience string

// The audiences.
const (
	// MounterOnly shuts out every other user, root too.
	MounterOnly Audience = "mounter"
	// Everybody may, as far as the shown owner and modes allow.
	Everybody Audience = "everybody"
	// Container lets every user do what the regions allow. It is for a mount
	// below a directory that only the mounter can search, which a container
	// is given. Root only.
	Container Audience = "container"
)

// Spec is all that a mount's server needs to know. It travels as JSON on its
// standard input.
type Spec struct {
	// RuntimeDir and Name find the mount's runtime directory; [Mount] fills
	// Name in.
	RuntimeDir string `json:"runtime_dir"`
	Name       string `json:"name"`
	// Source says which directories the tree shows.
	regions.Source
	// Point is the directory to mount at; [Mount] makes it a real path.
	Point string `json:"point"`
	// View is provider.ViewOperator or ViewAgent, Ownership as in
	// provider.LocalConfig.
	View      string `json:"view"`
	Ownership string `json:"ownership"`
	// UID and GID are the owner that the tree shows.
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
	// Audience is MounterOnly where it is empty.
	Audience Audience `json:"audience"`
	// Quota bounds what the thread may hold.
	Quota provider.QuotaConfig `json:"quota"`
}

// Record is what the runtime directory says of a mount.
type Record struct {
	User     string `json:"user"`
	Thread   string `json:"thread"`
	Provider string `json:"provider"`
	// Home is the real path of the data directory.
	Home string `json:"home"`
	// Namespace is the mount namespace of Point, which is where the server
	// mounted it first.
	Namespace string `json:"namespace"`
	Point     string `json:"point"`
	// Device is "major:minor" of the filesystem and MountID the mount's number
	// in Namespace (proc(5), mountinfo); empty while it is made. Both are given
	// to another mount when this one is gone.
	Device    string   `json:"device"`
	MountID   string   `json:"mount_id"`
	View      string   `json:"view"`
	Ownership string   `json:"ownership"`
	Audience  Audience `json:"audience"`
	// Created is in RFC 3339 with a zone.
	Created string `json:"created"`
}

// info is what a caller is told, in a state of its own.
func (r Record) info(state string) provider.HostMount {
	return provider.HostMount{
		Point: r.Point, Thread: r.Thread, User: r.User, Provider: r.Provider, View: r.View,
		Ownership: r.Ownership, Audience: string(r.Audience), State: state, Created: r.Created,
	}
}

// isTree reports whether a mount is one of ours, whoever made it.
func isTree(m mountinfo.Mount) bool { return m.Type == "fuse.sandboxfs" }

// isOurs reports whether a mount was made by this user.
func isOurs(m mountinfo.Mount, uid int) bool {
	id, _ := m.Option("user_id")
	return isTree(m) && id == strconv.Itoa(uid)
}

// is reports whether a mount is the recorded one, or one that was given its
// numbers after it was gone.
func (r Record) is(m mountinfo.Mount) bool {
	if r.Device == "" { // its server was killed while it mounted
		return m.Point == r.Point && isOurs(m, os.Geteuid())
	}
	return isTree(m) && m.Device == r.Device && m.ID == r.MountID
}

// find looks the recorded mount up, which can be at another path by now, where
// a directory above it was renamed. It may find one that has its numbers.
func (r Record) find(t mountinfo.Table) (mountinfo.Mount, bool) {
	for i := len(t) - 1; i >= 0; i-- {
		if r.is(t[i]) {
			return t[i], true
		}
	}
	return mountinfo.Mount{}, false
}
