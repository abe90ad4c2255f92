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

// kindOf names a file system by the number that statfs(2) gives.
func kindOf(magic int64) kind {
	switch uint32(magic) {
	case unix.EXT4_SUPER_MAGIC:
		return kind{"ext4", onDisk}
	case unix.XFS_SUPER_MAGIC:
		return kind{"xfs", onDisk}
	case unix.BTRFS_SUPER_MAGIC:
		return kind{"btrfs", onDisk}
	case unix.F2FS_SUPER_MAGIC:
		return kind{"f2fs", onDisk}
	case unix.OVERLAYFS_SUPER_MAGIC:
		return kind{"overlay", onDisk}
	case zfsMagic:
		return kind{"zfs", onDisk}
	case bcachefsMagic:
		return kind{"bcachefs", onDisk}
	case unix.TMPFS_MAGIC:
		return kind{"tmpfs", vanishes}
	case unix.RAMFS_MAGIC:
		return kind{"ramfs", vanishes}
	case unix.NFS_SUPER_MAGIC:
		return kind{"nfs", network}
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return kind{"smb", network}
	case unix.CEPH_SUPER_MAGIC:
		return kind{"ceph", network}
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return kind{"afs", network}
	case unix.CODA_SUPER_MAGIC:
		return kind{"coda", network}
	case unix.OCFS2_SUPER_MAGIC:
		return kind{"ocfs2", network}
	case unix.V9FS_MAGIC:
		return kind{"9p", network}
	case lustreMagic:
		return kind{"lustre", network}
	case gfs2Magic:
		return kind{"gfs2", network}
	case unix.FUSE_SUPER_MAGIC:
		return kind{"fuse", unknown}
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
