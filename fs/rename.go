package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Rename answers rename(2) and renameat2(2). The flags RENAME_NOREPLACE and
// RENAME_EXCHANGE are the host filesystem's to grant.
func (r *raw) Rename(_ <-chan struct{}, in *fuse.RenameIn, oldName, newName string) fuse.Status {
	if in.Flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return fuse.EINVAL
	}
	return fuse.Status(r.rename(in, oldName, newName))
}

func (t *Tree) rename(in *fuse.RenameIn, oldName, newName string) unix.Errno {
	from, e := t.node(in.NodeId)
	if e != 0 {
		return e
	}
	to, e := t.node(in.Newdir)
	if e != 0 {
		return e
	}
	if e := t.changeName(from, oldName); e != 0 {
		return e
	}
	if e := t.changeName(to, newName); e != 0 {
		return e
	}
	if from.domain != to.domain {
		return unix.EXDEV
	}
	fromDir, e := t.acquireFor(in.Pid, from, to)
	if e != 0 {
		return e
	}
	defer t.release(from)
	toDir, e := t.acquireFor(in.Pid, to, from)
	if e != 0 {
		return e
	}
	defer t.release(to)
	if e := t.check(in.Pid, writes, from, to); e != 0 {
		return e
	}
	l := t.watcher.leaseNames(to, toDir)
	back := t.watcher.leaseNames(from, fromDir)
	victim := t.hold(to, toDir, newName)
	e = t.whileKept(victim, func() unix.Errno {
		return t.chargeRename(to, fromDir, toDir, newName, in.Flags, func() unix.Errno {
			return retry(func() error {
				return unix.Renameat2(fromDir, oldName, toDir, newName, uint(in.Flags))
			})
		})
	})
	t.drop(victim, to, newName, e == 0)
	if e != 0 {
		return e
	}
	old, new := place{from, oldName}, place{to, newName}
	arrivals := []arrival{{new, t.sawAt(to, toDir, newName), l}}
	if in.Flags&unix.RENAME_EXCHANGE != 0 {
		arrivals = append(arrivals, arrival{old, t.sawAt(from, fromDir, oldName), back})
	}
	t.watcher.renamed(old, arrivals...)
	return 0
}

// sawAt records the new name of a node after a rename, and returns the node.
func (t *Tree) sawAt(parent *node, dir int, name string) *node {
	var st unix.Statx_t
	if statName(dir, name, &st) != 0 {
		return nil
	}
	return t.moved(parent, name, &st)
}
