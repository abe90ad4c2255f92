package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

// load loads a file's text with an environment of pairs.
func load(t testing.TB, text string, env map[string]string, flags map[string]string) (*Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Sources{File: file, Getenv: func(n string) string { return env[n] }, Flags: flags})
}

func mustLoad(t testing.TB, text string, env map[string]string, flags map[string]string) *Config {
	t.Helper()
	c, err := load(t, text, env, flags)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryKeyIsRead(t *testing.T) {
	c := mustLoad(t, `
models: [{name: x, api_key: $NOT_LOOKED_AT}]
sandbox:
  use: local
  allow_host_bash: yes
  image: registry.example/image:1
  port: 9000
  replicas: 5
  container_prefix: box
  idle_timeout: 30
  mounts:
    - host_path: /srv/data
      container_path: /data
      read_only: true
    - {host_path: ~/files, container_path: /mnt/work}
  environment:
    A: $FROM_HOST
    B: ${FROM_HOST}
    C: $$literal
    D: pa$FROM_HOST
    E: 12
    F: true
    G:
  shell: persistent
  bash_command_timeout: 2.5
  bash_output_max_chars: 1
  read_file_output_max_chars: 2
  ls_output_max_chars: 3
  home: $MY_HOME
  skills_dir: /skills/
  runtime_dir: /run/x
  local:
    tier: host
    net: none
    ownership: preserve
    max_sandboxes: 7
    quota: {bytes: 10GiB, files: 100}
  audit: {sync: always, required: false, rules: /etc/rules.yaml, max_bytes: 1MiB, max_age: 1h}
`, map[string]string{"FROM_HOST": "value", "MY_HOME": "/data/home", "HOME": "/home/u"}, nil)
	want := Settings{
		Provider: provider.Config{
			Use: "local", Home: "/data/home", SkillsDir: "/skills", RuntimeDir: "/run/x", AllowHostBash: true, IdleTimeout: 30, Shell: "persistent",
			Environment: map[string]string{"A": "value", "B": "value", "C": "$literal", "D": "pa$FROM_HOST", "E": "12", "F": "true", "G": ""},
			Mounts:      []provider.Mount{{HostPath: "/srv/data", ContainerPath: "/data", ReadOnly: true}, {HostPath: "/home/u/files", ContainerPath: "/mnt/work"}},
			Local: provider.LocalConfig{Tier: "host", Net: "none", Ownership: "preserve", MaxSandboxes: 7,
				Quota: provider.QuotaConfig{Bytes: 10 << 30, Files: 100}},
		},
		Image: "registry.example/image:1", Port: 9000, Replicas: 5, ContainerPrefix: "box", Idle: 30 * time.Second,
		BashOutputMaxChars: 1, ReadFileOutputMaxChars: 2, LsOutputMaxChars: 3, CommandTimeout: 2500 * time.Millisecond,
		Audit: Audit{Sync: "always", Rules: "/etc/rules.yaml", MaxBytes: 1 << 20, MaxAge: time.Hour},
	}
	if !reflect.DeepEqual(c.Settings, want) {
		t.Errorf("read\n%+v, want\n%+v", c.Settings, want)
	}
	for _, v := range c.Values() {
		if v.Kind != "file" || v.Line == 0 {
			t.Errorf("%s came from %v, want the file; is it in this test's text?", v.Key, v.Origin)
		}
	}
	if len(c.Warnings) != 0 {
		t.Errorf("warnings: %q", c.Warnings)
	}
}

func TestPrecedence(t *testing.T) {
	const file = "sandbox:\n  local:\n    net: none\n    tier: host\n"
	env := map[string]string{"SANDBOXFS_NET": "host", "SANDBOXFS_PORT": ""}
	for _, c := range []struct {
		name       string
		text       string
		env, flags map[string]string
		net        string
		origin     string
	}{
		{"default", "", nil, nil, "host", "default"},
		{"file", file, nil, nil, "none", ":3"},
		{"environment", file, env, nil, "host", "$SANDBOXFS_NET"},
		{"flag", file, env, map[string]string{"local.net": "none"}, "none", "--net"},
	} {
		cfg := mustLoad(t, c.text, c.env, c.flags)
		i := slices.IndexFunc(cfg.Values(), func(v Value) bool { return v.Key == "local.net" })
		v := cfg.Values()[i]
		if cfg.Provider.Local.Net != c.net || v.Value != c.net || !strings.HasSuffix(v.Origin.String(), c.origin) {
			t.Errorf("%s: %q, shown %v from %v; want %q from %q", c.name, cfg.Provider.Local.Net, v.Value, v.Origin, c.net, c.origin)
		}
	}
}

// The idle timeout's 0 means never, and not the provider's default.
func TestIdleTimeoutOfTheProvider(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "1": time.Second, "0.1": time.Second, "10m": 10 * time.Minute, "": 10 * time.Minute} {
		cfg := mustLoad(t, "", map[string]string{"SANDBOXFS_IDLE_TIMEOUT": text}, nil)
		if got := cfg.Provider.Idle(); got != want {
			t.Errorf("%q: idle for %v, want %v", text, got, want)
		}
	}
}

