package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dependencyRow is a line of the table in docs/DEPENDENCIES.md.
type dependencyRow struct{ module, version, licence, reason string }

// licences that may be linked into a program that is given away in any form.
var licences = []string{"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC", "MPL-2.0"}

var rowPattern = regexp.MustCompile("^\\| `([^`]+)` \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$")

func dependencyTable(t *testing.T) map[string]dependencyRow {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(theTree(t).root, "docs", "DEPENDENCIES.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]dependencyRow{}
	for line := range strings.Lines(string(text)) {
		if m := rowPattern.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			row := dependencyRow{m[1], strings.TrimSpace(m[2]), strings.TrimSpace(m[3]), strings.TrimSpace(m[4])}
			if _, ok := rows[row.module]; ok {
				t.Errorf("docs/DEPENDENCIES.md: %s is there twice", row.module)
			}
			rows[row.module] = row
		}
	}
	return rows
}

// required reads the modules and versions of go.mod.
func required(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(theTree(t).root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && strings.Contains(fields[0], "/") && strings.HasPrefix(fields[1], "v") {
			versions[fields[0]] = fields[1]
		}
	}
	return versions
}

// direct returns the modules that this module's own packages and tests import.
func direct(t *testing.T) map[string]bool {
	t.Helper()
	g, versions := theGraph(t), required(t)
	modules := map[string]bool{}
	for from, imports := range g.imports {
		if _, ok := own(from); !ok {
			continue
		}
		for _, imported := range append(slices.Clone(imports), g.tests[from]...) {
			if _, ok := own(imported); ok {
				continue
			}
			if host, _, _ := strings.Cut(imported, "/"); !strings.Contains(host, ".") {
				continue // the standard library
			}
			m := moduleOf(imported, versions)
			if m == "" {
				t.Errorf("%s imports %s, which is of no module in go.mod; add it with go get, and to docs/DEPENDENCIES.md", from, imported)
				continue
			}
			modules[m] = true
		}
	}
	return modules
}

func moduleOf(importPath string, versions map[string]string) string {
	best := ""
	for m := range versions {
		if within(importPath, m) && len(m) > len(best) {
			best = m
		}
	}
	return best
}

func TestEveryDependencyIsArguedFor(t *testing.T) {
	rows, used, versions := dependencyTable(t), direct(t), required(t)
	if len(used) == 0 {
		t.Fatal("no dependency was found; the rule looks in the wrong place")
	}
	for m := range used {
		row, ok := rows[m]
		if !ok {
			t.Errorf("%s is imported and not in docs/DEPENDENCIES.md; say there why it is worth it, and its licence", m)
			continue
		}
		if row.version != versions[m] {
			t.Errorf("docs/DEPENDENCIES.md has %s at %s, go.mod at %s", m, row.version, versions[m])
		}
		if !slices.Contains(licences, row.licence) {
			t.Errorf("docs/DEPENDENCIES.md: the licence %q of %s is none of %v", row.licence, m, licences)
		}
		if len(row.reason) < 20 {
			t.Errorf("docs/DEPENDENCIES.md: the reason for %s is %q; say what it does for us and why not by ourselves", m, row.reason)
		}
	}
	for m := range rows {
		if !used[m] {
			t.Errorf("docs/DEPENDENCIES.md lists %s, which nothing imports; remove the row", m)
		}
	}
}
