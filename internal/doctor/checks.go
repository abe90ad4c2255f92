package doctor

// noSandbox is what is lost where a sandbox cannot be had.
const noSandbox = "no sandbox can be started"

// check is one look at the machine. It runs in a child process, may block, and
// makes nothing that outlives that process.
type check struct {
	name string
	look func(m *machine) Finding
}

// checks lists them in the order of the report: what everything needs first.
func checks() []check {
	return []check{
		{"kernel", checkKernel},
		{"namespaces", checkNamespaces},
		{"proc", checkProc},
		{"fuse-device", checkFuseDevice},
		{"fuse-mount", checkFuseMount},
		{"fusermount", checkFusermount},
		{"fuse-conf", checkFuseConf},
		{"passthrough", checkPassthrough},
		{"seccomp", checkSeccomp},
		{"landlock", checkLandlock},
		{"cgroups", checkCgroups},
		{"descriptors", checkDescriptors},
		{"inotify", checkInotify},
		{"sandboxfsd", checkDaemon},
		{"bash", checkBash},
		{"data-directory", checkData},
		{"runtime-directory", checkRuntime},
		{"space", checkSpace},
		{"stale-mounts", checkMounts},
		{"leftovers", checkLeftovers},
	}
}

// machine is what the checks are told about.
type machine struct {
	// Home and RuntimeDir are the configuration's, not yet looked at.
	Home       string `json:"home"`
	RuntimeDir string `json:"runtime_dir"`
	// Version is that of the calling program.
	Version string `json:"version"`
	// UID is the effective user id.
	UID int `json:"uid"`
}

func (m *machine) root() bool { return m.UID == 0 }
