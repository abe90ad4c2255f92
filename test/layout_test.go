package test

import (
	"slices"
	"strings"
	"testing"
)

// maxLines bounds a file, tests included; maxMedian the median of the files
// that are no tests.
const (
	maxLines  = 600
	maxMedian = 120
)

func TestFilesAreShort(t *testing.T) { checkSizes(t, theTree(t)) }

func checkSizes(t testing.TB, tr *tree) {
	var sizes []int
	for _, s := range tr.all {
		if s.lines > maxLines {
			t.Errorf("%s has %d lines, more than %d; one verb per file: move a part that has a name of its own", s.path, s.lines, maxLines)
		}
		if !s.test {
			sizes = append(sizes, s.lines)
		}
	}
	slices.Sort(sizes)
	if median := sizes[len(sizes)/2]; median > maxMedian {
		t.Errorf("the median file has %d lines, more than %d; files grow beyond one verb", median, maxMedian)
	}
}

func TestPackagesAreNamedForANoun(t *testing.T) { checkNames(t, theTree(t)) }

func checkNames(t testing.TB, tr *tree) {
	blanket := []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib", "core", "types", "tools"}
	for dir, files := range tr.packages() {
		name := files[0].file.Name.Name
		if slices.Contains(blanket, name) {
			t.Errorf("%s: the package is called %q, which says nothing; name it for the one thing it has", dir, name)
		}
		for _, s := range files {
			if s.file.Name.Name != name {
				t.Errorf("%s is of package %s, %s of %s; one folder, one package", s.path, s.file.Name.Name, files[0].path, name)
			}
		}
		base := dir[strings.LastIndex(dir, "/")+1:]
		if name != "main" && dir != "." && name != base {
			t.Errorf("%s: the package is called %q, its folder %q; one name is enough", dir, name, base)
		}
	}
}
