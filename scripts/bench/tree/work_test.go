package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// withoutGo makes a PATH with no more than the workloads need but for go and
// sqlite3, so that these are missing, and grep stands for ripgrep.
func withoutGo(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, debian := range map[string]string{"find": "findutils", "tar": "tar", "rm": "coreutils", "grep": "grep", "git": "git"} {
		if err := os.Symlink(testenv.RequireProgram(t, name, debian), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

// tiny workloads over a plain directory.
func tiny(t *testing.T) job {
	t.Helper()
	dir, readOnly := t.TempDir(), t.TempDir()
	z := sizes{Big: 2 << 20, Reads: 20, ColdReads: 20, Small: 10, Files: 60, Dirs: 9, Repository: 20, Syncs: 3, Opens: 20, Passes: 1}
	want, err := seed(t.Context(), dir, readOnly, z)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	return job{Dir: dir, ReadOnly: readOnly, Sizes: z, Data: want}
}

// Every row of every group gets a time, or the program that it lacks.
func TestWorkloads(t *testing.T) {
	withoutGo(t)
	j := tiny(t)
	if searchProgram() != "grep" {
		t.Fatal("ripgrep is in the way")
	}
	before := list(t, j.Dir)
	lacking := []string{rowBuild, rowSQLite}
	for _, g := range groups() {
		j.Group = g.name
		w := worker{job: j, out: outcome{Times: map[string]time.Duration{}, Missing: map[string]string{}}}
		if err := w.do(); err != nil {
			t.Errorf("%s: %v", g.name, err)
			continue
		}
		for _, row := range g.rows {
			took, reason := w.out.Times[row], w.out.Missing[row]
			if lacks := slices.Contains(lacking, row); lacks != strings.Contains(reason, "not found") || lacks == (took > 0) {
				t.Errorf("%s: took %v, missing %q", row, took, reason)
			}
		}
		if got := len(w.out.Times) + len(w.out.Missing); got != len(g.rows) {
			t.Errorf("%s: %d rows came out, want %v", g.name, got, g.rows)
		}
	}
	// The next round finds what this one found.
	after := slices.DeleteFunc(list(t, j.Dir), func(name string) bool { return name == "synced" })
	if !slices.Equal(before, after) {
		t.Errorf("the directory had %v, and has %v", before, after)
	}
}

// A filesystem that shows something else is not measured but found out.
func TestWorkloadsSeeWhatIsWrong(t *testing.T) {
	withoutGo(t)
	j := tiny(t)
	for _, file := range []string{treeDir, checkoutDir} {
		names, err := regularFiles(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(name, ".git/") {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := os.Truncate(bigFile, 4096); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{groupBulk, groupWalk, groupFindCold, groupGit, groupSearch, groupOpen, "no such group"} {
		j.Group = name
		w := worker{job: j, out: outcome{Times: map[string]time.Duration{}, Missing: map[string]string{}}}
		if err := w.do(); err == nil {
			t.Errorf("%s: nothing is wrong with it", name)
		}
	}
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
