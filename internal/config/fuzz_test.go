package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

// Whatever a file holds, it is read or refused as invalid, soon, and without
// showing a secret.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		Sample(), "", "sandbox:", "sandbox: {environment: {A: s3cr3t}}", "sandbox: &a\n  local: *a\n", "a: &a [*a]\nsandbox: *a",
		"sandbox:\n  <<: [*x]\n", "? [a]\n: b", "sandbox: {? {a: b} : c}", "sandbox: !!binary aGk=", "sandbox:\n  environment: {<<: {A: 1}}",
		"sandbox: {port: !!int '1', home: !!str 1}", "sandbox: {mounts: [{host_path: /a, container_path: /b}]}", "%YAML 1.1\n---\nsandbox: {}\n...\n",
		"sandbox: {local: {quota: {bytes: 1e400}}}", "{", "\ufeffsandbox: {}", "sandbox: {idle_timeout: .inf}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &Config{File: "f", sources: Sources{Getenv: func(string) string { return "" }}, origins: map[string]Origin{}}
		began := time.Now()
		err := c.addFile(Keys(), text)
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("it took %v", d)
		}
		if err != nil && !errors.Is(err, provider.Invalid) {
			t.Errorf("%v is not invalid", err)
		}
		for _, v := range append(c.Values(), c.Unknown...) {
			if v.Key == "environment" && strings.Contains(v.Text(), "s3cr3t") && !strings.Contains(v.Text(), "s3cr3t=") {
				t.Errorf("a secret is shown: %s", v.Text())
			}
		}
		if c.Idle < 0 || c.CommandTimeout < 0 || c.Provider.Local.Quota.Bytes < 0 || c.Port < 0 || c.Port > 65535 {
			t.Errorf("out of range: %+v", c.Settings)
		}
	})
}
