package fs

import (
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// domain is a set of regions between which a file can be moved and linked
// without changing what may be done with it: all writable or all read-only,
// all counted by the quota or none, and none of them overlapping another on the host, because a directory that
// is shown at two places must be two nodes.
type domain struct {
	readOnly bool
	charged  bool // counted by Options.Quota
	hosts    []string
	roots    []identity
}

// domains gives every region, by virtual path, its domain.
func domains(regions []mapping.Region, access func(mapping.Region) mapping.Access, charged []string, roots map[string]identity) map[string]*domain {
	var all []*domain
	out := make(map[string]*domain, len(regions))
	for _, r := range regions {
		readOnly := access(r) == mapping.ReadOnly
		counted := slices.Contains(charged, r.Virtual)
		id := roots[r.Virtual]
		i := slices.IndexFunc(all, func(d *domain) bool {
			return d.readOnly == readOnly && d.charged == counted && !d.overlaps(r.Host, id)
		})
		if i < 0 {
			i = len(all)
			all = append(all, &domain{readOnly: readOnly, charged: counted})
		}
		d := all[i]
		d.hosts = append(d.hosts, r.Host)
		d.roots = append(d.roots, id)
		out[r.Virtual] = d
	}
	return out
}

func (d *domain) overlaps(host string, root identity) bool {
	for i, other := range d.hosts {
		if d.roots[i] == root || below(host, other) || below(other, host) {
			return true
		}
	}
	return false
}

// below reports whether p is dir or lies under it.
func below(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
