package fs

import (
	"fmt"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Opens says who handles open(2) and opendir(3).
type Opens int

const (
	// OpensAsked lets the client's kernel ask the server at each.
	OpensAsked Opens = iota
	// OpensUnasked lets the client's kernel open by itself, after which reading
	// a file or a directory that it knows is as fast as in a plain one. It
	// wants a mount whose superblock is read-only ([MountOptions].Access), and
	// every region is read-only whatever the view says. There is no
	// passthrough, and the server does not know what is open (unasked.go).
	OpensUnasked
)

// String returns "asked" or "unasked".
func (o Opens) String() string {
	if o == OpensUnasked {
		return "unasked"
	}
	return "asked"
}

// unaskedCapabilities are what OpensUnasked needs of the kernel. The last one
// makes the kernel drop a file's pages and a directory's names when it learns
// of another time of change, since there is no open to do that.
const unaskedCapabilities = fuse.CAP_NO_OPEN_SUPPORT | fuse.CAP_NO_OPENDIR_SUPPORT | fuse.CAP_AUTO_INVAL_DATA

func (t *Tree) unasked() bool { return t.opts.Opens == OpensUnasked }

// checkOpens makes sure that the kernel can do what Options.Opens asks for.
func (t *Tree) checkOpens(settled uint64) error {
	if missing := uint64(unaskedCapabilities) &^ settled; t.unasked() && missing != 0 {
		return fmt.Errorf("fs: this kernel cannot open files by itself (capabilities %#x are missing): %w; use Linux 6.1 or newer", missing, unix.ENOTSUP)
	}
	return nil
}

// Flush answers the first close(2), and the kernel never asks again: there is
// nothing to flush, since every write has reached the host when it returns. Without
// [OpensUnasked] it does not ask at all, since opens answer FOPEN_NOFLUSH.
func (r *raw) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.ENOSYS }

// declineOpen answers the first OPEN and the first OPENDIR: the kernel never
// asks again.
func declineOpen(flags uint32) fuse.Status {
	if changes(flags) {
		return fuse.EROFS
	}
	return fuse.ENOSYS
}
