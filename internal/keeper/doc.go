// Package keeper is the host side of one local sandbox: the process
// `sandboxfsd keep`.
//
// A keeper opens the thread's directories, serves its tree (package fs) to the
// kernel, starts the sandbox's pid 1 in its namespaces (package exec/jail) and
// holds what must die with the sandbox: the liveness lock, the uid, the
// cgroup. It runs no command and answers no request; callers talk to the
// guest. It ends when the guest ends, and with it the tree and the namespaces.
//
// It must never open a path below the tree that it serves: the answer would
// have to come from itself.
//
// [Start] is the caller's half, [Main] the process's.
package keeper
