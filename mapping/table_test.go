package mapping

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
)

func region(virtual, host string) Region { return Region{Virtual: virtual, Host: host} }

func mustTable(t testing.TB, regions ...Region) *Table {
	t.Helper()
	table, err := NewTable(regions...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestNewTableRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		regions []Region
		want    string
	}{
		"relative virtual":  {[]Region{region("mnt", "/h")}, "virtual path"},
		"empty virtual":     {[]Region{region("", "/h")}, "virtual path"},
		"virtual root":      {[]Region{region("/", "/h")}, "not /"},
		"trailing slash":    {[]Region{region("/mnt/", "/h")}, "clean"},
		"double slash":      {[]Region{region("//mnt", "/h")}, "clean"},
		"dots":              {[]Region{region("/mnt/../etc", "/h")}, "clean"},
		"dot":               {[]Region{region("/mnt/.", "/h")}, "clean"},
		"NUL in virtual":    {[]Region{region("/mnt\x00", "/h")}, "virtual path"},
		"relative host":     {[]Region{region("/mnt", "h")}, "host directory"},
		"empty host":        {[]Region{region("/mnt", "")}, "host directory"},
		"host with dots":    {[]Region{region("/mnt", "/h/../etc")}, "host directory"},
		"NUL in host":       {[]Region{region("/mnt", "/h\x00")}, "host directory"},
		"twice":             {[]Region{region("/mnt/a", "/h"), region("/mnt/b", "/h"), region("/mnt/a", "/i")}, "twice"},
		"bad one among 2nd": {[]Region{region("/mnt/a", "/h"), region("b", "/h")}, "virtual path"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewTable(c.regions...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
			for _, r := range c.regions {
				if len(r.Host) > 2 && strings.Contains(err.Error(), r.Host) {
					t.Errorf("the message shows a host path: %v", err)
				}
			}
		})
	}
}

func TestLookup(t *testing.T) {
	table := mustTable(t,
		region("/mnt/user-data/workspace", "/h/w"),
		region("/mnt/user-data/workspace/deep/er", "/h/d"),
		region("/mnt/skills", "/s"),
		region("/mnt/skills2", "/s2"),
		region("/a", "/"),
	)
	for virtual, want := range map[string]string{
		"/mnt/user-data/workspace":                  "/h/w:",
		"/mnt/user-data/workspace/":                 "/h/w:",
		"/mnt/user-data/workspace/x/y":              "/h/w:x/y",
		"/mnt/user-data/workspace/deep":             "/h/w:deep",
		"/mnt/user-data/workspace/deep/error":       "/h/w:deep/error",
		"/mnt/user-data/workspace/deep/er":          "/h/d:",
		"/mnt/user-data/workspace/deep/er/x":        "/h/d:x",
		"/mnt/user-data/workspace/deep/er/../x":     "/h/w:deep/x",
		"/mnt/user-data/workspace/../../skills/x":   "/s:x",
		"//mnt///skills//x/./y":                     "/s:x/y",
		"/mnt/skills2/x":                            "/s2:x",
		"/mnt/skills22":                             "",
		"/mnt/skill":                                "",
		"/mnt/user-data/workspace/../../../../etc":  "",
		"/mnt/user-data/workspacex":                 "",
		"/mnt/user-data":                            "",
		"/mnt":                                      "",
		"/":                                         "",
		"":                                          "",
		"mnt/skills":                                "",
		"./mnt/skills":                              "",
		"/mnt/skills/x\x00":                         "",
		"/a/etc/passwd":                             "/:etc/passwd",
		"/a":                                        "/:",
		"/mnt/skills/\xff\n":                        "/s:\xff\n",
		"/mnt/skills/" + strings.Repeat("x/", 2000): "/s:" + strings.Repeat("x/", 1999) + "x",
	} {
		r, rest, ok := table.Lookup(virtual)
		got := ""
		if ok {
			got = r.Host + ":" + rest
		}
		if got != want {
			t.Errorf("Lookup(%.60q) = %.60q, want %.60q", virtual, got, want)
		}
	}
}

