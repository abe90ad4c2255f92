// Package seccomp is the system-call filter that every command runs under: an
// allow-list, assembled for the running architecture and installed on a
// thread or on all threads of a process.
//
// What is not listed does not exist: a number that nobody here has judged
// answers ENOSYS, as on an older kernel, so that libraries take their older
// path; a number that was judged and refused answers EPERM. The filter must
// never inspect what a pointer refers to (another thread can change it after
// the check), which is why clone3 is answered with ENOSYS as a whole.
//
// The filter is one layer of several: namespaces, empty capability sets and
// no_new_privs hold without it. It takes away the kernel interfaces that those
// layers rest on. Read policy.go for the decisions, then assemble.go.
package seccomp
