package posixsuite

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// builder makes what a case acts on. It runs as root, where the suite has
// root, and gives what it makes away.
type builder struct {
	dir string
	// to says to whom an owner's things are given on the side that is built.
	to    func(Account) Account
	names []string
	modes []uint32
	err   error
}

// in is the path of a name.
func (b *builder) in(name string) string { return b.dir + "/" + name }

// made gives a name that was just made to its owner. Its mode, which may shut
// out the builder, comes in the end.
func (b *builder) made(name string, who Account, mode uint32, err error) {
	if b.err != nil {
		return
	}
	b.names, b.modes = append(b.names, name), append(b.modes, mode)
	who = b.to(who)
	if err == nil && os.Geteuid() == 0 {
		err = unix.Lchown(b.in(name), who.UID, who.GID)
	}
	if err != nil {
		b.err = fmt.Errorf("building %q: %w", name, err)
	}
}

// noMode is the mode of what has none of its own, a symbolic link.
const noMode = ^uint32(0)

func (b *builder) file(name, content string, mode uint32) { b.fileOf(owner, name, content, mode) }

func (b *builder) fileOf(who Account, name, content string, mode uint32) {
	b.made(name, who, mode, os.WriteFile(b.in(name), []byte(content), 0o600))
}

func (b *builder) directory(name string, mode uint32) { b.directoryOf(owner, name, mode) }

func (b *builder) directoryOf(who Account, name string, mode uint32) {
	b.made(name, who, mode, unix.Mkdir(b.in(name), 0o700))
}

func (b *builder) symlink(text, name string) {
	b.made(name, owner, noMode, unix.Symlink(text, b.in(name)))
}

func (b *builder) link(old, name string) {
	if err := unix.Link(b.in(old), b.in(name)); err != nil && b.err == nil {
		b.err = err
	}
	b.names, b.modes = append(b.names, name), append(b.modes, noMode)
}

func (b *builder) node(name string, mode uint32, device int) {
	b.made(name, owner, mode&0o7777, unix.Mknod(b.in(name), mode, device))
}

// below builds what a target is in a directory that is there already.
func (b *builder) below(dir string, build func(*builder) string) string {
	sub := &builder{dir: b.in(dir), to: b.to}
	path := build(sub)
	for i, name := range sub.names {
		b.names, b.modes = append(b.names, dir+"/"+name), append(b.modes, sub.modes[i])
	}
	if b.err == nil {
		b.err = sub.err
	}
	return path
}

// finish sets the times and modes of everything, the directories' after those
// of what is in them.
func (b *builder) finish() error {
	times := []unix.Timespec{{Sec: builtAccess}, {Sec: builtModify}}
	for i := range b.names {
		name := b.names[len(b.names)-1-i]
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, b.in(name), times, unix.AT_SYMLINK_NOFOLLOW); err != nil && b.err == nil {
			b.err = err
		}
		if mode := b.modes[len(b.names)-1-i]; mode != noMode {
			if err := unix.Chmod(b.in(name), mode); err != nil && b.err == nil {
				b.err = err
			}
		}
	}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, b.dir, times, 0); err != nil && b.err == nil {
		b.err = err
	}
	return b.err
}