func TestReverse(t *testing.T) {
	table := mustTable(t,
		region("/mnt/user-data/workspace", "/h/t/w"),
		region("/mnt/shared", "/h"),
		region("/mnt/shared/t/o", "/elsewhere"),
		region("/mnt/zz", "/twice"), region("/mnt/aa", "/twice"), region("/mnt/longer", "/twice"),
	)
	for host, want := range map[string]string{
		"/h/t/w":         "/mnt/user-data/workspace",
		"/h/t/w/x":       "/mnt/user-data/workspace/x",
		"/h/t/w/../x":    "/mnt/shared/t/x",
		"/h/t/wx":        "/mnt/shared/t/wx",
		"/h":             "/mnt/shared",
		"/h/":            "/mnt/shared",
		"/h/t/o":         "", // in the virtual world another directory is there
		"/h/t/o/x":       "",
		"/h/t/ox":        "/mnt/shared/t/ox",
		"/elsewhere/x":   "/mnt/shared/t/o/x",
		"/twice/x":       "/mnt/aa/x",
		"/hh":            "",
		"/":              "",
		"":               "",
		"h":              "",
		"/h/x\x00":       "",
		"/h/../etc":      "",
		"/twice/../h/t/": "/mnt/shared/t",
	} {
		got, ok := table.Reverse(host)
		if got != want || ok != (want != "") {
			t.Errorf("Reverse(%q) = %q, %v; want %q", host, got, ok, want)
		}
	}
}

func TestChildrenAndSynthetic(t *testing.T) {
	table := mustTable(t, region("/mnt/user-data/workspace", "/w"), region("/mnt/user-data/outputs", "/o"), region("/mnt/skills", "/s"), region("/mnt/user-data/workspace/a/b", "/n"))
	for dir, want := range map[string]struct {
		children  []string
		synthetic bool
	}{
		"/":                           {[]string{"mnt"}, true},
		"/mnt":                        {[]string{"skills", "user-data"}, true},
		"/mnt/":                       {[]string{"skills", "user-data"}, true},
		"/mnt/user-data":              {[]string{"outputs", "workspace"}, true},
		"/mnt/user-data/workspace":    {[]string{"a"}, false},
		"/mnt/user-data/workspace/a":  {[]string{"b"}, false},
		"/mnt/skills":                 {[]string{}, false},
		"/mnt/user":                   {[]string{}, false},
		"/etc":                        {[]string{}, false},
		"mnt":                         {[]string{}, false},
		"":                            {[]string{}, false},
		"/mnt/user-data/../user-data": {[]string{"outputs", "workspace"}, true},
	} {
		if got := table.Children(dir); !slices.Equal(got, want.children) {
			t.Errorf("Children(%q) = %q, want %q", dir, got, want.children)
		}
		if got := table.IsSynthetic(dir); got != want.synthetic {
			t.Errorf("IsSynthetic(%q) = %v, want %v", dir, got, want.synthetic)
		}
	}
	var empty Table
	if _, _, ok := empty.Lookup("/mnt"); ok || len(empty.Regions()) != 0 || !empty.IsSynthetic("/") || len(empty.Children("/")) != 0 {
		t.Error("the zero Table is not an empty one")
	}
	if _, ok := empty.Reverse("/mnt"); ok {
		t.Error("the zero Table names a host path")
	}
}

func TestTableIsNotSharedWithItsCaller(t *testing.T) {
	regions := []Region{region("/a", "/1"), region("/b/c", "/2")}
	table := mustTable(t, regions...)
	regions[0].Host = "/changed"
	table.Regions()[0].Host = "/changed"
	if r, _, _ := table.Lookup("/a"); r.Host != "/1" {
		t.Errorf("the table changed with its caller's slice: %q", r.Host)
	}
	if got := table.Regions(); got[0].Virtual != "/b/c" || got[0].Host != "/2" {
		t.Errorf("Regions = %v, want the longest first", got)
	}
}

func TestAccessOfViews(t *testing.T) {
	r := Region{Agent: ReadOnly, Operator: ReadWrite}
	if r.Access(AgentView) != ReadOnly || r.Access(OperatorView) != ReadWrite {
		t.Error("the views are mixed up")
	}
	if s := fmt.Sprint(ReadOnly, ReadWrite, AgentView, OperatorView); s != "ro rw agent operator" {
		t.Errorf("the names are %q", s)
	}
}

// randomTable draws from so few names that regions nest, meet and share host
// directories all the time.
func randomTable(t testing.TB, rnd *rand.Rand) *Table {
	for {
		var regions []Region
		for range rnd.IntN(6) {
			regions = append(regions, region(randomPath(rnd, 1, 4), randomPath(rnd, 0, 3)))
		}
		if table, err := NewTable(regions...); err == nil {
			return table
		} else if !strings.Contains(err.Error(), "twice") {
			t.Fatalf("a table of clean paths was refused: %v", err)
		}
	}
}

