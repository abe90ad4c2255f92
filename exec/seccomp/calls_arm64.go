package seccomp

import "golang.org/x/sys/unix"

// auditArch marks system calls of the native 64-bit interface.
const auditArch = unix.AUDIT_ARCH_AARCH64

var (
	archOrdinaryCalls []uint32
	archRefusedCalls  []uint32
)
