// Package mountinfo reads the table of what is mounted in this process's mount
// namespace, /proc/self/mountinfo (proc(5)), and answers which mount stands at,
// above or below a path. It is the one place that knows the table's form.
//
// It looks at text alone: it must never touch a path, since a mount that does
// not answer would hang whoever asks. All paths are real ones, as the kernel
// writes them. Read [Parse] next.
package mountinfo
