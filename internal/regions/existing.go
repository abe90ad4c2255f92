package regions

import (
	"errors"
	"os"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/mapping"
	"golang.org/x/sys/unix"
)

// OpenExisting is [Source.Open] for who only looks: it makes nothing, and a
// region whose directory is missing is not among the result. Kinds: denied,
// unavailable.
func (s Source) OpenExisting(table *mapping.Table) (_ map[string]*os.File, err error) {
	roots := map[string]*os.File{}
	defer func() {
		if err != nil {
			Close(roots)
		}
	}()
	for _, r := range table.Regions() {
		dir, err := s.openExisting(r)
		switch {
		case errors.Is(err, unix.ENOENT):
		case err != nil:
			return nil, unopened("the directory behind "+r.Virtual, r, strings.HasPrefix(r.Host, s.Home+"/"), err)
		default:
			roots[r.Virtual] = dir
		}
	}
	return roots, nil
}

func (s Source) openExisting(r mapping.Region) (*os.File, error) {
	rel, own := strings.CutPrefix(r.Host, s.Home+"/")
	if !own {
		return hostpath.Open(r.Host)
	}
	home, err := hostpath.Open(s.Home)
	if err != nil {
		return nil, err
	}
	defer home.Close()
	parts := strings.Split(rel, "/")
	dir, err := hostpath.Walk(home, parts...)
	if errors.Is(err, unix.EACCES) && hostpath.RestoreOwner(home, parts...) == nil {
		return hostpath.Walk(home, parts...) // an agent took its owner's rights away
	}
	return dir, err
}
