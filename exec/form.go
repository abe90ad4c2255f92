package exec

// form is the way in which slots end trees.
type form int

const (
	// formNamespace: the slot is pid 1 of a pid namespace.
	formNamespace form = iota + 1
	// formSubreaper: the slot is a subreaper, its commands are scoped by
	// Landlock where the kernel can.
	formSubreaper
)

// mechanism is the name under which a form is reported.
func mechanism(f form, landlockABI int) string {
	switch {
	case f == formNamespace:
		return MechanismNamespace
	case canScope(landlockABI):
		return MechanismScoped
	default:
		return MechanismSubreaper
	}
}

// What [Executor.Mechanism] answers.
const (
	// MechanismNamespace: a pid namespace for each running command. Complete,
	// and commands neither see nor signal one another.
	MechanismNamespace = "pid namespace"
	// MechanismScoped: a subreaper for each running command, in a Landlock
	// domain that no signal leaves. Complete; commands see one another.
	MechanismScoped = "subreaper+landlock"
	// MechanismSubreaper: a subreaper alone. Complete, but a command can kill
	// its neighbours.
	MechanismSubreaper = "subreaper"
)
