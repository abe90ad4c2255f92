package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// row is a key's line in the table of docs/CONFIG.md.
func (k Key) row() string {
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + text + "`"
	}
	written, flag := string(k.Type), ""
	if k.Type == Choice {
		written = "`" + strings.Join(k.Choices, "` or `") + "`"
	}
	value := code(k.Default)
	if k.Type == Path {
		value = k.Default
	}
	if k.Flag != "" {
		flag = code("--" + k.Flag)
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |", k.Name, written, value, code(k.Env), flag, k.Help)
}

// The table of docs/CONFIG.md is the table of keys.
func TestTheDocumentHasEveryKey(t *testing.T) {
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "CONFIG.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, k := range Keys() {
		want = append(want, k.row())
	}
	got := regexp.MustCompile("(?m)^\\| `[a-z].*$").FindAllString(string(text), -1)
	if !slices.Equal(got, want) {
		t.Errorf("the table of docs/CONFIG.md is not that of the keys, which is:\n%s", strings.Join(want, "\n"))
	}
}

// Nobody forgets a variable, uses one twice, or describes nothing.
func TestTheTableIsComplete(t *testing.T) {
	names, variables, flags := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, k := range Keys() {
		if k.Name == "" || k.Help == "" || k.Type == "" || k.field == nil {
			t.Errorf("%+v lacks something", k)
		}
		if names[k.Name] || variables[k.Env] || k.Flag != "" && flags[k.Flag] {
			t.Errorf("%s, $%s or --%s is there twice", k.Name, k.Env, k.Flag)
		}
		names[k.Name], variables[k.Env], flags[k.Flag] = true, true, true
		if !strings.HasPrefix(k.Env, "SANDBOXFS_") || k.Env == FileVariable {
			t.Errorf("the variable of %s is %q", k.Name, k.Env)
		}
		if k.Type == Number && k.Max == 0 || k.Type == Choice && len(k.Choices) < 2 {
			t.Errorf("%s has no range", k.Name)
		}
	}
}
