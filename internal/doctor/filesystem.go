package doctor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// trust says what can be relied on with a kind of file system.
type trust int

const (
	unknown trust = iota
	onDisk
	network
	vanishes // it is memory
)

// kind is a kind of file system.
type kind struct {
	name  string
	trust trust
}

// kinds are the file systems that are known, by their number.
var kinds = map[uint32]kind{
	unix.EXT4_SUPER_MAGIC: {"ext4", onDisk}, unix.XFS_SUPER_MAGIC: {"xfs", onDisk},
	unix.BTRFS_SUPER_MAGIC: {"btrfs", onDisk}, unix.F2FS_SUPER_MAGIC: {"f2fs", onDisk},
	unix.OVERLAYFS_SUPER_MAGIC: {"overlay", onDisk}, zfsMagic: {"zfs", onDisk}, bcachefsMagic: {"bcachefs", onDisk},

	unix.TMPFS_MAGIC: {"tmpfs", vanishes}, unix.RAMFS_MAGIC: {"ramfs", vanishes},

	unix.NFS_SUPER_MAGIC: {"nfs", network}, unix.CEPH_SUPER_MAGIC: {"ceph", network},
	unix.SMB_SUPER_MAGIC: {"smb", network}, unix.CIFS_SUPER_MAGIC: {"smb", network}, unix.SMB2_SUPER_MAGIC: {"smb", network},
	unix.AFS_SUPER_MAGIC: {"afs", network}, unix.AFS_FS_MAGIC: {"afs", network}, unix.CODA_SUPER_MAGIC: {"coda", network},
	unix.OCFS2_SUPER_MAGIC: {"ocfs2", network}, unix.V9FS_MAGIC: {"9p", network},
	lustreMagic: {"lustre", network}, gfs2Magic: {"gfs2", network},

	unix.FUSE_SUPER_MAGIC: {"fuse", unknown},
}

// kindOf names a file system by the number that statfs(2) gives.
func kindOf(magic int64) kind {
	if k, ok := kinds[uint32(magic)]; ok {
		return k
	}
	return kind{fmt.Sprintf("a file system of the unknown kind %#x", uint32(magic)), unknown}
}

// Numbers that golang.org/x/sys has no name for.
const (
	zfsMagic      = 0x2fc12fc1
	bcachefsMagic = 0xca451a4e
	lustreMagic   = 0x0bd00bd0
	gfs2Magic     = 0x01161970
)
