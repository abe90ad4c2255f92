package regions

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// Source says whose regions are meant, and where they lie. It travels as JSON
// to the processes that serve trees.
type Source struct {
	Key mapping.Key `json:"key"`
	// Home is the real path of the data directory.
	Home string `json:"home"`
	// SkillsDir is shown at /mnt/skills.
	SkillsDir string `json:"skills_dir"`
	// Mounts are shown besides.
	Mounts []provider.Mount `json:"mounts,omitempty"`
}

// Table returns the regions, with the mounts as custom ones. Kind: invalid.
func (s Source) Table() (*mapping.Table, error) {
	table, err := mapping.Layout{Home: s.Home, SkillsDir: s.SkillsDir}.Table(s.Key, custom(s.Mounts)...)
	if err != nil {
		return nil, &provider.Error{Kind: provider.Invalid, Reason: err.Error()}
	}
	return table, nil
}

// custom turns mounts into regions that look the same to everybody.
func custom(mounts []provider.Mount) []mapping.Region {
	var regions []mapping.Region
	for _, m := range mounts {
		access := mapping.ReadWrite
		if m.ReadOnly {
			access = mapping.ReadOnly
		}
		regions = append(regions, mapping.Region{Virtual: m.ContainerPath, Host: m.HostPath, Agent: access, Operator: access})
	}
	return regions
}

// Open opens the host directory of every region of the table, by virtual path,
// and makes those of the thread's that are missing. The caller closes them.
// Kinds: denied, unavailable.
func (s Source) Open(table *mapping.Table) (_ map[string]*os.File, err error) {
	roots := map[string]*os.File{}
	defer func() {
		if err != nil {
			Close(roots)
		}
	}()
	for _, r := range table.Regions() {
		dir, err := s.OpenRegion(r)
		if err != nil {
			return nil, err
		}
		roots[r.Virtual] = dir
	}
	return roots, nil
}

// OpenRegion opens the host directory of one region of the table, and makes it
// where it is missing and the thread's. The caller closes it. Kinds: denied,
// unavailable.
func (s Source) OpenRegion(r mapping.Region) (*os.File, error) {
	rel, own := strings.CutPrefix(r.Host, s.Home+"/")
	if !own {
		dir, err := hostpath.Open(r.Host)
		if err != nil {
			return nil, unopened("the directory behind "+r.Virtual, r, own, err)
		}
		return dir, nil
	}
	home, err := hostpath.Open(s.Home)
	if err != nil {
		return nil, unopened("the data directory", mapping.Region{}, own, err)
	}
	defer home.Close()
	dir, err := openOwn(home, strings.Split(rel, "/"))
	if err != nil {
		return nil, unopened("the directory behind "+r.Virtual, r, own, err)
	}
	return dir, nil
}

// Close closes what Open returned.
func Close(roots map[string]*os.File) {
	for _, f := range roots {
		f.Close()
	}
}

// openOwn opens a directory of a thread and makes it where it is missing. An
// agent may have taken its owner's rights away, with chmod; they are put back,
// since otherwise the thread could never be started again.
func openOwn(home *os.File, parts []string) (*os.File, error) {
	dir, err := hostpath.MakeDirs(home, 0o755, parts...)
	if !errors.Is(err, unix.EACCES) {
		return dir, err
	}
	if err := hostpath.RestoreOwner(home, parts...); err != nil {
		return nil, err
	}
	return hostpath.MakeDirs(home, 0o755, parts...)
}

func unopened(what string, r mapping.Region, own bool, err error) error {
	setting := "the host_path of its mount"
	switch {
	case r.Virtual == mapping.Skills:
		setting = "SANDBOXFS_SKILLS_DIR or SANDBOXFS_HOME"
	case own:
		setting = "SANDBOXFS_HOME"
	}
	return &provider.Error{Kind: provider.Unavailable, Reason: fmt.Sprintf("%s cannot be opened: %s", what, errText(err)),
		Next: "check " + setting + " and the directory's permissions", Err: err}
}

// errText leaves out the host path that comes before the cause.
func errText(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
