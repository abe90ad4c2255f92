// Package fs is the filesystem of one thread: a FUSE tree served from a
// [mapping.Table], whose root is the sandbox's "/".
//
// It has its own loop on the fuse device and its own table of inodes, on
// go-fuse's structures and raw interface. A file is known by domain, device
// and inode number, never by a path. Every operation is one path component
// relative to a descriptor that the tree holds, and no symbolic link is ever
// followed here: a link is text that the reader's own kernel resolves in the
// reader's own namespace. So "..", an absolute link or a directory that
// somebody swaps on the host cannot lead out of a region.
//
// What it must never do:
//   - build a host path from a virtual one, or open a path with more than one
//     component;
//   - let a write reach a read-only region; each handler asks the node, not
//     the name, before it acts;
//   - touch a path below a mount that its own process serves (deadlock);
//   - reuse a node number, or give two answers about passthrough for one
//     inode while it is open (package invariants in passthrough.go);
//   - write a notice to the kernel while it holds a lock or owes a reply.
//
// # Semantics beside those of a plain directory
//
// A change made on the host is seen within [CacheTime], and a change of which
// the host's kernel makes no event within [LeaseTime]: until then a lookup
// below a directory that the host has replaced may still find the old one's
// names, or miss the new one's. What is opened, made, changed or removed by a
// path is never in a file or directory that has lost its name to the host
// (stale.go); what somebody holds, such as a working directory, goes on
// working under its new name. Exceptions: a socket made by bind(2), which the
// kernel does not start again, may end up in the directory that was there
// before; chmod(2) by path of a file that the host has just replaced and that
// somebody has open changes the old one; and an unprivileged server that must
// close a directory's descriptor for want of others cannot find it again
// after a rename on the host.
//
// A working directory that the host moves into a read-only region answers
// EROFS to writes, one moved out of every region ESTALE; both can be read. A
// file that is open for writing stays so wherever the host moves it.
//
// A shared mapping of a file that the host changes is fresh only with
// passthrough, or with [OpensUnasked] once a client asks for the file's
// attributes. Without passthrough, a page that a mapping reads in the very
// moment in which another process writes it, through a descriptor that only
// writes and with which it has just made or emptied the file, may be the older
// one until somebody asks for the file's attributes.
//
// Extended attributes answer "not supported" in every mode: that
// saves a request per write, and leaves clearing set-user-id bits on write
// with the client's kernel, which does it correctly. Locks stay in the
// client's kernel: they hold between the processes of one mount. close(2)
// reports no write error, because write(2) already did. Appending writes are
// atomic up to one request (1 MiB without passthrough).
//
// # Where to read next
//
// [Options] and [New], then [Tree.Serve]; loop.go, reader.go and requests.go
// are the way of a request from the device to its handler and back; hooks.go
// lists every kernel request with those left out; table.go and descriptor.go
// hold the inode table; lookup.go shows the shape of a handler; lease.go,
// watch.go and compare.go decide what the client's kernel may keep.
package fs