func TestMistakesNameFileLineAndKey(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"wrong type":         {"sandbox:\n  port: many\n", "config.yaml:2: sandbox.port must be a whole number from 1 to 65535"},
		"quoted number":      {"sandbox:\n  port: '80'\n", ":2: sandbox.port must be a number, and in quotes it is a text"},
		"list for a number":  {"sandbox:\n  port: [80]\n", ":2: sandbox.port must be a number, not a list"},
		"out of range":       {"sandbox:\n  port: 65536\n", ":2: sandbox.port"},
		"number for a bool":  {"sandbox:\n  allow_host_bash: 1\n", ":2: sandbox.allow_host_bash must be true or false"},
		"number for a text":  {"sandbox:\n  image: 1.9\n", ":2: sandbox.image must be a text"},
		"bad choice":         {"sandbox:\n  local: {tier: full}\n", ":2: sandbox.local.tier must be isolated or host, not \"full\""},
		"relative path":      {"sandbox:\n  home: data\n", ":2: sandbox.home must be an absolute path"},
		"missing variable":   {"sandbox:\n  home: $NONE\n", ":2: sandbox.home is taken from the variable NONE, which is not set"},
		"negative time":      {"sandbox:\n  idle_timeout: -1\n", ":2: sandbox.idle_timeout must be a number of seconds"},
		"bytes":              {"sandbox:\n  local:\n    quota:\n      bytes: 10 apples\n", ":4: sandbox.local.quota.bytes must be a number of bytes"},
		"list for a section": {"sandbox: [1]\n", ":1: sandbox must be a mapping"},
		"text for a level":   {"sandbox:\n  local: isolated\n", ":2: sandbox.local must be a mapping"},
		"mounts mapping":     {"sandbox:\n  mounts: {a: b}\n", ":2: sandbox.mounts must be a list"},
		"mount without host": {"sandbox:\n  mounts:\n    - container_path: /x\n", ":3: sandbox.mounts[0] has no host_path"},
		"mount of a text":    {"sandbox:\n  mounts: [/a:/b]\n", ":2: sandbox.mounts[0] must be a mapping"},
		"mount's bool":       {"sandbox:\n  mounts:\n    - {host_path: /a, container_path: /b, read_only: maybe}\n", ":3: sandbox.mounts[0].read_only must be true or false"},
		"mount over skills":  {"sandbox:\n  mounts:\n    - {host_path: /a, container_path: /mnt/skills/}\n", ":3: sandbox.mounts[0]: a mount cannot be shown at \"/mnt/skills\""},
		"mount of /proc":     {"sandbox:\n  mounts:\n    - {host_path: /proc/1, container_path: /a}\n", ":3: sandbox.mounts[0]: the host path"},
		"two at one place":   {"sandbox:\n  mounts:\n    - {host_path: /a, container_path: /x}\n    - {host_path: /b, container_path: /x/}\n", ":4: sandbox.mounts[1] is shown at \"/x\", and so is sandbox.mounts[0]"},
		"variable's name":    {"sandbox:\n  environment:\n    A-B: x\n", ":3: sandbox.environment: \"A-B\" is not the name of a variable"},
		"variable's value":   {"sandbox:\n  environment:\n    A: [secret]\n", ":3: sandbox.environment.A must be a text"},
		"no reference":       {"sandbox:\n  environment:\n    A: $sec ret\n", ":3: sandbox.environment.A begins with '$'"},
		"duplicate key":      {"sandbox:\n  port: 1\n  port: 2\n", ":3: sandbox has \"port\" twice; it was given in line 2"},
		"duplicate section":  {"sandbox: {}\nsandbox: {}\n", ":2: the file has \"sandbox\" twice"},
		"a tab":              {"sandbox:\n\tport: 1\n", ":2: this is no YAML: found character that cannot start any token (a tab?"},
		"unclosed":           {"sandbox: {port: 1\n", "this is no YAML"},
		"unknown anchor":     {"sandbox: *x\n", "this is no YAML: unknown anchor"},
		"two documents":      {"sandbox: {}\n---\nsandbox: {}\n", "a second document"},
		"not UTF-8":          {"a: b\nsandbox: \xff\n", ":2: the text is not UTF-8"},
		"a list":             {"- sandbox\n", ":1: the file must be a mapping"},
	} {
		_, err := load(t, c.text, nil, nil)
		if !errors.Is(err, provider.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want invalid with %q", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "sec") && strings.Contains(err.Error(), "ret") && strings.Contains(name, "variable") {
			t.Errorf("%s: the message shows the value: %v", name, err)
		}
	}
}