func randomPath(rnd *rand.Rand, least, most int) string {
	var b strings.Builder
	for range least + rnd.IntN(most-least+1) {
		b.WriteString("/" + []string{"a", "b", "ab"}[rnd.IntN(3)])
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

func randomQuery(rnd *rand.Rand) string {
	var b strings.Builder
	for range rnd.IntN(7) {
		b.WriteString([]string{"/a", "/b", "/ab", "/..", "/.", "//", "/a/", "x"}[rnd.IntN(8)])
	}
	return b.String()
}

func TestTableAgreesWithTheReference(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	named, hidden := 0, 0
	for range 50_000 {
		table := randomTable(t, rnd)
		p := randomQuery(rnd)
		n, h := compare(t, table, p)
		named, hidden = named+n, hidden+h
		if t.Failed() {
			return
		}
	}
	if named < 1000 || hidden < 100 {
		t.Errorf("only %d names and %d hidden paths were met; the test has lost its point", named, hidden)
	}
}

// compare checks everything that can be asked about one path, and counts the
// host paths with a name and those whose region hides them.
func compare(t testing.TB, table *Table, p string) (named, hidden int) {
	t.Helper()
	regions := table.Regions()
	r, rest, ok := table.Lookup(p)
	wantR, wantRest, wantOK := referenceLookup(regions, p)
	if r != wantR || rest != wantRest || ok != wantOK {
		t.Errorf("%v: Lookup(%q) = %q, %q, %v; the reference has %q, %q, %v", regions, p, r.Virtual, rest, ok, wantR.Virtual, wantRest, wantOK)
	}
	v, vok := table.Reverse(p)
	wantV, wantVOK := referenceReverse(regions, p)
	if v != wantV || vok != wantVOK {
		t.Errorf("%v: Reverse(%q) = %q, %v; the reference has %q, %v", regions, p, v, vok, wantV, wantVOK)
	}
	if got, want := table.Children(p), referenceChildren(regions, p); !slices.Equal(got, want) {
		t.Errorf("%v: Children(%q) = %q; the reference has %q", regions, p, got, want)
	}
	if vok { // there and back again
		named++
		r, rest, ok := table.Lookup(v)
		if !ok || path.Join(r.Host, rest) != path.Clean(p) {
			t.Errorf("%v: %q is named %q, which leads to %q", regions, p, v, path.Join(r.Host, rest))
		}
	} else {
		for _, r := range regions {
			if _, in := under(path.Clean(p), r.Host); in && path.IsAbs(p) {
				hidden++
				break
			}
		}
	}
	if ok { // what is in the virtual world has a name
		back, named := table.Reverse(path.Join(r.Host, rest))
		if r2, rest2, _ := table.Lookup(back); !named || path.Join(r2.Host, rest2) != path.Join(r.Host, rest) {
			t.Errorf("%v: %q leads to a host path that is named %q, %v", regions, p, back, named)
		}
	}
	return named, hidden
}

// FuzzTable takes regions as lines "VIRTUAL HOST" and one path to ask about.
func FuzzTable(f *testing.F) {
	for _, seed := range [][2]string{
		{"/mnt/user-data/workspace /h/w\n/mnt/skills /s", "/mnt/user-data/workspace/../uploads/x"},
		{"/a /h\n/a/b /i\n/c /h/b", "/h/b/x"},
		{"/a /\n/a/a /a", "/a/a"},
		{"/a /x\n/ab /x", "/x/../ab"},
		{"/a /x\n/a/x /y", "//a//x/./.."},
		{"", "/"},
		{"/\xff /\xfe", "/\xff/\x00"},
		{"/a /b c", "/b c"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, lines, p string) {
		var regions []Region
		for line := range strings.SplitSeq(lines, "\n") {
			virtual, host, _ := strings.Cut(line, " ")
			if line != "" {
				regions = append(regions, region(virtual, host))
			}
		}
		table, err := NewTable(regions...)
		if err != nil {
			return
		}
		for _, r := range regions {
			if parts, ok := components(r.Virtual); !ok || len(parts) == 0 || "/"+strings.Join(parts, "/") != r.Virtual {
				t.Errorf("the region %q was accepted", r.Virtual)
			}
			if parts, ok := components(r.Host); !ok || "/"+strings.Join(parts, "/") != r.Host {
				t.Errorf("the host directory %q was accepted", r.Host)
			}
		}
		compare(t, table, p)
	})
}

func BenchmarkLookup(b *testing.B) {
	table, err := Layout{Home: "/home/u/.local/share/sandboxfs"}.Table(Key{Thread: "t"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		table.Lookup("/mnt/user-data/workspace/src/main.go")
	}
}
