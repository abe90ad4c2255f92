package provider_test

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/sandboxfs/sandboxfs/provider"
)

func ExampleFromErrno() {
	// What a system call said, which names a host path, becomes what an agent
	// may read.
	cause := fmt.Errorf("openat /srv/data/users/default/skills: %w", syscall.EROFS)
	err := error(provider.FromErrno("write file", "/mnt/skills/a.md", cause))
	fmt.Println(err)
	fmt.Println(errors.Is(err, provider.ReadOnlyFS), errors.Is(err, syscall.EROFS), provider.KindOf(err).HTTPStatus())
	// Output:
	// write file /mnt/skills/a.md: this directory is read-only; write below /mnt/user-data/workspace or /mnt/user-data/outputs
	// true true 403
}

func ExampleConfig_Resolve() {
	environment := map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/1000"}
	config, err := provider.Config{}.Resolve(provider.Environment{
		Getenv: func(name string) string { return environment[name] },
		UID:    1000,
	})
	fmt.Println(config.Use, config.Local.Tier, config.Home, config.RuntimeDir, err)

	_, err = provider.Config{Home: "/srv/data", Local: provider.LocalConfig{Net: "off"}}.Resolve(provider.ProcessEnvironment())
	fmt.Println(err)
	// Output:
	// local isolated /home/u/.local/share/sandboxfs /run/user/1000/sandboxfs <nil>
	// configure: the network "off" does not exist; use host or none
}

func ExampleMergeIDs() {
	id, err := provider.MergeIDs("", "local:t1")
	fmt.Println(id, err)
	_, err = provider.MergeIDs("local:t1", "local:t2")
	fmt.Println(err)
	// Output:
	// local:t1 <nil>
	// merge sandbox ids: one state names two sandboxes, "local:t1" and "local:t2"; give each branch of the agent a thread of its own, or make all use the first
}
