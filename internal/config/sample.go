package config

import (
	"fmt"
	"strings"
)

// Sample returns the text of a file that has every key with its default, as a
// comment. Read as a configuration it changes nothing.
func Sample() string {
	var b strings.Builder
	b.WriteString(`# The configuration of sandboxfs. Every key is here with its default: take the
# '#' before a key away to set it, and before the key that it is in. Flags win
# over the environment, that over this file. 'sandboxfs config' prints what is
# in force and where it came from.

`)
	b.WriteString(section + ":\n")
	var open []string // the levels above the last key
	for _, k := range Keys() {
		levels := strings.Split(k.Name, ".")
		above := levels[:len(levels)-1]
		for i, level := range above {
			if i < len(open) && open[i] == level {
				continue
			}
			open = open[:min(i, len(open))]
			fmt.Fprintf(&b, "\n%s#%s:\n", indent(i), level)
			open = append(open, level)
		}
		open = open[:min(len(above), len(open))]
		pad := indent(len(above))
		fmt.Fprintf(&b, "\n%s# %s\n%s# (%s; $%s%s)\n", pad, k.Help, pad, k.spelling(), k.Env, k.alsoFlag())
		b.WriteString(strings.TrimRight(fmt.Sprintf("%s#%s: %s", pad, levels[len(levels)-1], k.sample()), " ") + "\n")
		if k.Type == Mounts {
			fmt.Fprintf(&b, "%s#  - host_path: /srv/data\n%s#    container_path: /data\n%s#    read_only: true\n", pad, pad, pad)
		}
		if k.Type == Variables {
			fmt.Fprintf(&b, "%s#  API_KEY: $API_KEY\n", pad)
		}
	}
	return b.String()
}

func indent(level int) string { return strings.Repeat("  ", level+1) }

// spelling says how a value is written.
func (k Key) spelling() string {
	switch k.Type {
	case Choice:
		return strings.Join(k.Choices, " or ")
	case Number:
		return "a number" + k.bounds()
	case Seconds:
		return "a number of seconds, or a duration such as 10m"
	case Bytes:
		return "a number of bytes, or one with a unit such as 10GiB"
	case Path:
		return "an absolute path"
	case Bool:
		return "true or false"
	case Mounts:
		return "a list"
	case Variables:
		return "a mapping"
	}
	return "a text"
}

func (k Key) alsoFlag() string {
	if k.Flag == "" {
		return ""
	}
	return ", --" + k.Flag
}

// sample is the default as the file has it; a directory's is told in words,
// and null means it.
func (k Key) sample() string {
	switch {
	case k.Type == Path:
		return "null  # " + k.Default
	case k.Type == Mounts, k.Type == Variables:
		return "" // examples follow
	case k.Default == "":
		return `""`
	}
	return k.Default
}