func TestWarnings(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"typo":            {"sandbox:\n  prot: 1\n", `config.yaml:2: there is no key "sandbox.prot" here; it has no effect. Did you mean port?`},
		"wrong level":     {"sandbox:\n  tier: host\n", "Did you mean local.tier?"},
		"nothing near":    {"sandbox:\n  aio: {image: x}\n", `"sandbox.aio" here; it has no effect`},
		"in a mount":      {"sandbox:\n  mounts:\n    - {host_path: /a, container_path: /b, readonly: true}\n", `:3: there is no key "sandbox.mounts[0].readonly" here; it has no effect. Did you mean read_only?`},
		"variable unset":  {"sandbox:\n  environment:\n    A: $NONE\n", ":3: sandbox.environment.A is empty: the variable NONE is not set"},
		"DeerFlow's own":  {"sandbox:\n  provisioner_api_key: secret\n  ownership: {type: redis}\n", ""},
		"another section": {"tools: [1]\nsandbox:\n", ""},
		"no section":      {"port: 1\nmodels: []\n", `:1: "port" has no effect here: the settings are read from the section 'sandbox:'`},
		"section's typo":  {"x: 1\nSandbx: {}\n", `:2: "Sandbx" has no effect here`},
		"level at top":    {"local: {tier: host}\n", `:1: "local" has no effect here`},
		"beside it":       {"sandbox: {}\nport: 1\n", ""},
		"byte order mark": {"\ufeffsandbox: {port: 1}\r\n", ""},
		"empty file":      {"", ""},
		"a comment":       {"# nothing\n", ""},
		"alias of itself": {"sandbox: &a\n  local: *a\n", `no key "sandbox.local.local" here`},
		"merge and alias": {"x: &x {port: 1}\nsandbox:\n  <<: *x\n  port: 2\n", ""},
	} {
		cfg, err := load(t, c.text, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(cfg.Warnings, "\n"); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: warnings %q, want %q", name, got, c.want)
		}
	}
	cfg := mustLoad(t, "x: &x {port: 1, replicas: 9}\nsandbox:\n  <<: *x\n  port: 2\n", nil, nil)
	if cfg.Port != 2 || cfg.Replicas != 9 {
		t.Errorf("a merge gave port %d, replicas %d; want 2, 9", cfg.Port, cfg.Replicas)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	cfg := mustLoad(t, "sandbox:\n  environment: {A: topsecret}\n  my_token: topsecret\n", map[string]string{"SANDBOXFS_IMAGE": "i"}, nil)
	shown := ""
	for _, v := range append(cfg.Values(), cfg.Unknown...) {
		shown += v.Key + " " + v.Text() + "\n"
	}
	if strings.Contains(shown, "topsecret") || !strings.Contains(shown, "A=<hidden>") || !strings.Contains(shown, "my_token <hidden>") {
		t.Errorf("shown:\n%s", shown)
	}
}

