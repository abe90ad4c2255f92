package test

import (
	"bytes"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// textFiles are read for words; others are data.
var textFiles = []string{".go", ".md", ".sh", ".txt", ".txtar", ".yaml", ".yml", ".mod", ".tsv", "Makefile", "Vagrantfile", "run"}

// unfinished marks what somebody meant to do. The words are put together here
// so that this file does not have them.
var unfinished = regexp.MustCompile(`\b(` + strings.Join([]string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"}, "|") + `)\b`)

func TestNothingIsLeftForLater(t *testing.T) {
	report := func(where string, text []byte) {
		if word := unfinished.Find(text); word != nil {
			t.Errorf("%s: %q: do it, or write down as a limit what the code does not do", where, word)
		}
	}
	eachLine(t, func(name string, number int, line []byte) {
		if !strings.HasSuffix(name, ".go") {
			report(fmt.Sprintf("%s:%d", name, number), line)
		}
	})
	// In Go only comments and names count: a text can be a test's data.
	tr := theTree(t)
	for _, s := range tr.all {
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				report(tr.at(c), []byte(c.Text))
			}
		}
		eachCall(s, func(_, importPath, name string, call *ast.CallExpr) {
			if importPath == "context" {
				report(tr.at(call), []byte(name))
			}
		})
	}
}

// A path of the machine that a file was written on works on no other.
func TestNoPathOfThisMachine(t *testing.T) {
	tr := theTree(t)
	here := []string{tr.root}
	for _, name := range []string{"GOPATH", "GOMODCACHE", "GOCACHE"} {
		if dir := os.Getenv(name); filepath.IsAbs(dir) {
			here = append(here, dir)
		}
	}
	// A home directory such as /root is everybody's; what is in it is not.
	if home, err := os.UserHomeDir(); err == nil && home != "/root" && home != "/" {
		here = append(here, home)
	} else if err == nil {
		here = append(here, filepath.Join(home, "go"))
	}
	if parent := filepath.Dir(tr.root); strings.Count(parent, "/") == 1 && parent != "/" && parent != "/home" && parent != "/tmp" && parent != "/root" && parent != "/src" {
		here = append(here, parent)
	}
	for i, dir := range here {
		here[i] = regexp.QuoteMeta(dir)
	}
	pattern := regexp.MustCompile(`(^|[^A-Za-z0-9._/-])(` + strings.Join(here, "|") + `)(/|\b)`)
	eachLine(t, func(name string, number int, line []byte) {
		if found := pattern.Find(line); found != nil {
			t.Errorf("%s:%d: %q is a path of this machine; find it at run time", name, number, found)
		}
	})
}

func eachLine(t *testing.T, each func(name string, number int, line []byte)) {
	t.Helper()
	tr := theTree(t)
	err := tr.walk(func(name string) error {
		ok := false
		for _, suffix := range textFiles {
			ok = ok || strings.HasSuffix(name, suffix)
		}
		if !ok || name == "go.sum" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(tr.root, name))
		if err != nil {
			return err
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			each(name, i+1, line)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
