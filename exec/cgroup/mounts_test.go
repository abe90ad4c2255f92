package cgroup

import (
	"slices"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
)

const hybrid = `22 1 254:0 / / rw - ext4 /dev/vda rw
30 22 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
31 22 0:27 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 22 0:28 / /odd\040place rw - cgroup cgroup rw,pids
33 22 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`

func TestParseMounts(t *testing.T) {
	ms := treesIn(mountinfo.Parse(hybrid))
	for _, c := range []struct{ controller, point, root string }{
		{"cpu", "/sys/fs/cgroup/cpu,cpuacct", "/"},
		{"memory", "/sys/fs/cgroup/memory", "/docker/abc"},
		{"pids", "/odd place", "/"},
		{"freezer", "", ""},
	} {
		m, ok := v1Mount(ms, c.controller)
		if ok != (c.point != "") || m.point != c.point || m.root != c.root {
			t.Errorf("%s: got %+v, %v", c.controller, m, ok)
		}
	}
	if m, ok := v2Mount(ms); !ok || m.point != "/sys/fs/cgroup/unified" {
		t.Errorf("version 2: got %+v, %v", m, ok)
	}
}

func TestParseSelf(t *testing.T) {
	text := "4:memory:/a/b\n3:cpu,cpuacct:/c\n0::/user.slice/x.scope\n"
	if got := parseSelf(text); got != "/user.slice/x.scope" {
		t.Errorf("version 2: got %q", got)
	}
	for c, want := range map[string]string{"memory": "/a/b", "cpuacct": "/c", "cpu": "/c", "pids": "/"} {
		if got := parseV1Self(text, c); got != want {
			t.Errorf("%s: want %q, got %q", c, want, got)
		}
	}
}

func TestV2Places(t *testing.T) {
	for _, c := range []struct {
		name, root, self string
		uid              int
		want             []string
	}{
		{"root at the top", "/", "/", 0, []string{"."}},
		{"root in a service", "/", "/system.slice/x.service", 0, []string{".", "system.slice", "system.slice/x.service"}},
		{"a user", "/", "/user.slice/user-7.slice/session-1.scope", 7, []string{
			"user.slice/user-7.slice/user@7.service", ".", "user.slice", "user.slice/user-7.slice", "user.slice/user-7.slice/session-1.scope"}},
		{"a container's bind", "/docker/abc", "/docker/abc/inner", 0, []string{".", "inner"}},
		{"outside of what is mounted", "/docker/abc", "/elsewhere", 0, []string{"."}},
	} {
		if got := v2Places(mount{root: c.root, version: 2}, c.self, c.uid); !slices.Equal(got, c.want) {
			t.Errorf("%s: want %q, got %q", c.name, c.want, got)
		}
	}
}

// FuzzParse has text of any kind; places must stay inside the tree.
func FuzzParse(f *testing.F) {
	f.Add(hybrid, "0::/a/b\n")
	f.Add("1 2 3:4 /x /y - cgroup2 a b", "0::/../../x")
	f.Add("", "0::")
	f.Fuzz(func(t *testing.T, text, self string) {
		parseV1Self(self, "pids")
		for _, m := range treesIn(mountinfo.Parse(text)) {
			for _, p := range v2Places(m, parseSelf(self), 7) {
				if strings.HasPrefix(p, "/") || slices.Contains(strings.Split(p, "/"), "..") {
					t.Errorf("mount %+v, self %q: place %q leaves the tree", m, self, p)
				}
			}
		}
	})
}

func TestSettings(t *testing.T) {
	l, err := Limits{Memory: 64 << 20, CPUWeight: 200}.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		got  []setting
		want string
	}{
		{v1Settings("pids", l), "pids.max=512"},
		{v1Settings("memory", l), "memory.limit_in_bytes=67108864"},
		{v1Settings("cpu", l), "cpu.shares=2048"},
		{v2Settings("pids", l), "pids.max=512"},
		{v2Settings("memory", l), "memory.max=67108864"},
		{v2Settings("cpu", l), "cpu.weight=200"},
	} {
		if len(c.got) == 0 || c.got[0].file+"="+c.got[0].value != c.want {
			t.Errorf("want %s, got %+v", c.want, c.got)
		}
	}
	if s := v1Settings("pids", Limits{Pids: -1}); s != nil {
		t.Errorf("no limit on tasks: got %+v", s)
	}
	for _, bad := range []Limits{{CPUWeight: -1}, {CPUWeight: 10001}, {Pids: 3}, {Memory: 1000}} {
		if _, err := bad.Resolved(); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
