package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A newcomer reads the ten files of one request in one sitting.
func TestTheLifeOfARequestCanBeRead(t *testing.T) {
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| \\d+ \\| `([^`]+)` \\|").FindAllStringSubmatch(readDoc(t, "ARCHITECTURE.md"), -1)
	if len(rows) != 10 {
		t.Errorf("ARCHITECTURE.md names %d files, not ten", len(rows))
	}
	for _, row := range rows {
		b, err := os.ReadFile(filepath.Join(root, row[1]))
		if err != nil {
			t.Errorf("ARCHITECTURE.md names %s: %v", row[1], err)
			continue
		}
		if n := strings.Count(string(b), "\n"); n >= 200 {
			t.Errorf("%s has %d lines; the files of one request's life have fewer than 200", row[1], n)
		}
	}
}

// Every relative link of a document leads somewhere.
func TestLinksLeadSomewhere(t *testing.T) {
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range append(docs, filepath.Join(root, "README.md"), filepath.Join(root, "ARCHITECTURE.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		b, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(string(b), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", filepath.Base(doc), m[1])
			}
		}
	}
}

// Whatever the command line offers is in docs/CLI.md, and no flag is there
// that it does not offer.
func TestTheCommandLineIsDocumented(t *testing.T) {
	doc := readDoc(t, "docs/CLI.md")
	offered := map[string]bool{"--help": true, "-h": true}
	flagName := regexp.MustCompile(`Flag\{Name: "([a-z-]+)"`)
	alias := regexp.MustCompile(`Aliases: \[\]string\{"([a-zA-Z]+)"\}`)
	verb := regexp.MustCompile(`cli\.Command\{\s*Name:\s+"([a-z]+)"`)
	variable := regexp.MustCompile(`"(SANDBOXFS[A-Z_]*)"`)
	for _, s := range theTree(t).all {
		if s.test || !within(s.dir, "cmd/sandboxfs") && !within(s.dir, "local") && !within(s.dir, "provider") {
			continue
		}
		text := readDoc(t, s.path)
		for _, m := range flagName.FindAllStringSubmatch(text, -1) {
			offered["--"+m[1]] = true
		}
		for _, m := range alias.FindAllStringSubmatch(text, -1) {
			for _, a := range m[1:] {
				offered["-"+a] = true
			}
		}
		for _, m := range verb.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(doc, "| `"+m[1]) {
				t.Errorf("docs/CLI.md does not list the verb %s", m[1])
			}
		}
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(doc, "`"+m[1]+"`") {
				t.Errorf("docs/CLI.md does not list the variable %s", m[1])
			}
		}
	}
	for flag := range offered {
		if !regexp.MustCompile("`" + flag + `[ ` + "`" + `]`).MatchString(doc) {
			t.Errorf("docs/CLI.md does not list the flag %s", flag)
		}
	}
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(--[a-z-]+)[^|]*\\|").FindAllStringSubmatch(doc, -1) {
		documented = append(documented, m[1])
	}
	for _, flag := range documented {
		if !offered[flag] {
			t.Errorf("docs/CLI.md lists the flag %s, which no verb has", flag)
		}
	}
	if !slices.Contains(documented, "--timeout") {
		t.Error("the table of flags was not found")
	}
	for _, kind := range provider.Kinds() {
		if !strings.Contains(strings.ReplaceAll(doc, "\n", " "), "`"+string(kind)+"`") {
			t.Errorf("docs/CLI.md does not list the error kind %q", kind)
		}
	}
	for _, status := range []string{"| 124 |", "| 125 |", "| 126 |", "| 127 |", "| 128+N |"} {
		if !strings.Contains(doc, status) {
			t.Errorf("docs/CLI.md does not list the status %s", status)
		}
	}
}

// A file, folder or make target that CONTRIBUTING.md names is there.
func TestContributingNamesWhatIsThere(t *testing.T) {
	root, doc := theTree(t).root, readDoc(t, "CONTRIBUTING.md")
	for _, m := range regexp.MustCompile("`([a-z]+/[a-z_./]+|[a-z]+_test\\.go)`").FindAllStringSubmatch(doc, -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil && strings.Contains(m[1], "/") {
			t.Errorf("CONTRIBUTING.md names %s, which is not there", m[1])
		}
	}
	makefile := readDoc(t, "Makefile")
	for _, m := range regexp.MustCompile("`?make ([a-z -]+)[`#]").FindAllStringSubmatch(doc, -1) {
		for _, target := range strings.Fields(m[1]) {
			if !strings.Contains(makefile, "\n"+target+":") {
				t.Errorf("CONTRIBUTING.md names make %s, which the Makefile does not have", target)
			}
		}
	}
}
