package fs

import (
	"path"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/mapping"
)

func FuzzCheckName(f *testing.F) {
	for _, s := range []string{"", ".", "..", "...", "a", "a/b", "/", "a\x00b", " ", "\n", strings.Repeat("x", 255), strings.Repeat("x", 256), "..\x00", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := checkName(name)
		component := path.Base("/"+name) == name && path.Clean("/x/"+name) == "/x/"+name && !strings.Contains(name, "\x00")
		switch {
		case got == 0 && (!component || len(name) > 255):
			t.Errorf("%q is accepted", name)
		case got != 0 && component && len(name) <= 255:
			t.Errorf("%q is refused: %v", name, got)
		case got == unix.ENAMETOOLONG && len(name) <= 255:
			t.Errorf("%q has %d bytes", name, len(name))
		}
	})
}

// FuzzLayout compares the directories made from a table with what the table
// itself says about each path.
func FuzzLayout(f *testing.F) {
	f.Add("/mnt/a\n/mnt/b", "/mnt/a/x")
	f.Add("/mnt/a\n/mnt/a/b/c", "/mnt/a/b")
	f.Add("/a", "/")
	f.Add("/a/b/c/d", "/a/b/c/d")
	f.Fuzz(func(t *testing.T, list, probe string) {
		var regions []mapping.Region
		for virtual := range strings.SplitSeq(list, "\n") {
			regions = append(regions, mapping.Region{Virtual: virtual, Host: "/h" + virtual})
		}
		table, err := mapping.NewTable(regions...)
		if err != nil || !path.IsAbs(probe) || path.Clean(probe) != probe || strings.Contains(probe, "\x00") {
			return
		}
		root := buildLayout(table.Regions(), func(string) *node { return &node{} })
		l := root
		for part := range strings.SplitSeq(strings.Trim(probe, "/"), "/") {
			if part != "" && l != nil {
				l = l.kids[part]
			}
		}
		region, rest, ok := table.Lookup(probe)
		isRegion := ok && rest == "" && region.Virtual == probe
		if got := l != nil && l.region; got != isRegion {
			t.Errorf("%q is the root of a region: %v, want %v", probe, got, isRegion)
		}
		if got, want := l != nil && !l.region, table.IsSynthetic(probe) || ok && !isRegion && len(table.Children(probe)) > 0; got != want {
			t.Errorf("%q is on the way to a region: %v, want %v", probe, got, want)
		}
		if l != nil && strings.Join(l.names(), "\n") != strings.Join(table.Children(probe), "\n") {
			t.Errorf("%q has %v, the table says %v", probe, l.names(), table.Children(probe))
		}
	})
}

// FuzzOverlap checks that no two regions of one domain overlap on the host.
func FuzzOverlap(f *testing.F) {
	f.Add("/a", "/a/b", "/c", uint8(0))
	f.Add("/", "/a", "/ab", uint8(1))
	f.Add("/x", "/x", "/x/", uint8(7))
	f.Fuzz(func(t *testing.T, a, b, c string, modes uint8) {
		var regions []mapping.Region
		ids := map[string]identity{}
		for i, host := range []string{a, b, c} {
			if !path.IsAbs(host) || path.Clean(host) != host {
				return
			}
			r := mapping.Region{Virtual: "/" + string(rune('a'+i)), Host: host, Agent: mapping.Access(modes >> i & 1)}
			regions = append(regions, r)
			ids[r.Virtual] = identity{ino: uint64(i)}
		}
		got := domains(regions, func(r mapping.Region) mapping.Access { return r.Access(mapping.AgentView) }, nil, ids)
		for i, r := range regions {
			if got[r.Virtual].readOnly != (r.Agent == mapping.ReadOnly) {
				t.Errorf("%s is in the wrong domain", r.Virtual)
			}
			for _, s := range regions[:i] {
				nested := path.Clean(r.Host) == s.Host || strings.HasPrefix(r.Host+"/", strings.TrimSuffix(s.Host, "/")+"/") || strings.HasPrefix(s.Host+"/", strings.TrimSuffix(r.Host, "/")+"/")
				if nested && got[r.Virtual] == got[s.Virtual] {
					t.Errorf("%s and %s overlap in one domain", r.Host, s.Host)
				}
			}
		}
	})
}
