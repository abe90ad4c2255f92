package mapping

import (
	"path"
	"slices"
	"strings"
	"testing"
)

func TestLayoutOfAThread(t *testing.T) {
	const home = "/srv/data"
	for name, key := range map[string]Key{"default user": {Thread: "t1"}, "named user": {User: "alice", Thread: "t1"}} {
		t.Run(name, func(t *testing.T) {
			table, err := Layout{Home: home}.Table(key)
			if err != nil {
				t.Fatal(err)
			}
			own := home + "/users/" + key.Normalize().User + "/threads/t1"
			want := []Region{
				{Virtual: "/mnt/user-data/workspace", Host: own + "/user-data/workspace"},
				{Virtual: "/mnt/user-data/outputs", Host: own + "/user-data/outputs"},
				{Virtual: "/mnt/user-data/uploads", Host: own + "/user-data/uploads", Agent: ReadOnly},
				{Virtual: "/mnt/acp-workspace", Host: own + "/acp-workspace", Agent: ReadOnly},
				{Virtual: "/mnt/skills", Host: home + "/skills", Agent: ReadOnly, Operator: ReadOnly},
			}
			got := table.Regions()
			for _, w := range want {
				if !slices.Contains(got, w) {
					t.Errorf("no region %+v", w)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d regions, want %d: %v", len(got), len(want), got)
			}
		})
	}
}

func TestLayoutOfTheGenericSandbox(t *testing.T) {
	l := Layout{Home: "/srv/data"}
	table, err := l.Table(Key{}, Region{Virtual: "/mnt/tools", Host: "/opt/tools"})
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Children("/mnt"); !slices.Equal(got, []string{"skills", "tools"}) {
		t.Errorf("/mnt has %q, want skills and tools", got)
	}
	for _, parts := range [][]string{l.ThreadParts(Key{}), l.UserDataParts(Key{User: "alice"}), l.ACPWorkspaceParts(Key{})} {
		if parts != nil {
			t.Errorf("a key without a thread owns %q", parts)
		}
	}
}

func TestTwoThreadsShareNothingButSkills(t *testing.T) {
	l := Layout{Home: "/srv/data"}
	keys := []Key{{Thread: "a"}, {Thread: "b"}, {User: "a", Thread: "a"}, {User: "b", Thread: "a"}, {User: "users", Thread: "threads"}, {User: "threads", Thread: "a"}}
	for i, one := range keys {
		for _, other := range keys[i+1:] {
			first, err := l.Table(one)
			if err != nil {
				t.Fatal(err)
			}
			second, err := l.Table(other)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range first.Regions() {
				v, ok := second.Reverse(path.Join(r.Host, "x"))
				if shared := r.Virtual == Skills; ok != shared {
					t.Errorf("%s of %q is seen by %q at %q", r.Virtual, one, other, v)
				}
			}
		}
	}
}

func TestLayoutParts(t *testing.T) {
	l := Layout{Home: "/srv/data"}
	k := Key{User: "alice", Thread: "t"}
	for want, parts := range map[string][]string{
		"users/alice/threads/t":               l.ThreadParts(k),
		"users/alice/threads/t/user-data":     l.UserDataParts(k),
		"users/alice/threads/t/acp-workspace": l.ACPWorkspaceParts(k),
		"users/default/threads/t":             l.ThreadParts(Key{Thread: "t"}),
	} {
		if got := strings.Join(parts, "/"); got != want || slices.Contains(parts, "") {
			t.Errorf("the parts are %q, want %q", parts, want)
		}
	}
	// They are the table's own: whoever opens by parts opens what is mapped.
	table, err := l.Table(k)
	if err != nil {
		t.Fatal(err)
	}
	r, _, _ := table.Lookup(Uploads)
	if want := path.Join(append([]string{l.Home}, append(l.UserDataParts(k), "uploads")...)...); r.Host != want {
		t.Errorf("uploads is mapped to %q, its parts lead to %q", r.Host, want)
	}
}

func TestLayoutSettings(t *testing.T) {
	if got := (Layout{Home: "/h", SkillsDir: "/opt/skills"}).Skills(); got != "/opt/skills" {
		t.Errorf("Skills = %q", got)
	}
	for name, c := range map[string]struct {
		layout Layout
		key    Key
		custom []Region
		want   string
	}{
		"relative home":    {layout: Layout{Home: "data"}, key: Key{Thread: "t"}, want: "host directory"},
		"no home":          {key: Key{Thread: "t"}, want: "host directory"},
		"unclean skills":   {layout: Layout{Home: "/h", SkillsDir: "/s/../x"}, want: "host directory"},
		"reserved place":   {layout: Layout{Home: "/h"}, key: Key{Thread: "t"}, custom: []Region{{Virtual: Workspace, Host: "/x"}}, want: "twice"},
		"bad custom place": {layout: Layout{Home: "/h"}, custom: []Region{{Virtual: "x", Host: "/x"}}, want: "virtual path"},
		"bad thread":       {layout: Layout{Home: "/h"}, key: Key{Thread: ".."}, want: "thread id"},
		"bad user":         {layout: Layout{Home: "/h"}, key: Key{User: "..", Thread: "t"}, want: "user id"},
	} {
		if _, err := c.layout.Table(c.key, c.custom...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
}

func TestACustomRegionNestsInAReadOnlyOne(t *testing.T) {
	table, err := Layout{Home: "/h"}.Table(Key{Thread: "t"}, Region{Virtual: Skills + "/mine", Host: "/x"})
	if err != nil {
		t.Fatal(err)
	}
	inner, rest, _ := table.Lookup(Skills + "/mine/a")
	outer, _, _ := table.Lookup(Skills + "/a")
	if inner.Access(AgentView) != ReadWrite || rest != "a" || outer.Access(AgentView) != ReadOnly {
		t.Errorf("the inner region is %v, the outer %v; want rw in ro", inner.Access(AgentView), outer.Access(AgentView))
	}
}
