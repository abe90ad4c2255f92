package mapping

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
)

// Table maps virtual paths to regions, longest prefix first. It is immutable
// and safe for concurrent use. The zero Table has no regions.
type Table struct {
	regions []Region // longest Virtual first, then by name
}

// NewTable checks the regions and orders them. It refuses a path that is not
// absolute and clean, the virtual root, and two regions at one virtual path.
func NewTable(regions ...Region) (*Table, error) {
	sorted := slices.Clone(regions)
	sort.Slice(sorted, func(i, j int) bool {
		a, b := sorted[i].Virtual, sorted[j].Virtual
		if len(a) != len(b) {
			return len(a) > len(b)
		}
		return a < b
	})
	for i, r := range sorted {
		if !isCleanAbs(r.Virtual) || r.Virtual == "/" {
			return nil, fmt.Errorf("region %q: the virtual path must be absolute, clean and not /", r.Virtual)
		}
		if !isCleanAbs(r.Host) {
			return nil, fmt.Errorf("region %q: its host directory must be an absolute, clean path", r.Virtual)
		}
		if i > 0 && sorted[i-1].Virtual == r.Virtual {
			return nil, fmt.Errorf("region %q is given twice", r.Virtual)
		}
	}
	return &Table{regions: sorted}, nil
}

// Regions returns the regions, longest virtual path first.
func (t *Table) Regions() []Region { return slices.Clone(t.regions) }

// Lookup finds the region that holds a virtual path and the rest of the path
// below it ("" for the region itself). The path is cleaned lexically first; a
// path that is not absolute or has a NUL byte is in no region.
func (t *Table) Lookup(virtual string) (Region, string, bool) {
	if !path.IsAbs(virtual) || strings.ContainsRune(virtual, 0) {
		return Region{}, "", false
	}
	virtual = path.Clean(virtual)
	for _, r := range t.regions {
		if rest, ok := under(virtual, r.Virtual); ok {
			return r, rest, true
		}
	}
	return Region{}, "", false
}

// Reverse finds the virtual path of a host path: that of the region with the
// longest host directory that holds it; of regions with one host directory,
// the one with the shortest virtual path, then the first by name. A path that
// a longer region hides in the virtual world has no virtual name.
func (t *Table) Reverse(host string) (string, bool) {
	if !path.IsAbs(host) || strings.ContainsRune(host, 0) {
		return "", false
	}
	host = path.Clean(host)
	best, bestLen := "", -1
	for _, r := range t.regions {
		rest, ok := under(host, r.Host)
		if !ok {
			continue
		}
		virtual := path.Join(r.Virtual, rest)
		if owner, _, _ := t.Lookup(virtual); owner.Virtual != r.Virtual {
			continue // hidden by a region nested inside this one
		}
		better := len(r.Host) > bestLen ||
			len(r.Host) == bestLen && (len(virtual) < len(best) || len(virtual) == len(best) && virtual < best)
		if better {
			best, bestLen = virtual, len(r.Host)
		}
	}
	return best, bestLen >= 0
}

// Children returns the names that the table alone puts into a virtual
// directory, sorted: the next components of regions below it.
func (t *Table) Children(dir string) []string {
	dir = path.Clean(dir)
	seen := map[string]bool{}
	for _, r := range t.regions {
		if rest, ok := under(r.Virtual, dir); ok && rest != "" {
			name, _, _ := strings.Cut(rest, "/")
			seen[name] = true
		}
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// IsSynthetic reports whether a virtual directory exists only because a
// region lies below it, as /mnt does.
func (t *Table) IsSynthetic(dir string) bool {
	if _, _, ok := t.Lookup(dir); ok {
		return false
	}
	return path.Clean(dir) == "/" || len(t.Children(dir)) > 0
}

func isCleanAbs(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}

// under returns what is left of p below dir.
func under(p, dir string) (string, bool) {
	if p == dir {
		return "", true
	}
	if dir == "/" {
		return p[1:], true
	}
	if len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir {
		return p[len(dir)+1:], true
	}
	return "", false
}
