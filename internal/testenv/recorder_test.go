package testenv

import (
	"errors"
	"os"
	"testing"
)

func TestRecord(t *testing.T) {
	for name, c := range map[string]struct {
		body func(t testing.TB)
		want Recording
		text string
	}{
		"pass":         {func(t testing.TB) { t.Log("x") }, Recording{}, ""},
		"error":        {func(t testing.TB) { t.Error("a"); t.Errorf("b%d", 1) }, Recording{Failed: true}, "a\nb1"},
		"fatal":        {func(t testing.TB) { t.Fatal("a"); t.Error("never") }, Recording{Failed: true}, "a"},
		"skip":         {func(t testing.TB) { t.Skip("why"); t.Error("never") }, Recording{Skipped: true}, "why"},
		"in a cleanup": {func(t testing.TB) { t.Cleanup(func() { t.Error("a") }); t.Cleanup(func() { t.Fatal("b") }) }, Recording{Failed: true}, "b\na"},
	} {
		got := Record("TestX", c.body)
		if got.Failed != c.want.Failed || got.Skipped != c.want.Skipped || got.Text() != c.text {
			t.Errorf("%s: %+v, want failed %v, skipped %v, %q", name, got, c.want.Failed, c.want.Skipped, c.text)
		}
	}
	var dir string
	if r := Record("TestX", func(t testing.TB) {
		dir = t.TempDir()
		ctx := t.Context()
		t.Cleanup(func() {
			if ctx.Err() == nil {
				t.Error("the context lives on into the cleanups")
			}
		})
	}); r.Failed {
		t.Error(r.Text())
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary directory is still there: %v", err)
	}
}
