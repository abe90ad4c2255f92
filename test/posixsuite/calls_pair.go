package posixsuite

import "golang.org/x/sys/unix"

// pairCalls take two paths.
func pairCalls() []call {
	rename := func(name string, flags uint) call {
		return only(name, func(x act) error { return unix.Renameat2(unix.AT_FDCWD, x.path, unix.AT_FDCWD, x.other, flags) })
	}
	return []call{
		rename("rename", 0),
		rename("rename NOREPLACE", unix.RENAME_NOREPLACE),
		rename("rename EXCHANGE", unix.RENAME_EXCHANGE),
		rename("rename WHITEOUT", unix.RENAME_WHITEOUT),
		rename("rename NOREPLACE EXCHANGE", unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE),
		only("link", func(x act) error { return unix.Link(x.path, x.other) }),
		only("linkat FOLLOW", func(x act) error {
			return unix.Linkat(unix.AT_FDCWD, x.path, unix.AT_FDCWD, x.other, unix.AT_SYMLINK_FOLLOW)
		}),
		only("linkat unknown flag", func(x act) error { return unix.Linkat(unix.AT_FDCWD, x.path, unix.AT_FDCWD, x.other, 0x8000) }),
	}
}

// pair is what both paths of a call are.
type pair struct {
	name  string
	needs need
	// build makes both, and returns their paths in the directory of the case.
	build    func(b *builder) (one, two string)
	unlinked bool
}

// pairs are all combinations, the second in a directory of its own, and those
// that only one directory can hold.
func pairs() []pair {
	var list []pair
	for _, one := range pairTargets() {
		for _, two := range pairTargets() {
			if two.unlinked {
				continue // the path of a descriptor is no new name
			}
			list = append(list, pair{name: one.name + " -> " + two.name, needs: max(one.needs, two.needs), unlinked: one.unlinked, build: func(b *builder) (string, string) {
				first := one.build(b)
				b.directory("2", 0o777)
				second := b.below("2", two.build)
				if second != "" {
					second = "2/" + second
				}
				return first, second
			}})
		}
	}
	add := func(name string, build func(b *builder) (string, string)) {
		list = append(list, pair{name: name, build: build})
	}
	add("file -> its hard link", func(b *builder) (string, string) { b.file("f", text, 0o644); b.link("f", "g"); return "f", "g" })
	add("file -> itself", func(b *builder) (string, string) { b.file("f", text, 0o644); return "f", "f" })
	add("directory -> itself", func(b *builder) (string, string) { b.directory("d", 0o755); return "d", "d" })
	add("directory -> its own", func(b *builder) (string, string) { b.directory("d", 0o755); return "d", "d/x" })
	add("directory -> below its own", func(b *builder) (string, string) {
		b.directory("d", 0o755)
		b.directory("d/e", 0o755)
		return "d", "d/e/x"
	})
	add("directory -> its parent", func(b *builder) (string, string) {
		b.directory("d", 0o755)
		b.directory("d/e", 0o755)
		return "d/e", "d"
	})
	add("file -> its parent", func(b *builder) (string, string) {
		b.directory("d", 0o755)
		b.file("d/f", text, 0o644)
		return "d/f", "d"
	})
	add("directory -> the same through a link", func(b *builder) (string, string) {
		b.directory("d", 0o755)
		b.directory("d/e", 0o755)
		b.symlink("d", "l")
		return "d/e", "l/e"
	})
	add("file -> another name there", func(b *builder) (string, string) { b.file("f", text, 0o644); return "f", "g" })
	add("locked directory -> elsewhere", func(b *builder) (string, string) {
		b.directory("2", 0o777)
		b.directory("d", 0o555)
		return "d", "2/d"
	})
	return list
}
