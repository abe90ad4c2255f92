package jail

import (
	"strings"
	"testing"
)

func TestFilterResolv(t *testing.T) {
	const in = "# a comment\nsearch corp.example\ndomain corp.example\nnameserver 10.0.0.1\n\toptions  edns0 trust-ad\nsortlist 1.2.3.4\nnameserver\n"
	const want = "nameserver 10.0.0.1\noptions edns0 trust-ad\n"
	if got := filterResolv(in); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func FuzzFilterResolv(f *testing.F) {
	f.Add("search a\nnameserver 1.1.1.1")
	f.Add("nameserver\x00search x")
	f.Fuzz(func(t *testing.T, text string) {
		for line := range strings.Lines(filterResolv(text)) {
			if !strings.HasPrefix(line, "nameserver ") && !strings.HasPrefix(line, "options ") {
				t.Errorf("%q lets %q through", text, line)
			}
		}
	})
}

// FuzzSpec has a checked spec keep every path where it belongs.
func FuzzSpec(f *testing.F) {
	f.Add("/mnt", "/mnt/skills", "sandbox", "/mnt/user-data/workspace")
	f.Add("/mnt/../usr", "/mnt/../etc", "a b", "/x:/y")
	f.Add("/", "", "", "")
	f.Fuzz(func(t *testing.T, dir, readOnly, host, home string) {
		s, err := Spec{Tier: Isolated, Net: NetNone, HostUID: 1, HostGID: 1, TreeDirs: []string{dir},
			ReadOnly: []string{readOnly}, Hostname: host, Home: home,
			Listener: devNull, Serve: noServer}.resolved()
		if err != nil {
			return
		}
		if strings.Count(dir, "/") != 1 || strings.Contains(dir, "\x00") || reservedDirs[strings.Trim(dir, "/")] || len(dir) < 2 || dir == "/.." || dir == "/." {
			t.Errorf("tree directory %q is accepted", dir)
		}
		if readOnly != dir && !strings.HasPrefix(readOnly, dir+"/") || strings.Contains("/"+readOnly+"/", "/../") {
			t.Errorf("read-only path %q is accepted in %q", readOnly, dir)
		}
		passwd := generated(&world{Home: s.Home, Hostname: s.Hostname, Net: NetNone})["passwd"]
		if strings.Count(passwd, "\n") != 3 || strings.Count(passwd, ":") != 18 {
			t.Errorf("home %q makes passwd %q", home, passwd)
		}
		if strings.ContainsAny(s.Hostname, " \t\n") {
			t.Errorf("host name %q is accepted", s.Hostname)
		}
	})
}
