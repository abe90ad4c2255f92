package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
	"go.yaml.in/yaml/v3"
)

// mounts reads the list of mounts and refuses what is wrong with each.
func (r *reader) mounts(n *yaml.Node, name string) (any, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, faultf(n, "%s must be a list of mounts, each with host_path and container_path", name)
	}
	mounts := []provider.Mount{}
	for i, item := range n.Content {
		m, err := r.mount(item, fmt.Sprintf("%s[%d]", name, i))
		if err != nil {
			return nil, err
		}
		for before, other := range mounts {
			if other.ContainerPath == m.ContainerPath {
				return nil, faultf(item, "%s[%d] is shown at %q, and so is %s[%d]", name, i, m.ContainerPath, name, before)
			}
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

func (r *reader) mount(n *yaml.Node, name string) (provider.Mount, error) {
	entries, err := r.entries(n, name)
	if err != nil {
		return provider.Mount{}, err
	}
	var m provider.Mount
	keys := []Key{{Name: "host_path", Type: Path}, {Name: "container_path", Type: Text}, {Name: "read_only", Type: Bool}}
	for _, e := range entries {
		var key Key
		for _, k := range keys {
			if k.Name == e.name {
				key = k
			}
		}
		if key.Name == "" {
			r.warn(e.key, name+"."+e.name, suggest(e.name, keys))
			continue
		}
		value, err := r.part(key, e.value, name)
		if err != nil {
			return m, err
		}
		switch v := value.(type) {
		case bool:
			m.ReadOnly = v
		case string:
			if key.Type == Path {
				m.HostPath = v
			} else if v != "" {
				// A slash at the end means nothing; "/" itself stays.
				m.ContainerPath = v[:1] + strings.TrimRight(v[1:], "/")
			}
		}
	}
	switch {
	case m.HostPath == "":
		return m, faultf(n, "%s has no host_path", name)
	case m.ContainerPath == "":
		return m, faultf(n, "%s has no container_path", name)
	}
	var refused *provider.Error
	if errors.As(m.Validate(), &refused) {
		return m, faultf(n, "%s: %s; %s", name, refused.Reason, refused.Next)
	}
	return m, nil
}

// part reads a value inside a compound one.
func (r *reader) part(k Key, n *yaml.Node, name string) (any, error) {
	k.Name = name[len(section)+1:] + "." + k.Name
	return r.value(k, n)
}

// variables reads a mapping of names to texts. Numbers and booleans are taken
// as they are written. No value is ever part of an error.
func (r *reader) variables(n *yaml.Node, name string) (any, error) {
	entries, err := r.entries(n, name)
	if err != nil {
		return nil, err
	}
	vars := make(map[string]string, len(entries))
	for _, e := range entries {
		if !provider.IsEnvName(e.name) {
			return nil, faultf(e.key, "%s: %s is not the name of a variable: letters, digits and '_', and no digit first", name, quote(e.name))
		}
		value, err := r.follow(e.value)
		if err != nil {
			return nil, err
		}
		if isNull(value) {
			vars[e.name] = ""
			continue
		}
		if value.Kind != yaml.ScalarNode {
			return nil, faultf(e.key, "%s.%s must be a text, not a list or a mapping", name, e.name)
		}
		from, text, err := reference(value.Value)
		if err != nil {
			return nil, faultf(e.key, "%s.%s %v", name, e.name, err)
		}
		if from != "" {
			if text = r.getenv(from); text == "" {
				r.warnings = append(r.warnings, fault{e.key.Line, fmt.Sprintf("%s.%s is empty: the variable %s is not set", name, e.name, from)})
			}
		}
		vars[e.name] = text
	}
	return vars, nil
}
