package exec

import "time"

// Config sets an [Executor] up. The zero value is right for a guest.
type Config struct {
	// SlotPath is the program that slots execute; empty means
	// /proc/self/exe. It must be static (no cgo) and run [SlotMain].
	SlotPath string
	// SlotArgv is its constant argument vector; nil means
	// {"sandboxfsd", "slot"}. Commands can read it in /proc/1/cmdline.
	SlotArgv []string
	// WarmSlots is how many idle slots are kept ready; 0 means 1, negative
	// none. A slot costs about a mebibyte.
	WarmSlots int
	// IdleTimeout is how long an idle warm slot is kept; 0 means 30 seconds,
	// negative for ever.
	IdleTimeout time.Duration
	// SurplusTimeout is how long an idle slot beyond WarmSlots is kept; 0
	// means 2 seconds.
	SurplusTimeout time.Duration
	// KillTimeout is how long a slot may take over ending a tree before the
	// slot itself is killed; 0 means 2 seconds, and 10 without namespaces,
	// where ending a fork bomb takes a while.
	KillTimeout time.Duration
	// MaxProcesses becomes RLIMIT_NPROC of slots and commands; it never
	// raises the limit. 0 means this process's own soft limit, where it has
	// one, if the hard one leaves room for the guest and the slots: their
	// threads then are not held against the commands. Without that room it
	// means somewhat less than the limit, so that a command that uses up
	// everything leaves the guest some. Without namespaces a limit is demanded: this, an inherited
	// RLIMIT_NPROC, or a cgroup's pids.max.
	MaxProcesses uint64
	// Form restricts the choice of mechanism.
	Form Form
	// Early, when not nil, becomes the first slot if it is still alive; not
	// with FormSubreaperOnly.
	Early *Early
	// Confinement is Confined unless set.
	Confinement Confinement

	// unscoped does without Landlock, as on a kernel before 6.12; for tests.
	unscoped bool
}

// Form is a choice of mechanism.
type Form int

const (
	// FormAuto takes pid namespaces where they can be had, else subreapers.
	FormAuto Form = iota
	// FormNamespaceOnly fails without pid namespaces.
	FormNamespaceOnly
	// FormSubreaperOnly does without namespaces.
	FormSubreaperOnly
)

// Confinement says what a command is kept from.
type Confinement int

const (
	// Confined commands hold no capability, can regain none, and make only
	// the system calls of the filter.
	Confined Confinement = iota
	// Unconfined commands have the rights of whoever the guest runs as: for
	// the tier that shows the host's own root. Root keeps its capabilities;
	// another user has none to keep. Their trees are ended all the same.
	Unconfined
)

// withDefaults fills in what is zero.
func (c Config) withDefaults() Config {
	if c.SlotPath == "" {
		c.SlotPath = "/proc/self/exe"
	}
	if c.SlotArgv == nil {
		c.SlotArgv = []string{"sandboxfsd", "slot"}
	}
	if c.WarmSlots == 0 {
		c.WarmSlots = 1
	}
	c.WarmSlots = max(c.WarmSlots, 0)
	if c.IdleTimeout == 0 {
		c.IdleTimeout = 30 * time.Second
	}
	if c.SurplusTimeout <= 0 {
		c.SurplusTimeout = 2 * time.Second
	}
	return c
}
