package seccomp

import "golang.org/x/sys/unix"

// auditArch marks system calls of the native 64-bit interface. The x32
// interface shares it with bit 30 set in the number, which the allow-list
// leaves out like any other unknown number.
const auditArch = unix.AUDIT_ARCH_X86_64

// archOrdinaryCalls are the older calls that only this architecture has.
var archOrdinaryCalls = []uint32{
	unix.SYS_ACCESS, unix.SYS_ALARM, unix.SYS_ARCH_PRCTL, unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_CREAT,
	unix.SYS_DUP2, unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_WAIT, unix.SYS_EVENTFD, unix.SYS_FORK,
	unix.SYS_FUTIMESAT, unix.SYS_GETDENTS, unix.SYS_GETPGRP, unix.SYS_INOTIFY_INIT, unix.SYS_LCHOWN,
	unix.SYS_LINK, unix.SYS_LSTAT, unix.SYS_MKDIR, unix.SYS_MKNOD, unix.SYS_OPEN, unix.SYS_PAUSE,
	unix.SYS_PIPE, unix.SYS_POLL, unix.SYS_READLINK, unix.SYS_RENAME, unix.SYS_RMDIR, unix.SYS_SELECT,
	unix.SYS_SIGNALFD, unix.SYS_STAT, unix.SYS_SYMLINK, unix.SYS_TIME, unix.SYS_UNLINK, unix.SYS_UTIME,
	unix.SYS_UTIMES, unix.SYS_VFORK,
}

// archRefusedCalls reach ports, segment tables and probes.
var archRefusedCalls = []uint32{
	unix.SYS_IOPERM, unix.SYS_IOPL, unix.SYS_MODIFY_LDT, unix.SYS_SYSFS, unix.SYS_UPROBE, unix.SYS_URETPROBE,
	unix.SYS_USELIB, unix.SYS_USTAT,
}
