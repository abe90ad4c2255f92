package fs

import "github.com/hanwen/go-fuse/v2/fuse"

// raw is what go-fuse calls: the tree's handlers, one per kernel request. It
// is apart from Tree so that they are not part of the package's interface.
//
// Handlers run concurrently, ignore interruption (each is a few system calls
// on a local filesystem, and a request that has reached the server is waited
// for by the kernel anyway), and pass the host's error number on unchanged.
type raw struct {
	fuse.RawFileSystem // answers ENOSYS to the rest
	*Tree
}

// The requests that the tree answers. A go-fuse release that renames or
// changes one breaks the build here and not at run time.
var _ interface {
	Lookup(<-chan struct{}, *fuse.InHeader, string, *fuse.EntryOut) fuse.Status
	Forget(nodeid, nlookup uint64)
	GetAttr(<-chan struct{}, *fuse.GetAttrIn, *fuse.AttrOut) fuse.Status
	SetAttr(<-chan struct{}, *fuse.SetAttrIn, *fuse.AttrOut) fuse.Status
	Access(<-chan struct{}, *fuse.AccessIn) fuse.Status
	StatFs(<-chan struct{}, *fuse.InHeader, *fuse.StatfsOut) fuse.Status

	Create(<-chan struct{}, *fuse.CreateIn, string, *fuse.CreateOut) fuse.Status
	Tmpfile(<-chan struct{}, *fuse.CreateIn, *fuse.CreateOut) fuse.Status
	Mknod(<-chan struct{}, *fuse.MknodIn, string, *fuse.EntryOut) fuse.Status
	Mkdir(<-chan struct{}, *fuse.MkdirIn, string, *fuse.EntryOut) fuse.Status
	Symlink(<-chan struct{}, *fuse.InHeader, string, string, *fuse.EntryOut) fuse.Status
	Readlink(<-chan struct{}, *fuse.InHeader) ([]byte, fuse.Status)
	Link(<-chan struct{}, *fuse.LinkIn, string, *fuse.EntryOut) fuse.Status
	Unlink(<-chan struct{}, *fuse.InHeader, string) fuse.Status
	Rmdir(<-chan struct{}, *fuse.InHeader, string) fuse.Status
	Rename(<-chan struct{}, *fuse.RenameIn, string, string) fuse.Status

	Open(<-chan struct{}, *fuse.OpenIn, *fuse.OpenOut) fuse.Status
	Read(<-chan struct{}, *fuse.ReadIn, []byte) (fuse.ReadResult, fuse.Status)
	Write(<-chan struct{}, *fuse.WriteIn, []byte) (uint32, fuse.Status)
	Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status
	Release(<-chan struct{}, *fuse.ReleaseIn)
	Fsync(<-chan struct{}, *fuse.FsyncIn) fuse.Status
	Fallocate(<-chan struct{}, *fuse.FallocateIn) fuse.Status
	Lseek(<-chan struct{}, *fuse.LseekIn, *fuse.LseekOut) fuse.Status
	CopyFileRange(<-chan struct{}, *fuse.CopyFileRangeIn) (uint32, fuse.Status)

	OpenDir(<-chan struct{}, *fuse.OpenIn, *fuse.OpenOut) fuse.Status
	ReadDir(<-chan struct{}, *fuse.ReadIn, *fuse.DirEntryList) fuse.Status
	ReadDirPlus(<-chan struct{}, *fuse.ReadIn, *fuse.DirEntryList) fuse.Status
	ReleaseDir(*fuse.ReleaseIn)
	FsyncDir(<-chan struct{}, *fuse.FsyncIn) fuse.Status

	SetXAttr(<-chan struct{}, *fuse.SetXAttrIn, string, []byte) fuse.Status
	RemoveXAttr(<-chan struct{}, *fuse.InHeader, string) fuse.Status
} = (*raw)(nil)

// Left out on purpose:
//
//	GetXAttr, ListXAttr
//	                  extended attributes are not supported (see xattr.go)
//	GetLk, SetLk, SetLkw
//	                  the kernel keeps locks itself when the server does not
//	                  ask for them; forwarding them can deadlock the server
//	Ioctl             ENOTTY for everything: flags and attributes of the host
//	                  filesystem are the operator's
//	Statx             the kernel falls back to GETATTR; only the birth time,
//	                  which nothing needs, is lost
//	Poll, Bmap        regular files are always ready; there is no device
//	Writev            one buffer per request on /dev/fuse
//	DAX mappings, SyncFS
//	                  virtiofs only

// String names the filesystem; go-fuse asks for it.
func (r *raw) String() string { return "sandboxfs" }
