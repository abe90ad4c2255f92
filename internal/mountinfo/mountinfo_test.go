package mountinfo

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

func TestTable(t *testing.T) {
	table := Parse(sample)
	if len(table) != 7 {
		t.Fatalf("want 7 mounts, got %d: %+v", len(table), table)
	}
	m, ok := table.At(`/home/a/a b\c`)
	if id, given := m.Option("user_id"); !ok || m.Type != "fuse.sandboxfs" || m.Source != "sandboxfs" || id != "1000" || !given {
		t.Errorf("a path with escapes: %+v, %v", m, ok)
	}
	for name, want := range map[string]bool{"user_id": true, "default_permissions": true, "user": false, "1000": false} {
		if _, ok := m.Option(name); ok != want {
			t.Errorf("option %s: want %v, got %v", name, want, ok)
		}
	}
	if m, _ := table.At("/home/a/m"); m.Device != "0:52" {
		t.Errorf("the topmost of two: %+v", m)
	}
	if below := table.Below("/home/a/m"); len(below) != 1 || below[0].Point != "/home/a/m/below" {
		t.Errorf("below: %+v", below)
	}
	if m, ok := table.Containing("/home/a/m/x"); !ok || m.ID != "33" {
		t.Errorf("containing: %+v, %v", m, ok)
	}
}

// TestBlanksThatAreNotEscaped has names with white space that the kernel writes
// as it is.
func TestBlanksThatAreNotEscaped(t *testing.T) {
	for _, name := range []string{"/a\u00a0b", "/a\rb", "/a\vb\f", "/a\u2028b", "/a\x85\xa0\xff"} {
		table := Parse("31 20 0:50 / " + name + " rw - tmpfs none rw\n")
		if m, ok := table.At(name); !ok || m.Type != "tmpfs" {
			t.Errorf("%q: %+v", name, table)
		}
	}
}

func TestInside(t *testing.T) {
	table := Parse(sample)
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
		if got := table.Inside(tt.p, tt.dir); got != tt.want {
			t.Errorf("Inside(%q, %q): want %v, got %v", tt.p, tt.dir, tt.want, got)
		}
	}
}

// FuzzParse holds that no text makes the reader fail, and that escapes come
// out as what they stand for.
func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add(`1 2 3:4 / /\04 rw - x y z`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range Parse(text) {
			if strings.Contains(text, `\`) {
				continue
			}
			if !strings.Contains(text, m.Point) || !strings.Contains(text, m.Device) {
				t.Errorf("%+v is not in the text", m)
			}
		}
		escaped := strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`).Replace(text)
		if got := unescape(escaped); got != text {
			t.Errorf("unescape(%q): want %q, got %q", escaped, text, got)
		}
	})
}
