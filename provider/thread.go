package provider

import (
	"context"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// ThreadLister is a provider that can list the threads that have data, by user
// and name, whether or not their sandboxes run. Kind: unavailable.
type ThreadLister interface {
	Threads(ctx context.Context, o ThreadOptions) ([]ThreadInfo, error)
}

// ThreadOptions say what is listed.
type ThreadOptions struct {
	// User is whose threads are listed; empty means everybody's.
	User string
	// Sizes also counts what each thread holds, which reads all of its
	// directories.
	Sizes bool
}

// ThreadInfo describes a thread's data.
type ThreadInfo struct {
	Thread string `json:"thread"`
	User   string `json:"user"`
	// State is "live" where a sandbox runs, else "stopped".
	State string `json:"state"`
	// Changed is when the thread or one of its directories itself changed
	// last, in RFC 3339 with a zone; a change of a file's content, or deeper
	// down, is not seen.
	Changed string `json:"changed"`
	// Temporary says that the data goes with whoever made the thread.
	Temporary bool `json:"temporary,omitempty"`
	// Bytes is what its files take on the disk, and Files their number,
	// directories included; nil where they were not counted.
	Bytes *int64 `json:"bytes,omitempty"`
	Files *int64 `json:"files,omitempty"`
}

// Key is the thread's key.
func (i ThreadInfo) Key() mapping.Key { return mapping.Key{User: i.User, Thread: i.Thread} }

// Remover is a provider that can delete a thread: it ends its sandbox and
// deletes all of its data. For others the thread is there whole, or not at all,
// and whoever acquires it meanwhile gets a new one. Kinds: not found, conflict
// (it is busy, or mounted on the host), denied, unavailable.
type Remover interface {
	Remove(ctx context.Context, key mapping.Key, how RemoveMode) error
}

// RemoveMode says what becomes of commands that run in a thread's sandbox.
type RemoveMode string

// The modes.
const (
	// RemoveIdle refuses to delete a thread in which something runs.
	RemoveIdle RemoveMode = "idle"
	// RemoveNow ends what runs in it.
	RemoveNow RemoveMode = "now"
)

// TemporaryMaker is a provider that can make a thread whose data goes with its
// maker: where that is killed, [Collector] removes it. Kinds: denied, quota,
// unavailable.
type TemporaryMaker interface {
	MakeTemporary(ctx context.Context, user string) (TemporaryThread, error)
}

// TemporaryThread is a thread that [TemporaryMaker] made.
type TemporaryThread interface {
	// Key is the thread's; nobody else had it before.
	Key() mapping.Key
	// Remove deletes the thread, as [Remover] does with [RemoveNow].
	Remove(ctx context.Context) error
	// Keep makes it a thread like any other. One of the two must be called.
	Keep() error
}
