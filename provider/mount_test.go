package provider

import (
	"errors"
	"path"
	"strings"
	"testing"
)

func TestContainerPaths(t *testing.T) {
	for p, want := range map[string]string{
		"/data": "", "/srv/a/b": "", "/mnt/extra": "", "/mnt/user-data2": "", "/mnt/skillsX/y": "", "/home/u/project": "", "/root/x": "", "/usr2": "", "/Usr": "",
		"/":  "contains /mnt/user-data",
		"":   "not an absolute path",
		"x":  "not an absolute path",
		"//": "not an absolute path", "/data/": "not an absolute path", "/a/../b": "not an absolute path", "/a/./b": "not an absolute path", "/a\x00": "not an absolute path",
		"/a\xff": "UTF-8",
		"/mnt":   "contains /mnt/user-data", "/mnt/user-data": "own", "/mnt/user-data/x": "lies in /mnt/user-data", "/mnt/user-data/workspace/a": "lies in", "/mnt/skills": "own",
		"/mnt/skills/x": "lies in /mnt/skills", "/mnt/acp-workspace": "own", "/mnt/acp-workspace/x": "lies in",
		"/proc": "system", "/proc/x": "system", "/sys": "system", "/dev/shm/x": "system", "/usr": "system", "/usr/local/data": "system", "/bin": "system", "/sbin": "system",
		"/lib": "system", "/lib64/x": "system", "/libx32": "system", "/etc/x": "system", "/tmp": "system", "/tmp/x": "system", "/var/data": "system", "/run/x": "system", "/opt/x": "system", "/boot": "system",
		"/" + strings.Repeat("x", MaxContainerPath): "more than",
	} {
		err := Mount{HostPath: "/srv", ContainerPath: p}.Validate()
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", p, err)
		case want != "" && (!errors.Is(err, Invalid) || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want invalid with %q", p, err, want)
		}
	}
}

func TestMountsTogether(t *testing.T) {
	mount := func(host, at string) Mount { return Mount{HostPath: host, ContainerPath: at} }
	many := make([]Mount, MaxMounts+1)
	for i := range many {
		many[i] = mount("/srv", "/data/"+strings.Repeat("x", i+1))
	}
	for name, c := range map[string]struct {
		mounts []Mount
		want   string
	}{
		"nested":                    {[]Mount{mount("/srv/a", "/data"), mount("/srv/b", "/data/inner")}, ""},
		"one directory twice":       {[]Mount{mount("/srv/a", "/data"), mount("/srv/a", "/other")}, ""},
		"as many as allowed":        {many[1:], ""},
		"one more":                  {many, "more than 64"},
		"two at one place":          {[]Mount{mount("/srv/a", "/data"), mount("/srv/b", "/data")}, "two mounts"},
		"relative host":             {[]Mount{mount("srv", "/data")}, "not absolute"},
		"unclean host":              {[]Mount{mount("/srv/../etc", "/data")}, "not absolute and clean"},
		"the whole host":            {[]Mount{mount("/", "/data")}, "the whole host"},
		"the data directory":        {[]Mount{mount("/var/lib/sb", "/data")}, "data directory"},
		"in the data directory":     {[]Mount{mount("/var/lib/sb/users/u", "/data")}, "data directory"},
		"above the data directory":  {[]Mount{mount("/var/lib", "/data")}, "data directory"},
		"beside the data directory": {[]Mount{mount("/var/lib/sb2", "/data")}, ""},
		"the runtime directory":     {[]Mount{mount("/run/sb", "/data")}, "runtime directory"},
		"above the runtime one":     {[]Mount{mount("/run", "/data")}, "sockets"},
		"writable skills":           {[]Mount{mount("/skills/public", "/data")}, "skills directory"},
		"read-only skills":          {[]Mount{{HostPath: "/skills/public", ContainerPath: "/data", ReadOnly: true}}, ""},
		"/proc":                     {[]Mount{mount("/proc/1/root", "/data")}, "kernel's"},
		"/sys":                      {[]Mount{mount("/sys", "/data")}, "kernel's"},
		"/dev":                      {[]Mount{mount("/dev", "/data")}, "kernel's"},
		"/dev/shm":                  {[]Mount{mount("/dev/shm", "/data")}, "kernel's"},
		"in /dev/shm":               {[]Mount{mount("/dev/shm/mine", "/data")}, ""},
	} {
		config := Config{Home: "/var/lib/sb", RuntimeDir: "/run/sb", SkillsDir: "/skills", Mounts: c.mounts}
		_, err := config.Resolve(environment(0))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.Is(err, Invalid) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want invalid with %q", name, err, c.want)
		}
	}
	// The default directories count as well.
	home := Config{Mounts: []Mount{mount("/home/u", "/data")}}
	if _, err := home.Resolve(environment(1000, "HOME", "/home/u")); !errors.Is(err, Invalid) {
		t.Errorf("a mount of the home directory: %v, want invalid", err)
	}
}

// Whatever the path, what is accepted hides nothing of a sandbox's own.
func FuzzMount(f *testing.F) {
	for _, seed := range []string{"/data", "/mnt/skills", "/mnt/./x", "/usr/", "//mnt", "/mnt/user-data\x00", "/é"} {
		f.Add("/srv", seed)
		f.Add(seed, "/data")
	}
	f.Fuzz(func(t *testing.T, host, container string) {
		if (Config{Home: "/h/d", RuntimeDir: "/h/r", Mounts: []Mount{{HostPath: host, ContainerPath: container}}}).Validate() != nil {
			return
		}
		touches := func(a, b string) bool { return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/") }
		for _, own := range []string{"/mnt/user-data", "/mnt/skills", "/mnt/acp-workspace", "/usr", "/proc", "/etc", "/tmp", "/lib64", "/opt"} {
			if touches(path.Clean(container), own) || container == "/" {
				t.Errorf("%q is accepted beside %s", container, own)
			}
		}
		if clean := path.Clean(host); touches(clean, "/h/d") || touches(clean, "/h/r") || clean == "/" || touches(clean, "/proc") || !path.IsAbs(host) {
			t.Errorf("the host path %q is accepted", host)
		}
	})
}
