package hosttree

import (
	"errors"
	"os"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/quota"
	"golang.org/x/sys/unix"
)

// Writable reports with EROFS where nothing called name may be made or replaced
// in d, and with EISDIR where name is a directory that the table makes.
func (d *Dir) Writable(name string) error {
	if err := hostpath.CheckName(name); err != nil {
		return err
	}
	if d.f == nil || d.readOnly {
		return failed("write", name, unix.EROFS)
	}
	if _, isRegion, isAbove := d.below(name); isRegion || isAbove {
		return failed("write", name, unix.EISDIR)
	}
	return nil
}

// Make opens a directory in d and makes it with perm where it is missing (the
// umask applies); made says that it did.
func (d *Dir) Make(name string, perm uint32) (child *Dir, made bool, err error) {
	for {
		child, err := d.Open(name)
		if !errors.Is(err, unix.ENOENT) {
			return child, made, err
		}
		if err := d.Writable(name); err != nil {
			return nil, false, err
		}
		switch err := d.ledger.Mkdir(d.f, name, os.FileMode(perm)); {
		case err == nil:
			made = true
		case !errors.Is(err, unix.EEXIST): // else somebody was faster
			return nil, false, err
		}
	}
}

// Create begins a file that has no name yet, with the permission bits perm
// (the umask applies). The caller commits it under a name that is
// [Dir.Writable], or discards it.
func (d *Dir) Create(perm os.FileMode) (*quota.NewFile, error) {
	if d.f == nil || d.readOnly {
		return nil, failed("write", ".", unix.EROFS)
	}
	return d.ledger.NewFile(d.f, perm)
}

// Symlink makes a symlink in d, in place of anything but a directory.
func (d *Dir) Symlink(target, name string) error {
	if err := d.Writable(name); err != nil {
		return err
	}
	return d.ledger.PutSymlink(target, d.f, name)
}

// Link makes another name in d of the file called old in from, in place of
// anything but a directory.
func (d *Dir) Link(from *Dir, old, name string) error {
	if err := d.Writable(name); err != nil {
		return err
	}
	if err := from.real("link", old); err != nil {
		return err
	}
	return d.ledger.PutLink(from.f, old, d.f, name)
}

// take takes permission bits away from d.
func (d *Dir) take(bits uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(d.f.Fd()), &st); err != nil {
		return failed("stat", ".", err)
	}
	return failed("change the mode", ".", unix.Fchmod(int(d.f.Fd()), st.Mode&0o7777&^bits))
}
