package mounter

import (
	"strings"
	"testing"
)

const sample = `20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
21 20 0:5 / /dev rw - devtmpfs none rw
30 20 8:1 /home/a/data /srv/data rw - ext4 /dev/sda1 rw
31 20 0:50 / /home/a/a\040b\134c rw,nosuid,nodev - fuse.sandboxfs sandboxfs rw,user_id=1000,group_id=1000,default_permissions
32 20 0:51 / /home/a/m rw - fuse.sandboxfs sandboxfs rw,user_id=0,group_id=0
33 32 0:52 / /home/a/m rw - tmpfs none rw
34 33 0:53 / /home/a/m/below rw - tmpfs none rw
not a line of it
35 20 0:54
`

func TestTableOfMounts(t *testing.T) {
	table := parseTable(sample)
	if len(table) != 7 {
		t.Fatalf("%d mounts, want 7: %+v", len(table), table)
	}
	m, ok := table.at(`/home/a/a b\c`)
	if !ok || !m.ours(1000) || m.ours(0) || m.ours(100) {
		t.Errorf("a path with escapes: %+v, %v", m, ok)
	}
	if m, _ := table.at("/home/a/m"); m.device != "0:52" {
		t.Errorf("the topmost of two: %+v", m)
	}
	record := Record{Device: "0:51", MountID: "32", Point: "/home/before"}
	if m, ok := record.find(table); !ok || m.point != "/home/a/m" {
		t.Errorf("by its numbers: %+v, %v", m, ok)
	}
	for _, r := range []Record{{Device: "0:51", MountID: "31"}, {Device: "0:52", MountID: "33"}, {}} {
		if m, ok := r.find(table); ok {
			t.Errorf("%+v finds %+v", r, m)
		}
	}
	if below := table.below("/home/a/m"); len(below) != 1 || below[0].point != "/home/a/m/below" {
		t.Errorf("below: %+v", below)
	}
}

func TestInside(t *testing.T) {
	table := parseTable(sample)
	tests := []struct {
		p, dir string
		want   bool
	}{
		{"/home/a/data", "/home/a/data", true},
		{"/home/a/data/x", "/home/a/data", true},
		{"/home/a/database", "/home/a/data", false},
		{"/home/a", "/home/a/data", false},
		{"/srv/data/x", "/home/a/data", true},  // by the bind mount
		{"/home/a/data/x", "/srv/data", true},  // and the other way round
		{"/srv/data", "/home/a/data/x", false}, // but not above it
		{"/home/a/m/x", "/home/a", true},
		{"/srv/other", "/home/a/data", false},
		{"/anything", "/", true},
	}
	for _, tt := range tests {
		if got := table.inside(tt.p, tt.dir); got != tt.want {
			t.Errorf("inside(%q, %q) = %v, want %v", tt.p, tt.dir, got, tt.want)
		}
	}
}

// FuzzTable holds that no text makes the reader fail, and that escapes come
// out as what they stand for.
func FuzzTable(f *testing.F) {
	f.Add(sample)
	f.Add(`1 2 3:4 / /\04 rw - x y z`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range parseTable(text) {
			if strings.Contains(text, `\`) {
				continue
			}
			if !strings.Contains(text, m.point) || !strings.Contains(text, m.device) {
				t.Errorf("%+v is not in the text", m)
			}
		}
		escaped := strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`).Replace(text)
		if got := unescape(escaped); got != text {
			t.Errorf("unescape(%q) = %q, want %q", escaped, got, text)
		}
	})
}

func TestReveals(t *testing.T) {
	table := parseTable(sample)
	for _, tt := range []struct{ dir, own, want string }{
		{"/srv", "/opt/d", ""},
		{"/srv/data", "/home/a/data/sandboxfs", "/srv/data"}, // a bind mount of what is above it
		{"/srv/data/x", "/home/a/data", "/srv/data/x"},       // of a part of it
		{"/srv", "/home/a/data/sandboxfs", "/srv/data"},      // further down
		{"/home/a", "/opt/d", `/home/a/a b\c`},               // a mount of ours
		{"/home/a/m/below", "/opt/d", ""},
	} {
		if got := table.reveals(tt.dir, []string{tt.own}); got != tt.want {
			t.Errorf("%s with %s: %q, want %q", tt.dir, tt.own, got, tt.want)
		}
	}
}
