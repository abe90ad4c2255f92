package provider

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func environment(uid int, pairs ...string) Environment {
	vars := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return Environment{UID: uid, Getenv: func(name string) string { return vars[name] }}
}

func TestResolveDirectories(t *testing.T) {
	for name, c := range map[string]struct {
		config                Config
		env                   Environment
		home, skills, runtime string
	}{
		"root with a home": {env: environment(0, "HOME", "/root"),
			home: "/root/.local/share/sandboxfs", skills: "/root/.local/share/sandboxfs/skills", runtime: "/run/sandboxfs"},
		"user with a home": {env: environment(1000, "HOME", "/home/u"),
			home: "/home/u/.local/share/sandboxfs", skills: "/home/u/.local/share/sandboxfs/skills", runtime: "/tmp/sandboxfs-1000"},
		"XDG": {env: environment(1000, "HOME", "/home/u", "XDG_DATA_HOME", "/data", "XDG_RUNTIME_DIR", "/run/user/1000"),
			home: "/data/sandboxfs", skills: "/data/sandboxfs/skills", runtime: "/run/user/1000/sandboxfs"},
		"XDG of root": {env: environment(0, "HOME", "/root", "XDG_RUNTIME_DIR", "/run/user/0"),
			home: "/root/.local/share/sandboxfs", skills: "/root/.local/share/sandboxfs/skills", runtime: "/run/user/0/sandboxfs"},
		"relative XDG is ignored": {env: environment(1000, "HOME", "/home/u", "XDG_DATA_HOME", "data", "XDG_RUNTIME_DIR", "run"),
			home: "/home/u/.local/share/sandboxfs", skills: "/home/u/.local/share/sandboxfs/skills", runtime: "/tmp/sandboxfs-1000"},
		"our own variables": {env: environment(0, "XDG_DATA_HOME", "/data", "XDG_RUNTIME_DIR", "/run/user/0", "SANDBOXFS_HOME", "/h", "SANDBOXFS_RUNTIME_DIR", "/r"),
			home: "/h", skills: "/h/skills", runtime: "/r"},
		"the configuration wins": {config: Config{Home: "/c", SkillsDir: "/s", RuntimeDir: "/q"},
			env:  environment(0, "SANDBOXFS_HOME", "/h", "SANDBOXFS_RUNTIME_DIR", "/r"),
			home: "/c", skills: "/s", runtime: "/q"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.config.Resolve(c.env)
			if err != nil {
				t.Fatal(err)
			}
			if got.Home != c.home || got.SkillsDir != c.skills || got.RuntimeDir != c.runtime {
				t.Errorf("home %q, skills %q, runtime %q; want %q, %q, %q", got.Home, got.SkillsDir, got.RuntimeDir, c.home, c.skills, c.runtime)
			}
			again, err := got.Resolve(environment(0))
			if err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("a resolved configuration resolves to %+v, %v; want itself", again, err)
			}
		})
	}
}

func TestResolveFillsInTheRest(t *testing.T) {
	vars := map[string]string{"K": "V"}
	got, err := Config{Home: "/h", Environment: vars}.Resolve(environment(0))
	if err != nil {
		t.Fatal(err)
	}
	want := LocalConfig{Tier: "isolated", Net: "host", MaxSandboxes: 256, Ownership: "owner"}
	if got.Use != "local" || got.IdleTimeout != 600 || got.Local != want {
		t.Errorf("resolved %+v", got)
	}
	vars["K"] = "changed"
	if got.Environment["K"] != "V" {
		t.Error("the resolved configuration shares a map with its origin")
	}
}

func TestResolveRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		env    Environment
		kind   Kind
		want   string
	}{
		"no home":              {Config{}, environment(0), Invalid, "SANDBOXFS_HOME"},
		"relative home":        {Config{}, environment(0, "SANDBOXFS_HOME", "data"), Invalid, `"data" is not an absolute path`},
		"relative skills":      {Config{Home: "/h", SkillsDir: "s"}, environment(0), Invalid, "skills directory"},
		"relative runtime":     {Config{Home: "/h", RuntimeDir: "r"}, environment(0), Invalid, "SANDBOXFS_RUNTIME_DIR"},
		"NUL":                  {Config{Home: "/h\x00"}, environment(0), Invalid, "absolute path"},
		"tier":                 {Config{Home: "/h", Local: LocalConfig{Tier: "Isolated"}}, environment(0), Invalid, "use isolated or host"},
		"net":                  {Config{Home: "/h", Local: LocalConfig{Net: "off"}}, environment(0), Invalid, "use host or none"},
		"ownership":            {Config{Home: "/h", Local: LocalConfig{Ownership: "root"}}, environment(0), Invalid, "use owner or preserve"},
		"negative cap":         {Config{Home: "/h", Local: LocalConfig{MaxSandboxes: -1}}, environment(0), Invalid, "256"},
		"host tier":            {Config{Home: "/h", Local: LocalConfig{Tier: "host"}}, environment(0), Denied, "SANDBOXFS_ALLOW_HOST_BASH"},
		"preserve, not root":   {Config{Home: "/h", Local: LocalConfig{Ownership: "preserve"}}, environment(1000), Invalid, "needs root"},
		"environment name":     {Config{Home: "/h", Environment: map[string]string{"A\n": "x"}}, environment(0), Invalid, "letters, digits"},
		"environment NUL":      {Config{Home: "/h", Environment: map[string]string{"A": "x\x00"}}, environment(0), Invalid, "NUL"},
		"environment no name":  {Config{Home: "/h", Environment: map[string]string{"": "x"}}, environment(0), Invalid, "letters, digits"},
		"environment 1st char": {Config{Home: "/h", Environment: map[string]string{"1A": "x"}}, environment(0), Invalid, "letters, digits"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.config.Resolve(c.env)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want the kind %q and a text with %q", err, c.kind, c.want)
			}
			var e *Error
			if errors.As(err, &e) && e.Next == "" {
				t.Errorf("the message does not say what to do: %v", err)
			}
		})
	}
}

func TestResolveAllows(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		uid    int
	}{
		"host tier when allowed": {Config{Home: "/h", AllowHostBash: true, Local: LocalConfig{Tier: "host"}}, 1000},
		"preserve as root":       {Config{Home: "/h", Local: LocalConfig{Ownership: "preserve"}}, 0},
		"no network":             {Config{Home: "/h", Local: LocalConfig{Net: "none"}}, 1000},
	} {
		if _, err := c.config.Resolve(environment(c.uid)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIdle(t *testing.T) {
	for seconds, want := range map[int]time.Duration{0: 10 * time.Minute, 5: 5 * time.Second, -1: 0} {
		if got := (Config{IdleTimeout: seconds}).Idle(); got != want {
			t.Errorf("Idle of %d = %v, want %v", seconds, got, want)
		}
	}
}

func TestCommandValidate(t *testing.T) {
	for name, c := range map[string]struct {
		command Command
		want    string // "" means valid
	}{
		"argv":               {Command{Argv: []string{"ls", ""}}, ""},
		"script":             {Command{Script: "ls", Dir: "/mnt", Env: map[string]string{"_A1": ""}, Session: "s"}, ""},
		"nothing":            {Command{}, "no command"},
		"both":               {Command{Argv: []string{"ls"}, Script: "ls"}, "one of them"},
		"session of argv":    {Command{Argv: []string{"ls"}, Session: "s"}, "script"},
		"relative directory": {Command{Script: "ls", Dir: "x"}, "not absolute"},
		"empty program":      {Command{Argv: []string{""}}, "empty"},
		"NUL in argv":        {Command{Argv: []string{"ls", "a\x00"}}, "NUL"},
		"NUL in script":      {Command{Script: "ls\x00"}, "NUL"},
		"bad variable":       {Command{Script: "ls", Env: map[string]string{"A=B": ""}}, "A=B"},
		"NUL in variable":    {Command{Script: "ls", Env: map[string]string{"A": "\x00"}}, "NUL"},
	} {
		err := c.command.Validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.Is(err, Invalid) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want invalid with %q", name, err, c.want)
		}
	}
}

func FuzzIsEnvName(f *testing.F) {
	for _, seed := range []string{"PATH", "_", "a1", "1a", "", "A=B", "A\n", "Ä"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
		want := name != "" && strings.Trim(name, letters+"0123456789") == "" && strings.Contains(letters, name[:min(1, len(name))])
		if got := IsEnvName(name); got != want {
			t.Errorf("IsEnvName(%q) = %v, want %v", name, got, want)
		}
	})
}
