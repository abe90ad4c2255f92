package provider

import "github.com/sandboxfs/sandboxfs/mapping"

// Removed is one thing that a [Collector] removed.
type Removed struct {
	// What it was, in words: "runtime state", "cgroup", "mount", "thread".
	What string `json:"removed"`
	// Name says which one: a sandbox's id, a cgroup's name, a thread.
	Name string `json:"name,omitempty"`
	// User and Thread are whose it was, where that is known.
	User   string `json:"user,omitempty"`
	Thread string `json:"thread,omitempty"`
}

// RemovedOf is what was removed of a thread.
func RemovedOf(key mapping.Key, what, name string) Removed {
	if key.IsGeneric() {
		return Removed{What: what, Name: name}
	}
	key = key.Normalize()
	return Removed{What: what, Name: name, User: key.User, Thread: key.Thread}
}

// String returns "removed WHAT NAME".
func (r Removed) String() string {
	if r.Name == "" {
		return "removed " + r.What
	}
	return "removed " + r.What + " " + r.Name
}
