package mapping

// Access says whether a region accepts writes in one view.
type Access int

const (
	// ReadWrite allows every operation.
	ReadWrite Access = iota
	// ReadOnly answers every write with EROFS.
	ReadOnly
)

// String returns "rw" or "ro", the spelling mount(8) uses.
func (a Access) String() string {
	if a == ReadOnly {
		return "ro"
	}
	return "rw"
}

// View says for whom a tree is mounted.
type View int

const (
	// AgentView is what commands and agents' tools see: uploads, skills and
	// acp-workspace are read-only.
	AgentView View = iota
	// OperatorView is what the owner of the threads sees: only skills is
	// read-only.
	OperatorView
)

// String returns "agent" or "operator".
func (v View) String() string {
	if v == OperatorView {
		return "operator"
	}
	return "agent"
}

// Region is one virtual directory backed by one host directory.
type Region struct {
	// Virtual is a clean, absolute virtual path such as
	// "/mnt/user-data/workspace".
	Virtual string
	// Host is a clean, absolute host path. It is never shown to an agent.
	Host string
	// Agent and Operator are the access of the two views.
	Agent, Operator Access
}

// Access returns the region's access in view v.
func (r Region) Access(v View) Access {
	if v == OperatorView {
		return r.Operator
	}
	return r.Agent
}
