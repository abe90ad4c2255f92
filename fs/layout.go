package fs

import (
	"maps"
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// layout is the tree of directories that the table makes: the way from the
// root to each region, and regions inside regions.
type layout struct {
	node *node // the region's root, or the synthetic directory
	// region is whether a region begins here.
	region bool
	kids   map[string]*layout
}

// buildLayout makes the directories of a table and their permanent nodes.
// newNode is called for each, with the region's virtual path or "".
func buildLayout(regions []mapping.Region, newNode func(region string) *node) *layout {
	root := &layout{}
	at := map[string]*layout{"": root}
	for _, r := range regions {
		l := root
		path := ""
		for part := range strings.SplitSeq(strings.TrimPrefix(r.Virtual, "/"), "/") {
			path += "/" + part
			kid := l.kids[part]
			if kid == nil {
				kid = &layout{}
				if l.kids == nil {
					l.kids = map[string]*layout{}
				}
				l.kids[part] = kid
				at[path] = kid
			}
			l = kid
		}
		l.region = true
	}
	for _, path := range slices.Sorted(maps.Keys(at)) { // the root first: it is node 1
		l := at[path]
		region := ""
		if l.region {
			region = path
		}
		l.node = newNode(region)
		l.node.layout = l
	}
	return root
}

// names lists the directory's own entries in order.
func (l *layout) names() []string { return slices.Sorted(maps.Keys(l.kids)) }
