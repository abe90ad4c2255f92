package file

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// Write puts size bytes from r into a file and makes its parents. Replacing
// is atomic, by a temporary file in the same directory, synchronised and
// renamed: a reader, a failure or a crash sees the old content or the new.
// The permission bits of an existing file are kept; hard links to it keep the
// old content. Appending uses O_APPEND; when it fails half way, what it added
// is taken back. Kinds: as [provider.Sandbox.WriteFile] says.
func (f *Files) Write(ctx context.Context, p string, r io.Reader, size int64, mode provider.WriteMode) error {
	const op = "write file"
	if size > provider.MaxWriteFile {
		return refuse(provider.TooLarge, op, p, "the content is more than 64 MiB", "write it in parts by appending, or make it by a command")
	}
	t, err := locate(op, p)
	if err != nil {
		return err
	}
	defer t.close()
	// The content comes over a connection: take it before the lock, so that
	// a slow sender holds up nobody.
	if mode == provider.Append {
		content := make([]byte, size)
		if _, err := io.ReadFull(r, content); err != nil {
			return brokenOff(op, p, err)
		}
		unlock, err := f.lock(t.dir, t.name)
		if err != nil {
			return fail(op, p, err)
		}
		defer unlock()
		return appendTo(op, p, t, content)
	}
	if err := checkReplaceable(op, p, t); err != nil {
		return err
	}
	tmp, err := newTemp(t)
	if err != nil {
		return fail(op, p, err)
	}
	defer tmp.discard()
	if err := tmp.fill(ctx, r, size); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return brokenOff(op, p, err)
		}
		return fail(op, p, err)
	}
	unlock, err := f.lock(t.dir, t.name)
	if err != nil {
		return fail(op, p, err)
	}
	defer unlock()
	if err := t.refresh(); err != nil {
		return fail(op, p, err)
	}
	if err := checkReplaceable(op, p, t); err != nil {
		return err
	}
	if err := tmp.become(t); err != nil {
		return fail(op, p, err)
	}
	return nil
}

func brokenOff(op, p string, err error) error {
	return &provider.Error{Kind: provider.Invalid, Op: op, Path: p, Reason: "the content broke off before its announced end; the file is as it was before", Next: "send it again", Err: err}
}

// checkReplaceable refuses what an open for writing would refuse, since a
// rename alone does not ask the file's own permission.
func checkReplaceable(op, p string, t *target) error {
	if t.old == nil {
		return nil
	}
	if err := wantRegular(op, p, t.old.Mode); err != nil {
		return err
	}
	if err := unix.Faccessat2(t.dir, t.name, unix.W_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW); err != nil && !errors.Is(err, unix.ENOSYS) {
		return fail(op, p, err)
	}
	return nil
}

// temp is a new file beside the one that it shall replace.
type temp struct {
	dir  int
	name string // "" once renamed or removed
	fd   int    // -1 once closed
}

// tempPrefix and tempSuffix enclose the name of a temporary file, so that it
// can be told from the user's.
const (
	tempPrefix = ".sandboxfs-"
	tempSuffix = ".tmp"
)

func newTemp(t *target) (*temp, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	name := tempPrefix + hex.EncodeToString(random[:]) + tempSuffix
	fd, err := openResolve(t.dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o666, unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return nil, err
	}
	return &temp{dir: t.dir, name: name, fd: fd}, nil
}

// fill writes exactly size bytes.
func (t *temp) fill(ctx context.Context, r io.Reader, size int64) error {
	buf := make([]byte, min(size, readBlock))
	for size > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(r, buf[:min(int64(len(buf)), size)])
		if err != nil {
			return err
		}
		if err := writeAll(t.fd, buf[:n]); err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}

// become takes the target's place: its permission bits and, where that is
// allowed, its owner; then the disk; then the name.
func (t *temp) become(dst *target) error {
	if old := dst.old; old != nil {
		var st unix.Stat_t
		if err := unix.Fstat(t.fd, &st); err != nil {
			return err
		}
		if st.Uid != old.Uid || st.Gid != old.Gid {
			// Only root may; for others a replaced file becomes theirs.
			_ = unix.Fchown(t.fd, int(old.Uid), int(old.Gid))
		}
		if st.Mode&0o7777 != old.Mode&0o777 {
			if err := unix.Fchmod(t.fd, old.Mode&0o777); err != nil {
				return err
			}
		}
	}
	// Without this a crash of the machine could leave the new name with no
	// content. File systems that cannot synchronise say EINVAL or ENOSYS.
	if err := unix.Fdatasync(t.fd); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	fd := t.fd
	t.fd = -1
	if err := unix.Close(fd); err != nil && !errors.Is(err, unix.EINTR) {
		return err // a network file system reports a full disk here
	}
	if err := unix.Renameat(t.dir, t.name, dst.dir, dst.name); err != nil {
		return err
	}
	t.name = ""
	return nil
}

// discard removes the file unless it took its place.
func (t *temp) discard() {
	if t.fd >= 0 {
		unix.Close(t.fd)
		t.fd = -1
	}
	if t.name != "" {
		unix.Unlinkat(t.dir, t.name, 0)
		t.name = ""
	}
}

// appendTo adds content at the end of a file, which need not exist.
func appendTo(op, p string, t *target, content []byte) error {
	if err := t.refresh(); err != nil {
		return fail(op, p, err)
	}
	if t.old != nil {
		if err := wantRegular(op, p, t.old.Mode); err != nil {
			return err
		}
	}
	fd, made, err := openAppend(t)
	if err != nil {
		return fail(op, p, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail(op, p, err)
	}
	if err := wantRegular(op, p, st.Mode); err != nil {
		return err
	}
	if err := writeAll(fd, content); err != nil {
		takeBack(fd, st.Size, int64(len(content)))
		if made {
			removeEmpty(fd, t)
		}
		return fail(op, p, err)
	}
	return nil
}

// openAppend opens a target for appending and says whether it made it.
// O_NONBLOCK keeps a FIFO, which a command may put there now, from stopping
// us.
func openAppend(t *target) (fd int, made bool, err error) {
	const flags = unix.O_WRONLY | unix.O_APPEND | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY
	if t.old == nil {
		fd, err = openResolve(t.dir, t.name, flags|unix.O_CREAT|unix.O_EXCL, 0o666, unix.RESOLVE_NO_MAGICLINKS)
		if !errors.Is(err, unix.EEXIST) {
			return fd, err == nil, err
		}
	}
	fd, err = openResolve(t.dir, t.name, flags|unix.O_CREAT, 0o666, unix.RESOLVE_NO_MAGICLINKS)
	return fd, false, err
}

// takeBack undoes a half append, unless somebody else wrote meanwhile: then
// more is there than we can have added, and it stays.
func takeBack(fd int, before, most int64) {
	var now unix.Stat_t
	if unix.Fstat(fd, &now) == nil && now.Size > before && now.Size-before <= most {
		_ = unix.Ftruncate(fd, before)
	}
}

// removeEmpty removes a file that an append made and could not fill.
func removeEmpty(fd int, t *target) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Size == 0 {
		unix.Unlinkat(t.dir, t.name, 0)
	}
}

func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
