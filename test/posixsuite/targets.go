package posixsuite

import (
	"strings"

	"golang.org/x/sys/unix"
)

// target is one row of what calls are made on.
type target struct {
	name string
	// build makes it and returns its path in the directory of the case.
	build func(b *builder) string
	// needs says what the subject must have.
	needs need
	// unlinked takes the name away after the file was opened; calls by path
	// then go through the descriptor's link in /proc.
	unlinked bool
	// locked takes all permissions away after the file was opened.
	locked bool
}

// need is what a target asks of a subject.
type need int

const (
	nothing need = iota
	// owners are several owners.
	owners
	// devices are nodes that only root can make.
	devices
	// strong is a server that its own modes do not shut out.
	strong
)

const text = "0123456789abcdefghij"

// targets are what every call that takes a path is made on.
func targets() []target {
	simple := func(name string, build func(b *builder)) target {
		return target{name: name, build: func(b *builder) string { build(b); return name }}
	}
	list := []target{
		simple("missing", func(*builder) {}),
		simple("file", func(b *builder) { b.file("file", text, 0o644) }),
		simple("empty-file", func(b *builder) { b.file("empty-file", "", 0o600) }),
		simple("locked-file", func(b *builder) { b.file("locked-file", text, 0) }),
		simple("shared-file", func(b *builder) { b.file("shared-file", text, 0o666) }),
		simple("group-file", func(b *builder) { b.file("group-file", text, 0o060) }),
		simple("program", func(b *builder) { b.file("program", text, 0o755) }),
		{name: "set-id-file", needs: owners, build: func(b *builder) string { b.file("s", text, 0o6777); return "s" }},
		simple("directory", func(b *builder) { b.directory("directory", 0o755) }),
		simple("full", func(b *builder) { b.directory("full", 0o755); b.file("full/kid", "k", 0o644) }),
		{name: "locked-directory", needs: strong, build: func(b *builder) string { b.directory("d", 0); return "d" }},
		simple("symlink", func(b *builder) { b.file("f", text, 0o644); b.symlink("f", "symlink") }),
		simple("symlink-to-directory", func(b *builder) { b.directory("d", 0o755); b.symlink("d", "symlink-to-directory") }),
		simple("dangling", func(b *builder) { b.symlink("nowhere", "dangling") }),
		simple("loop", func(b *builder) { b.symlink("loop", "loop") }),
		simple("fifo", func(b *builder) { b.node("fifo", unix.S_IFIFO|0o644, 0) }),
		simple("socket", func(b *builder) { b.node("socket", unix.S_IFSOCK|0o644, 0) }),
		{name: "device", needs: devices, build: func(b *builder) string { b.node("c", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); return "c" }},
		simple("hard-link", func(b *builder) { b.file("first", text, 0o644); b.link("first", "hard-link") }),
		{name: "unlinked", unlinked: true, build: func(b *builder) string { b.file("gone", text, 0o644); return "gone" }},
		{name: "unlinked-directory", unlinked: true, build: func(b *builder) string { b.directory("gone", 0o755); return "gone" }},
	}
	path := func(name, path string, build func(b *builder)) {
		list = append(list, target{name: name, build: func(b *builder) string { build(b); return path }})
	}
	none := func(*builder) {}
	file := func(b *builder) { b.file("f", text, 0o644) }
	directory := func(b *builder) { b.directory("d", 0o755) }
	path("missing-parent", "none/x", none)
	path("file-as-parent", "f/x", file)
	path("dangling-parent", "l/x", func(b *builder) { b.symlink("none", "l") })
	path("loop-parent", "l/x", func(b *builder) { b.symlink("l", "l") })
	path("file-slash", "f/", file)
	path("directory-slash", "d/", directory)
	path("missing-slash", "none/", none)
	path("symlink-slash", "l/", func(b *builder) { directory(b); b.symlink("d", "l") })
	path("dangling-slash", "l/", func(b *builder) { b.symlink("none", "l") })
	path("dot", "d/.", directory)
	path("dot-dot", "d/..", directory)
	path("through-symlink", "l/f", func(b *builder) { directory(b); b.file("d/f", text, 0o644); b.symlink("d", "l") })
	path("name-255", strings.Repeat("n", 255), none)
	path("name-256", strings.Repeat("n", 256), none)
	path("bytes", "\xff\xfe\x01 \n", func(b *builder) { b.file("\xff\xfe\x01 \n", text, 0o644) })
	path("empty", "", none)

	// The directory around matters, too.
	around := []struct {
		name string
		mode uint32
		need need
	}{{"open", 0o777, nothing}, {"sticky", 0o1777, owners}, {"set-gid", 0o2777, owners}, {"unsearchable", 0o666, strong}, {"unwritable", 0o555, nothing}, {"unreadable", 0o333, strong}}
	for _, a := range around {
		enter := func(b *builder) {
			who := owner
			if a.name == "set-gid" {
				who.GID = handedDown
			}
			b.directoryOf(who, "d", a.mode)
		}
		add := func(what string, build func(b *builder)) {
			list = append(list, target{name: a.name + "/" + what, needs: a.need, build: func(b *builder) string {
				enter(b)
				build(b)
				return "d/x"
			}})
		}
		add("missing", none)
		add("file", func(b *builder) { b.file("d/x", text, 0o644) })
		add("directory", func(b *builder) { b.directory("d/x", 0o755) })
		if a.name == "sticky" || a.name == "open" {
			add("others-file", func(b *builder) { b.fileOf(other, "d/x", text, 0o666) })
		}
	}
	return list
}

// openTargets are what every call that takes a descriptor is made on.
func openTargets() []target {
	keep := []string{"file", "empty-file", "shared-file", "set-id-file", "directory", "full", "symlink", "fifo", "socket", "device", "hard-link", "unlinked", "unlinked-directory", "open/file"}
	var list []target
	for _, t := range targets() {
		for _, k := range keep {
			if t.name == k {
				list = append(list, t)
			}
		}
	}
	list = append(list, target{name: "locked-since", locked: true, build: func(b *builder) string { b.file("f", text, 0o644); return "f" }})
	return append(list, target{name: "holes", build: func(b *builder) string {
		b.file("holes", text, 0o644)
		if err := unix.Truncate(b.in("holes"), 1<<20); err != nil {
			b.err = err
		}
		return "holes"
	}})
}

// pairTargets are what both ends of a rename and a link are.
func pairTargets() []target {
	keep := []string{
		"missing", "file", "directory", "full", "symlink", "dangling", "fifo", "hard-link", "missing-parent", "file-as-parent", "file-slash", "directory-slash",
		"dot", "name-256", "empty", "sticky/others-file", "sticky/missing", "open/file", "unwritable/file", "unlinked", "set-gid/missing",
	}
	var list []target
	for _, t := range targets() {
		for _, k := range keep {
			if t.name == k {
				list = append(list, t)
			}
		}
	}
	return list
}
