package mapping

import "path"

// The virtual directories that every thread has.
const (
	UserData     = "/mnt/user-data"
	Workspace    = UserData + "/workspace"
	Uploads      = UserData + "/uploads"
	Outputs      = UserData + "/outputs"
	Skills       = "/mnt/skills"
	ACPWorkspace = "/mnt/acp-workspace"
)

// Layout is where the data of all threads lies on the host. It is DeerFlow's
// layout, so that an existing home can be used.
type Layout struct {
	// Home is the data directory, an absolute, clean path.
	Home string
	// SkillsDir is the directory shown at /mnt/skills; empty means
	// Home/skills.
	SkillsDir string
}

// Skills returns the host directory shown at /mnt/skills.
func (l Layout) Skills() string {
	if l.SkillsDir != "" {
		return l.SkillsDir
	}
	return path.Join(l.Home, "skills")
}

// UserDataParts returns the path components, below Home, of the directory
// that holds workspace, uploads and outputs of a valid key. They are
// components, not a path, so that each can be opened relative to the one
// before it. The generic key has none: nil.
func (l Layout) UserDataParts(k Key) []string { return l.partsBelow(k, "user-data") }

// ACPWorkspaceParts returns the path components, below Home, of the
// directory shown at /mnt/acp-workspace; nil for the generic key.
func (l Layout) ACPWorkspaceParts(k Key) []string { return l.partsBelow(k, "acp-workspace") }

// ThreadParts returns the path components, below Home, of the directory that
// holds everything a thread owns; nil for the generic key, which owns nothing.
func (l Layout) ThreadParts(k Key) []string { return l.partsBelow(k) }

// partsBelow is never given an empty thread to make a path from: that would
// be the directory of all threads of the user.
func (l Layout) partsBelow(k Key, names ...string) []string {
	if k.IsGeneric() {
		return nil
	}
	return append([]string{"users", k.Normalize().User, "threads", k.Thread}, names...)
}

// Table returns the regions of a thread, or of the generic sandbox for a key
// without one, with any custom regions added. It fails on an invalid key
// before any path is made from it.
func (l Layout) Table(k Key, custom ...Region) (*Table, error) {
	if err := k.Validate(); err != nil {
		return nil, err
	}
	regions := []Region{{Virtual: Skills, Host: l.Skills(), Agent: ReadOnly, Operator: ReadOnly}}
	if !k.IsGeneric() {
		data := path.Join(append([]string{l.Home}, l.UserDataParts(k)...)...)
		acp := path.Join(append([]string{l.Home}, l.ACPWorkspaceParts(k)...)...)
		regions = append(regions,
			Region{Virtual: Workspace, Host: path.Join(data, "workspace")},
			Region{Virtual: Outputs, Host: path.Join(data, "outputs")},
			Region{Virtual: Uploads, Host: path.Join(data, "uploads"), Agent: ReadOnly},
			Region{Virtual: ACPWorkspace, Host: acp, Agent: ReadOnly},
		)
	}
	return NewTable(append(regions, custom...)...)
}
