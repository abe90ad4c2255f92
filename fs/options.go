package fs

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// CacheTime is how long the client's kernel may use a name, the absence of a
// name, or attributes without asking again where nothing tells of a change
// made on the host.
const CacheTime = time.Second

// LeaseTime is the same where the tree watches the host (watch.go) and takes
// back what has changed, well within [CacheTime]. It bounds how long a change
// of which the host's kernel makes no event stays unseen, and for how long
// after the last use a tree keeps its inotify instance.
const LeaseTime = 30 * time.Second

// Ownership says whose files the tree shows.
type Ownership int

const (
	// Owner shows everything as Options.UID and GID, whatever the host says.
	// Files on disk belong to the serving process. Device nodes, chown to
	// anybody else, and set-user-id and set-group-id bits are not possible.
	Owner Ownership = iota
	// Preserve shows and stores owners and modes as they are on the host. It
	// needs root, and a mount with default_permissions: the client's kernel
	// checks permissions, the server none.
	Preserve
)

// String returns "owner" or "preserve".
func (o Ownership) String() string {
	if o == Preserve {
		return "preserve"
	}
	return "owner"
}

// Passthrough says whether reads and writes may bypass the server.
type Passthrough int

const (
	// PassthroughAuto uses it for each file for which the kernel allows it
	// (Linux 6.9 and CAP_SYS_ADMIN), else serves READ and WRITE requests.
	PassthroughAuto Passthrough = iota
	// PassthroughOff never uses it, as a tree with a quota must.
	PassthroughOff
)

// Options describe a tree. They are read once, by [New].
type Options struct {
	// Table maps virtual directories to regions.
	Table *mapping.Table
	// Roots holds, for each region's virtual path, its open host directory;
	// O_PATH is enough. New duplicates them: the caller may close its own.
	Roots map[string]*os.File
	// View picks the access of each region.
	View mapping.View
	// Ownership is Owner unless set.
	Ownership Ownership
	// UID and GID are the owner shown in mode Owner and for the directories
	// that exist only in the table. They are numbers of the user namespace
	// that mounts.
	UID, GID uint32
	// MaxDescriptors bounds the descriptors that the tree keeps open for
	// known inodes and open files together; 0 derives it from RLIMIT_NOFILE.
	// Open files may exceed it, up to the limit of the process.
	MaxDescriptors int
	// Passthrough is PassthroughAuto unless set.
	Passthrough Passthrough
	// Opens is OpensAsked unless set.
	Opens Opens
	// Quota bounds the regions named in Charged; nil bounds nothing. The tree
	// serves them without passthrough where they are writable. Its owner
	// closes it, after the tree's server has ended.
	Quota Quota
	// Charged are the virtual paths of the regions that Quota counts.
	Charged []string
	// Log receives what goes wrong inside; nil discards it.
	Log logrus.FieldLogger
}

func (o *Options) check() error {
	if o.Table == nil {
		return errors.New("fs: Options.Table is nil; give the table of the thread's regions")
	}
	for _, r := range o.Table.Regions() {
		if o.Roots[r.Virtual] == nil {
			return fmt.Errorf("fs: no open directory is given for %s; put one into Options.Roots", r.Virtual)
		}
	}
	for _, virtual := range o.Charged {
		if o.Quota == nil || o.Roots[virtual] == nil {
			return fmt.Errorf("fs: %s is to be charged, but there is no such region or no Options.Quota", virtual)
		}
	}
	if o.Ownership == Preserve && os.Geteuid() != 0 {
		return errors.New("fs: ownership \"preserve\" needs root; use \"owner\"")
	}
	if o.MaxDescriptors < 0 || o.MaxDescriptors > 0 && o.MaxDescriptors < minDescriptors {
		return fmt.Errorf("fs: MaxDescriptors is %d; give 0 or at least %d", o.MaxDescriptors, minDescriptors)
	}
	return checkUmask()
}
