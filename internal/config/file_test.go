package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

func TestWhereTheFileIsLookedFor(t *testing.T) {
	dir := t.TempDir()
	put := func(name, port string) string {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("sandbox: {port: "+port+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	flag, variable := put("flag.yaml", "1"), put("variable.yaml", "2")
	put("xdg/sandboxfs/config.yaml", "3")
	put("home/.config/sandboxfs/config.yaml", "4")
	xdg, home := filepath.Join(dir, "xdg"), filepath.Join(dir, "home")
	for name, c := range map[string]struct {
		file string
		env  map[string]string
		port int
	}{
		"flag":         {flag, map[string]string{"SANDBOXFS_CONFIG": variable, "XDG_CONFIG_HOME": xdg, "HOME": home}, 1},
		"variable":     {"", map[string]string{"SANDBOXFS_CONFIG": variable, "XDG_CONFIG_HOME": xdg, "HOME": home}, 2},
		"XDG":          {"", map[string]string{"XDG_CONFIG_HOME": xdg, "HOME": home}, 3},
		"home":         {"", map[string]string{"HOME": home}, 4},
		"relative XDG": {"", map[string]string{"XDG_CONFIG_HOME": "xdg", "HOME": home}, 4},
	} {
		cfg, err := Load(Sources{File: c.file, Getenv: func(n string) string { return c.env[n] }})
		if err != nil || cfg.Port != c.port {
			t.Errorf("%s: %v, %+v; want port %d", name, err, cfg, c.port)
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	large, pipe := filepath.Join(dir, "large"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(large, []byte(strings.Repeat("# x\n", MaxFile/4+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file string
		kind provider.Kind
		want string
	}{
		"missing":   {filepath.Join(dir, "none"), provider.NotFound, "does not exist"},
		"directory": {dir, provider.Invalid, "is a directory"},
		"too large": {large, provider.Invalid, "more than 1048576 bytes"},
		"device":    {"/dev/zero", provider.Invalid, "no regular file"},
		"below one": {filepath.Join(large, "x"), provider.Denied, "cannot be read"},
	} {
		for _, s := range []Sources{
			{File: c.file, Getenv: func(string) string { return "" }},
			{Getenv: func(n string) string { return map[string]string{"SANDBOXFS_CONFIG": c.file}[n] }},
		} {
			_, err := Load(s)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s with %q", name, err, c.kind, c.want)
			}
		}
	}
	// A pipe that nobody writes to is not waited for, and not taken for a file
	// without settings.
	done := make(chan error, 1)
	go func() {
		_, err := Load(Sources{File: pipe, Getenv: func(string) string { return "" }})
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, provider.Invalid) || !strings.Contains(err.Error(), "holds nothing") {
			t.Errorf("a pipe: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a pipe without a writer is waited for")
	}
}
