package mounter

import (
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
)

const sample = `20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
21 20 0:5 / /dev rw - devtmpfs none rw
30 20 8:1 /home/a/data /srv/data rw - ext4 /dev/sda1 rw
31 20 0:50 / /home/a/a\040b\134c rw,nosuid,nodev - fuse.sandboxfs sandboxfs rw,user_id=1000,group_id=1000,default_permissions
32 20 0:51 / /home/a/m rw - fuse.sandboxfs sandboxfs rw,user_id=0,group_id=0
33 32 0:52 / /home/a/m rw - tmpfs none rw
34 33 0:53 / /home/a/m/below rw - tmpfs none rw
`

func TestRecordsInTheTable(t *testing.T) {
	table := mountinfo.Parse(sample)
	m, ok := table.At(`/home/a/a b\c`)
	if !ok || !isOurs(m, 1000) || isOurs(m, 0) || isOurs(m, 100) {
		t.Errorf("a path with escapes: %+v, %v", m, ok)
	}
	record := Record{Device: "0:51", MountID: "32", Point: "/home/before"}
	if m, ok := record.find(table); !ok || m.Point != "/home/a/m" {
		t.Errorf("by its numbers: %+v, %v", m, ok)
	}
	for _, r := range []Record{{Device: "0:51", MountID: "31"}, {Device: "0:52", MountID: "33"}, {}} {
		if m, ok := r.find(table); ok {
			t.Errorf("%+v finds %+v", r, m)
		}
	}
}

func TestReveals(t *testing.T) {
	table := mountinfo.Parse(sample)
	for _, tt := range []struct{ dir, own, want string }{
		{"/srv", "/opt/d", ""},
		{"/srv/data", "/home/a/data/sandboxfs", "/srv/data"}, // a bind mount of what is above it
		{"/srv/data/x", "/home/a/data", "/srv/data/x"},       // of a part of it
		{"/srv", "/home/a/data/sandboxfs", "/srv/data"},      // further down
		{"/home/a", "/opt/d", `/home/a/a b\c`},               // a mount of ours
		{"/home/a/m/below", "/opt/d", ""},
	} {
		if got := reveals(table, tt.dir, []string{tt.own}); got != tt.want {
			t.Errorf("%s with %s: %q, want %q", tt.dir, tt.own, got, tt.want)
		}
	}
}