func TestCompoundVariables(t *testing.T) {
	env := map[string]string{
		"SANDBOXFS_MOUNTS":      `[{"host_path": "/a", "container_path": "/b", "read_only": true}]`,
		"SANDBOXFS_ENVIRONMENT": "{A: $X, B: b}", "X": "x",
	}
	cfg := mustLoad(t, "sandbox:\n  environment: {C: c}\n", env, nil)
	if want := []provider.Mount{{HostPath: "/a", ContainerPath: "/b", ReadOnly: true}}; !reflect.DeepEqual(cfg.Provider.Mounts, want) {
		t.Errorf("mounts %+v", cfg.Provider.Mounts)
	}
	if want := map[string]string{"A": "x", "B": "b"}; !reflect.DeepEqual(cfg.Provider.Environment, want) {
		t.Errorf("environment %v", cfg.Provider.Environment)
	}
	for name, text := range map[string]string{"SANDBOXFS_MOUNTS": "/a:/b", "SANDBOXFS_ENVIRONMENT": "[", "SANDBOXFS_PORT": "x", "SANDBOXFS_ALLOW_HOST_BASH": "perhaps"} {
		if _, err := load(t, "", map[string]string{name: text}, nil); !errors.Is(err, provider.Invalid) || !strings.Contains(err.Error(), "$"+name) {
			t.Errorf("%s=%s: %v, want invalid that names the variable", name, text, err)
		}
	}
}

// A few lines of aliases can stand for billions of values.
func TestAliasesAreBounded(t *testing.T) {
	text := "a0: &a0 {A0: x, A1: x, A2: x, A3: x, A4: x, A5: x, A6: x, A7: x, A8: x, A9: x}\n"
	for level := '1'; level <= '9'; level++ {
		text += "a" + string(level) + ": &a" + string(level) + "\n  <<: [" + strings.TrimSuffix(strings.Repeat("*a"+string(level-1)+", ", 10), ", ") + "]\n"
	}
	began := time.Now()
	_, err := load(t, text+"sandbox:\n  environment: *a9\n", nil, nil)
	if !errors.Is(err, provider.Invalid) || !strings.Contains(err.Error(), "aliases") {
		t.Errorf("got %v, want invalid", err)
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}

// The sample changes nothing, and with its keys switched on neither.
func TestTheSampleHasTheDefaults(t *testing.T) {
	defaults := mustLoad(t, "", nil, nil)
	sample := mustLoad(t, Sample(), nil, nil)
	on := regexp.MustCompile(`(?m)^( *)#([a-z_]+:)`).ReplaceAllString(Sample(), "$1$2")
	switched := mustLoad(t, on, nil, nil)
	for name, c := range map[string]*Config{"as written": sample, "switched on": switched} {
		if !reflect.DeepEqual(c.Settings, defaults.Settings) || len(c.Warnings) > 0 || len(c.Unknown) > 0 {
			t.Errorf("%s: %+v, %q; want %+v", name, c.Settings, c.Warnings, defaults.Settings)
		}
	}
	for _, k := range Keys() {
		// A directory's default and an empty list are null.
		if k.Type != Path && k.Type != Mounts && k.Type != Variables && switched.origins[k.Name].Kind != "file" {
			t.Errorf("%s is not in the sample", k.Name)
		}
	}
	whole := regexp.MustCompile(`(?m)^( *)#(  (?:- |  )?[a-zA-Z_]+:)`).ReplaceAllString(on, "$1$2")
	if c := mustLoad(t, whole, map[string]string{"API_KEY": "k"}, nil); len(c.Provider.Mounts) != 1 || c.Provider.Environment["API_KEY"] != "k" {
		t.Errorf("with the examples switched on: %+v", c.Provider)
	}
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1024": 1024, "10GiB": 10 << 30, "500M": 500 << 20, "500MB": 500e6, "1k": 1024, "1 KiB": 1024, "1.5G": 3 << 29, "2TB": 2e12, "7b": 7, "1P": 1 << 50,
		"": -1, "-1": -1, "G": -1, "1e3": -1, "0x10": -1, "1.2.3": -1, "9223372036854775807": 1<<63 - 1, "9223372036854775808": -1, "9999999P": -1, "NaN": -1, "Inf": -1, "1GiBi": -1, "1 0": -1,
	} {
		got, err := ParseBytes(text)
		if want < 0 && err == nil || want >= 0 && (err != nil || got != want) {
			t.Errorf("%q = %d, %v; want %d", text, got, err, want)
		}
	}
}
