// Package cgroup bounds what one sandbox may use: how many tasks it has, how
// much memory (its tmpfs files included) and what share of the processor.
//
// [Create] makes a group, [Group.Start] starts a process that is in the group
// before it runs its first instruction, [Group.Remove] ends what is left in
// it and removes it. [Leftovers] and [Remove] do the same by name for a group
// whose maker was killed.
//
// Both versions work. With version 1 every controller has a tree of its own
// and the group is <controller>/sandboxfs/<name> in each. With version 2 the
// group is <somewhere>/sandboxfs/<name> in the one tree, where somewhere is
// the topmost place this user may write to and which can hand the controllers
// down. Where neither can be had the answer is [ErrUnavailable], and the
// caller falls back to resource limits and says so.
//
// The directories called sandboxfs stay when the last group in them is gone:
// removing them would race with whoever makes the next one.
//
// The package must never touch a group outside a directory called sandboxfs,
// must never move the calling process for good, and must never take "no
// group" for "no limit needed".
//
// Start reading at group.go; v1.go and v2.go find and make the directories.
package cgroup
