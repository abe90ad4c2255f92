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
	home, err := hostpath.Open(s.Home)
	if errors.Is(err, unix.ENOENT) {
		return roots, nil
	}
	if err != nil {
		return nil, unopened("the data directory", mapping.Region{}, err)
	}
	defer home.Close()
	for _, r := range table.Regions() {
		var dir *os.File
		if rel, ok := strings.CutPrefix(r.Host, s.Home+"/"); ok {
			parts := strings.Split(rel, "/")
			dir, err = hostpath.Walk(home, parts...)
			if errors.Is(err, unix.EACCES) && hostpath.RestoreOwner(home, parts...) == nil {
				dir, err = hostpath.Walk(home, parts...)
			}
		} else {
			dir, err = hostpath.Open(r.Host)
		}
		switch {
		case errors.Is(err, unix.ENOENT):
			err = nil
		case err != nil:
			return nil, unopened("the directory behind "+r.Virtual, r, err)
		default:
			roots[r.Virtual] = dir
		}
	}
	return roots, nil
}
