// Package file does the file calls of a sandbox: read, write, replace, list,
// glob and grep.
//
// It runs inside the sandbox, in the guest, and sees what a command there
// sees: a path is resolved by the kernel as cat would resolve it, symlinks
// included. Commands run at the same time and may be hostile: they swap files
// for FIFOs, devices and links while a call looks at them. So a file is
// opened in two steps, first as a mere place (O_PATH), then for its content
// when it has proved to be a regular file; nothing here ever waits for a
// command, acts on a device, or leaves a half-written file behind. Somebody
// outside may replace files and directories: each is opened by its path for
// what is done with it, because a place alone may be what the kernel
// remembers and no longer what is there.
//
// It must never resolve a path through procfs (there the guest would see its
// own descriptors in place of the command's), follow a link in a place that
// it looked up before, or show anything but virtual paths in an error.
//
// Start with [Files] and resolve.go, then one file per call.
package file
