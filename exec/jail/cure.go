package jail

// Calls that others try for themselves, to say beforehand whether a sandbox
// can be had. See [Cure].
const (
	// OpNamespaces is the clone that makes a sandbox's namespaces.
	OpNamespaces = opClone
	// OpPrivate is the mount call that makes all mounts private.
	OpPrivate = opPrivate
	// OpProc mounts a /proc of the sandbox's own.
	OpProc = opProc
	// OpOpenFuse opens the FUSE device.
	OpOpenFuse = opOpenFuse
	// OpFsopen prepares a FUSE mount.
	OpFsopen = opFsopen
)

// Cure says what the person who owns the machine can do about a call that
// failed here, in the words of the error that [Start] would return; "" where
// nothing is known. op is one of the Op constants, or the call in the words of
// its manual page. It reads kernel settings. Safe for concurrent use.
func Cure(op string, err error) string { return cureFor(op, cause(err), knob) }
