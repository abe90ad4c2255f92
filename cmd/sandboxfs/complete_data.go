//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"sort"

	"github.com/sandboxfs/sandboxfs/internal/config"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// settings are those that the words before name, without a complaint.
func (c *completion) settings() (provider.Config, bool) {
	cfg, err := config.Load(config.Sources{File: c.config, Getenv: os.Getenv, UID: os.Geteuid()})
	if err != nil {
		return provider.Config{}, false
	}
	resolved, err := cfg.Provider.Resolve(provider.ProcessEnvironment())
	return resolved, err == nil
}

// users are those that have threads.
func (c *completion) users() []string {
	cfg, ok := c.settings()
	if !ok {
		return nil
	}
	return ids(filepath.Join(cfg.Home, "users"))
}

// threads are the names of threads: the given user's, or everybody's.
func (c *completion) threads() []string {
	cfg, ok := c.settings()
	if !ok {
		return nil
	}
	of := func(user string) []string { return ids(filepath.Join(cfg.Home, "users", user, "threads")) }
	if c.user != "" {
		if mapping.ValidateID("user", c.user) != nil {
			return nil
		}
		return of(c.user)
	}
	var all []string
	for _, user := range ids(filepath.Join(cfg.Home, "users")) {
		for _, thread := range of(user) {
			all = append(all, mapping.Key{User: user, Thread: thread}.String())
		}
	}
	sort.Strings(all)
	return all
}

// ids are the names in a directory that can be a user's or a thread's.
func ids(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		if e.IsDir() && mapping.ValidateID("thread", e.Name()) == nil {
			all = append(all, e.Name())
		}
	}
	return all
}

// list is what lies in a directory of an existing thread, each with a prefix.
func (c *completion) list(ctx context.Context, key mapping.Key, dir, prefix string) []string {
	cfg, ok := c.settings()
	if !ok || key.Validate() != nil {
		return nil
	}
	// A provider makes its directories; a question must make nothing.
	if _, err := os.Stat(filepath.Join(cfg.Home, "users", key.User, "threads", key.Thread)); err != nil {
		return nil
	}
	p, err := provider.New(ctx, cfg)
	if err != nil {
		return nil
	}
	lister, ok := p.(provider.PathLister)
	if !ok {
		return nil
	}
	entries, err := lister.ListPath(ctx, key, dir)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		name := prefix + filepath.Base(e.Path)
		if e.Type == "dir" {
			name += "/"
		}
		all = append(all, name)
	}
	sort.Strings(all)
	return all
}
