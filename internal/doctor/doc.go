// Package doctor says whether this machine can run sandboxes, and what to do
// where it cannot.
//
// Each check tries the thing itself where that is possible: it makes the
// namespaces, mounts a /proc, opens the device, makes a control group, installs
// the filter. A version or a setting only explains a failure. One file per kind
// of check; checks.go lists them in the order in which they are reported.
//
// Checks can hang: a dead network mount or a mount whose server is stuck blocks
// whoever looks at it, beyond the reach of a signal. So they run in a child,
// this same program executed again ([IsChild], [ChildMain]), which is given up
// when a check takes too long; another one goes on with the next check.
//
// The package must never look at a file system in the calling process before a
// child has, never change a setting, and leave nothing behind. Start reading at
// doctor.go.
package doctor
