package posixsuite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// testDependencies makes a tree as package managers do: a store of files,
// packages that are hard links to it, links between packages and to their
// programs. Copies of it that are made at once must be equal in everything
// that cp -a keeps.
func testDependencies(t *testing.T, w *workshop, packages int) {
	source := filepath.Join(w.plain, "source")
	if err := makeDependencies(source, packages); err != nil {
		t.Fatal(err)
	}
	w.give(source)
	w.script(`
		pids=
		for i in 1 2 3 4; do cp -a "$1" copy$i & pids="$pids $!"; done
		for pid in $pids; do wait $pid; done
		cp -a copy1 again
		cp -al copy2 linked
		(cd linked && find . -type l -exec readlink {} + >/dev/null)`, source)
	want, err := kept(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"copy1", "copy2", "copy3", "copy4", "again"} {
		got, err := kept(filepath.Join(w.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "copy2" {
			continue // linked has given its files another name
		}
		if a, b := differing(want, got); a+b != "" {
			t.Fatalf("%s differs from its source: %.1000s\nis %.1000s", name, a, b)
		}
	}
	w.script(`diff -r --no-dereference copy3 copy4; diff -r --no-dereference copy1 again; rm -rf copy2; diff -r --no-dereference copy1 linked`)
}

func makeDependencies(dir string, packages int) error {
	modules, store := filepath.Join(dir, "node_modules"), filepath.Join(dir, ".store")
	err := errors.Join(os.MkdirAll(filepath.Join(modules, ".bin"), 0o755), os.MkdirAll(store, 0o750))
	for i := range packages {
		pkg := filepath.Join(modules, fmt.Sprintf("package-%d", i))
		err = errors.Join(err, os.MkdirAll(filepath.Join(pkg, "lib", "node_modules"), 0o755))
		for j := range 6 {
			content := filepath.Join(store, fmt.Sprintf("%x", (i*6+j)%(packages*4+1)))
			if _, statErr := os.Lstat(content); statErr != nil {
				err = errors.Join(err, os.WriteFile(content, fmt.Appendf(nil, "module %d %d\n", i, j), 0o644|os.FileMode(i%2*0o111)))
			}
			err = errors.Join(err, os.Link(content, filepath.Join(pkg, "lib", fmt.Sprintf("file-%d.js", j))))
		}
		err = errors.Join(err,
			os.Symlink(fmt.Sprintf("../package-%d/lib/file-0.js", i), filepath.Join(modules, ".bin", fmt.Sprintf("program-%d", i))),
			os.Symlink(fmt.Sprintf("../../../package-%d", (i*7+1)%packages), filepath.Join(pkg, "lib", "node_modules", "other")),
			os.Symlink("nowhere", filepath.Join(pkg, "dangling")),
		)
		times := []unix.Timespec{{Sec: builtAccess + int64(i), Nsec: 1}, {Sec: builtModify + int64(i), Nsec: 123456789}}
		err = errors.Join(err, unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(pkg, "lib", "file-1.js"), times, 0),
			unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(pkg, "dangling"), times, unix.AT_SYMLINK_NOFOLLOW),
			unix.UtimesNanoAt(unix.AT_FDCWD, pkg, times, 0))
	}
	return err
}

// kept describes a tree by what cp -a keeps; owners are left out, as a tree
// may show but one.
func kept(dir string) ([]string, error) {
	v, err := observe(dir, 0)
	if err != nil {
		return nil, err
	}
	names := map[uint64]string{}
	var out []string
	for _, name := range sorted(v) {
		e := v[name]
		if names[e.st.Ino] == "" {
			names[e.st.Ino] = name
		}
		size := e.st.Size
		if e.st.Mode&unix.S_IFMT == unix.S_IFDIR {
			size = 0
		}
		out = append(out, fmt.Sprintf("%s %o nlink %d size %d mtime %d.%09d -> %q like %s", name, e.st.Mode, e.st.Nlink, size, e.st.Mtim.Sec, e.st.Mtim.Nsec, e.text, names[e.st.Ino]))
	}
	slices.Sort(out)
	return out, nil
}
