package mapping

import (
	"slices"
	"strings"
)

// The reference does what Table does, component by component, with no prefix
// of a string anywhere: slow, and simple enough to be seen to be right.

// components returns those of an absolute path with "." and ".." resolved by
// words alone.
func components(p string) (parts []string, ok bool) {
	if p == "" || p[0] != '/' || strings.Contains(p, "\x00") {
		return nil, false
	}
	for _, c := range strings.Split(p, "/") {
		switch c {
		case "", ".":
		case "..":
			if len(parts) > 0 {
				parts = parts[:len(parts)-1]
			}
		default:
			parts = append(parts, c)
		}
	}
	return parts, true
}

// referenceLookup tries every directory of the path, the deepest first.
func referenceLookup(regions []Region, virtual string) (Region, string, bool) {
	parts, ok := components(virtual)
	if !ok {
		return Region{}, "", false
	}
	for n := len(parts); n >= 0; n-- {
		for _, r := range regions {
			if at, _ := components(r.Virtual); slices.Equal(at, parts[:n]) {
				return r, strings.Join(parts[n:], "/"), true
			}
		}
	}
	return Region{}, "", false
}

// referenceReverse collects every virtual path that leads to the host path and
// picks by the documented order.
func referenceReverse(regions []Region, host string) (string, bool) {
	parts, ok := components(host)
	if !ok {
		return "", false
	}
	type name struct {
		depth   int // of the region's host directory, in bytes
		virtual string
	}
	var names []name
	for _, r := range regions {
		at, _ := components(r.Host)
		if len(at) > len(parts) || !slices.Equal(at, parts[:len(at)]) {
			continue
		}
		in, _ := components(r.Virtual)
		virtual := "/" + strings.Join(append(slices.Clone(in), parts[len(at):]...), "/")
		if owner, _, _ := referenceLookup(regions, virtual); owner.Virtual == r.Virtual {
			names = append(names, name{len(r.Host), virtual})
		}
	}
	if len(names) == 0 {
		return "", false
	}
	return slices.MinFunc(names, func(a, b name) int {
		switch {
		case a.depth != b.depth:
			return b.depth - a.depth
		case len(a.virtual) != len(b.virtual):
			return len(a.virtual) - len(b.virtual)
		}
		return strings.Compare(a.virtual, b.virtual)
	}).virtual, true
}

// referenceChildren walks all prefixes of all regions.
func referenceChildren(regions []Region, dir string) []string {
	at, ok := components(dir)
	names := []string{}
	if !ok {
		return names
	}
	for _, r := range regions {
		parts, _ := components(r.Virtual)
		if len(parts) > len(at) && slices.Equal(parts[:len(at)], at) && !slices.Contains(names, parts[len(at)]) {
			names = append(names, parts[len(at)])
		}
	}
	slices.Sort(names)
	return names
}
