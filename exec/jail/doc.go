// Package jail starts pid 1 of a local sandbox in namespaces of its own and
// builds the world that it and its commands see.
//
// It has two halves in two processes. The host half, [Start], runs in the
// keeper: it mounts the tree or has it mounted, makes the cgroup, forks pid 1
// and waits until the world is complete. The inside half, [Enter], is the
// first thing that pid 1 does: it builds a root of its own, goes into it, locks
// itself down and returns to the guest. They talk over one socket, which stays
// open: its end tells either side that the other is gone.
//
// # What an isolated sandbox sees
//
// /usr, /opt and what belongs to them read-only; a generated /etc with a few
// public entries of the host's; a /dev of six harmless devices and terminals
// of its own; a /proc of its own processes; /tmp, /var/tmp, /run and /dev/shm
// in one tmpfs of bounded size; the tree. There is no /sys, no /home, no
// /root. Its one user is uid 1000, which stands for a uid of the host that is
// never 0, and it holds no capability and cannot gain one: every mount is
// nosuid, the bounding set is empty, no_new_privs is set and there are no
// further user namespaces.
//
// What shows through all the same: mountinfo names the device, the filesystem
// type and the options of the filesystem that holds /usr (and where the host's
// root is an overlay, as in a container, its directories); hiding that would
// take a copy of /usr. The host's uid behind uid 1000 is in uid_map. With
// [NetHost], so are the host's interfaces and the names of its sockets in
// /proc/net. An ordinary user's supplementary groups stay in force, since the
// kernel lets nobody but root drop them, but no file is in sight that they
// would open.
//
// # Tier Host
//
// [Host] is the host's own root with the tree at its place, in a mount and a
// pid namespace so that trees can be ended and the tree is private. Root keeps
// all its rights. An ordinary user keeps its uid by way of a user namespace
// that maps nothing else: set-id programs such as sudo do not work there, and
// other people's files belong to nobody.
//
// # How the tree is mounted
//
// Whoever may mount (root) makes the mount attached nowhere and passes its
// descriptor in: no mount table of the host ever shows it, and it ends with
// the sandbox. An ordinary user cannot, so pid 1 mounts in its own user
// namespace and passes the /dev/fuse descriptor out to be served. Every kernel
// that this project supports (6.1 and newer) allows that, and all it asks for
// is an openable /dev/fuse. The paths of Spec.ReadOnly are parts of a second
// mount that is made in the same way with a read-only superblock; where that
// cannot be had they are read-only binds of the first. The set-id program fusermount3 asks for that as
// well, as it opens the device with the user's rights: there is no machine
// where it would help, so it is not used. Either way the mount's root is "/"
// and its source a constant.
//
// # Why pid 1 executes itself
//
// Capabilities belong to threads, and the Go runtime has several before main
// begins. Enter therefore builds the world, drops everything on one thread and
// executes the program once more: all threads are born from that one.
//
// # What the package must never do
//
// Run a sandbox with less isolation than asked for because something could
// not be had: the answer is an [*Error] with the failing call and its cure.
// Map an isolated sandbox to the host's uid 0. Leave a process, mount,
// descriptor or cgroup behind when Start fails. Show a host's path in an error
// or inside.
//
// Read on in start.go for the host half, and in enter.go, build.go and seal.go
// for the inside half, in the order of what happens. Package cgroup bounds a
// sandbox; package exec runs commands in it.
package jail
