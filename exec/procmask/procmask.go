// Package procmask names what every /proc of a sandbox covers: entries of the
// kernel that no namespace confines and that hold paths, addresses or names of
// the host. It does not mount; who mounts a /proc covers these in it: package
// jail in the sandbox's own and package exec in each slot's.
//
// Not listed is what only the host's uid 0 can open, which nobody in a sandbox
// is (kcore, timer_list, sysrq-trigger), and what names hardware alone.
package procmask

// Files are relative to /proc; each is covered with /dev/null. A kernel may lack
// some.
func Files() []string {
	return []string{
		"keys", "key-users", // keys belong to a uid, whatever the namespace
		"swaps",                 // paths of swap files
		"cmdline", "bootconfig", // boot arguments: disks, addresses, tokens
		"latency_stats", "timer_stats", // other processes' names
		// Paths of the host's helper programs.
		"sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/kernel/hotplug", "sys/kernel/poweroff_cmd",
	}
}

// Dirs are relative to /proc; each is covered with an empty directory. A kernel
// may lack some.
func Dirs() []string {
	return []string{
		"fs", // servers, shares and users of network file systems
		"acpi", "scsi",
	}
}
