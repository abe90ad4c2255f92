package provider

import (
	"context"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// The values of HostMountOptions.View, its default first.
const (
	// ViewOperator can write uploads and acp-workspace too.
	ViewOperator = "operator"
	// ViewAgent is what a command sees.
	ViewAgent = "agent"
)

// HostMounter is a provider that can show a thread's tree at a directory of
// the host.
type HostMounter interface {
	// MountAt returns when the tree is mounted; the mount outlives the caller.
	// Directories of the thread that are missing are made. Where the same is
	// mounted there already it says so in HostMount.Already. Kinds: invalid
	// (not a directory, or one that must not be mounted at), not found, not
	// empty, conflict (another mount is there), denied, unavailable.
	MountAt(ctx context.Context, key mapping.Key, o HostMountOptions) (HostMount, error)
}

// HostMountLister is a provider that can list its mounts of this data
// directory, dead ones too, by mount point.
type HostMountLister interface {
	HostMounts(ctx context.Context) ([]HostMount, error)
}

// HostUnmounter is a provider that can end a mount that it made.
type HostUnmounter interface {
	// UnmountAt returns when the server of the mount has ended. With
	// UnmountLazy it only takes the mount out of sight; the server ends with
	// its last user. Kinds: not found (nothing of ours is mounted there),
	// conflict (it is in use), denied, unavailable.
	UnmountAt(ctx context.Context, point string, how UnmountMode) error
}

// UnmountMode says what becomes of a mount that is in use.
type UnmountMode string

// The modes.
const (
	// UnmountIdle refuses to unmount what is in use.
	UnmountIdle UnmountMode = "idle"
	// UnmountLazy takes it out of sight at once.
	UnmountLazy UnmountMode = "lazy"
)

// HostMountOptions say where and how to mount.
type HostMountOptions struct {
	// Point is an existing, empty directory.
	Point string
	// View is "operator" (default) or "agent".
	View string
	// Ownership is "owner" (default) or, for root, "preserve".
	Ownership string
	// AllowOther lets other users of the host use the mount, as far as the
	// shown owner and modes allow. For an ordinary user /etc/fuse.conf must
	// permit it.
	AllowOther bool
}

// HostMount describes a mount of a thread's tree on the host.
type HostMount struct {
	Point    string `json:"mountpoint"`
	Thread   string `json:"thread"`
	User     string `json:"user"`
	Provider string `json:"provider"`
	// View and Ownership are as in HostMountOptions.
	View      string `json:"view"`
	Ownership string `json:"ownership"`
	// Audience is "mounter", "everybody" or "container".
	Audience string `json:"audience"`
	// State is "mounted", "starting", "detached" (unmounted, and in use) or
	// "dead": its server was killed, and gc or the next mount removes it.
	State string `json:"state"`
	// PID is the server's, 0 where it is dead.
	PID int `json:"pid"`
	// Created is in RFC 3339 with a zone.
	Created string `json:"created"`
	// NewThread says that the thread had no directories before, Already that
	// the same was mounted there before the call.
	NewThread bool `json:"new_thread,omitempty"`
	Already   bool `json:"already,omitempty"`
}

// ThreadKey is the thread's key as text, as in messages.
func (m HostMount) ThreadKey() string { return mapping.Key{User: m.User, Thread: m.Thread}.String() }
