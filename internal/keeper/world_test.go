package keeper

import (
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/exec/jail"
	"github.com/sandboxfs/sandboxfs/mapping"
)

func TestMountsOfATable(t *testing.T) {
	layout := mapping.Layout{Home: "/h"}
	thread := mapping.Key{Thread: "t"}
	region := func(at string, access mapping.Access) mapping.Region {
		return mapping.Region{Virtual: at, Host: "/x" + at, Agent: access, Operator: access}
	}
	const ro, rw = mapping.ReadOnly, mapping.ReadWrite
	tests := []struct {
		name                             string
		key                              mapping.Key
		custom                           []mapping.Region
		isolated, host, mounts, readOnly string
	}{
		{"a thread", thread, nil, "/mnt", "/mnt", "/mnt/user-data", "/mnt/acp-workspace /mnt/skills /mnt/user-data/uploads"},
		{"no thread", mapping.Key{}, nil, "/mnt", "/mnt", "", "/mnt/skills"},
		{"a custom mount", mapping.Key{}, []mapping.Region{region("/srv/data/in", ro)}, "/mnt /srv", "/mnt /srv/data/in", "", "/mnt/skills /srv/data/in"},
		{"below /mnt", mapping.Key{}, []mapping.Region{region("/mnt/a/b", rw)}, "/mnt", "/mnt", "", "/mnt/skills"},
		{"nested", mapping.Key{}, []mapping.Region{region("/d", ro), region("/d/x/w", rw), region("/d/x/w/v", rw), region("/d/x/w/r", ro), region("/d/x/w/r/w", rw), region("/e", rw), region("/e/r", ro)},
			"/d /e /mnt", "/d /e /mnt", "/d/x/w /d/x/w/r/w", "/d /d/x/w/r /e/r /mnt/skills"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table, err := layout.Table(tt.key, tt.custom...)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				what string
				got  []string
				want string
			}{
				{"isolated", treeDirs(table, jail.Isolated), tt.isolated}, {"host", treeDirs(table, jail.Host), tt.host},
				{"mounts", mounts(table), tt.mounts}, {"read-only", readOnly(table), tt.readOnly},
			} {
				if got := strings.Join(c.got, " "); got != c.want {
					t.Errorf("%s = %q, want %q", c.what, got, c.want)
				}
			}
		})
	}
}
