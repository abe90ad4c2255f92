package local

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/mounter"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// openMounts looks at the host paths of mounts and returns the mounts with
// real paths in them, so that a sandbox shows what was checked here. A path
// that leads by way of a symlink to where no mount may be is refused as one
// that says so. home is the data directory's real path. Kinds: invalid,
// not found, denied.
func openMounts(cfg provider.Config, home string) ([]provider.Mount, error) {
	mounts := make([]provider.Mount, 0, len(cfg.Mounts))
	for _, m := range cfg.Mounts {
		dir, err := hostpath.Open(m.HostPath)
		if err != nil {
			return nil, unusableMount(m, err)
		}
		m.HostPath, err = hostpath.RealPath(dir)
		dir.Close()
		if err != nil {
			return nil, unusableMount(m, err)
		}
		mounts = append(mounts, m)
	}
	if len(mounts) == 0 {
		return nil, nil
	}
	// In which order they are written does not matter.
	slices.SortFunc(mounts, func(a, b provider.Mount) int { return strings.Compare(a.ContainerPath, b.ContainerPath) })
	real := cfg
	real.Mounts, real.Home = mounts, home
	real.RuntimeDir, real.SkillsDir = realPath(cfg.RuntimeDir), realPath(cfg.SkillsDir)
	if err := real.Validate(); err != nil {
		return nil, err
	}
	return mounts, refuseBinds(real)
}

// refuseBinds refuses what no path tells: a mount that shows the data directory,
// the runtime directory or a thread's tree by way of another mount of the host.
func refuseBinds(real provider.Config) error {
	for _, m := range real.Mounts {
		own := []string{real.Home, real.RuntimeDir}
		if !m.ReadOnly {
			own = append(own, real.SkillsDir)
		}
		at, err := mounter.Reveals(m.HostPath, own...)
		if err != nil {
			return &provider.Error{Kind: provider.Unavailable, Op: "configure", Reason: "the table of mounts cannot be read", Err: err}
		}
		if at != "" {
			return &provider.Error{Kind: provider.Invalid, Op: "configure",
				Reason: fmt.Sprintf("the mount at %s would show the threads' data: at %q something is mounted that leads there", m.ContainerPath, at),
				Next:   "unmount that (sandboxfs mount lists our own), or choose another directory"}
		}
	}
	return nil
}

// realPath returns a directory's path without a symlink, or the path as it is
// where there is no such directory.
func realPath(path string) string {
	dir, err := hostpath.Open(path)
	if err != nil {
		return path
	}
	defer dir.Close()
	if real, err := hostpath.RealPath(dir); err == nil {
		return real
	}
	return path
}

// unusableMount says which mount it is, and names its host path: whoever makes
// a provider wrote it.
func unusableMount(m provider.Mount, err error) error {
	e := &provider.Error{Kind: provider.Denied, Op: "configure", Err: err}
	switch {
	case errors.Is(err, unix.ENOENT):
		e.Kind = provider.NotFound
		e.Reason = fmt.Sprintf("the host path %q of the mount at %s does not exist", m.HostPath, m.ContainerPath)
		e.Next = "make the directory, or correct the mount; in a container, host paths are those of that container"
	case errors.Is(err, unix.ENOTDIR):
		e.Kind = provider.Invalid
		e.Reason = fmt.Sprintf("the host path %q of the mount at %s is not a directory", m.HostPath, m.ContainerPath)
		e.Next = "mount the directory that the file is in"
	default:
		e.Reason = fmt.Sprintf("the host path %q of the mount at %s cannot be opened: %v", m.HostPath, m.ContainerPath, errors.Unwrap(err))
		e.Next = "give this user the right to read and search it"
	}
	return e
}
