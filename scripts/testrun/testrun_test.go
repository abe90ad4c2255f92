package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const stream = `{"Action":"start","Package":"github.com/sandboxfs/sandboxfs/a"}
{"Action":"output","Package":"github.com/sandboxfs/sandboxfs/a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"pass","Package":"github.com/sandboxfs/sandboxfs/a","Test":"TestOne","Elapsed":0.1}
{"Action":"output","Package":"github.com/sandboxfs/sandboxfs/a","Test":"TestTwo","Output":"    a_test.go:7: skipped: TestTwo: needs root\n"}
{"Action":"skip","Package":"github.com/sandboxfs/sandboxfs/a","Test":"TestTwo","Elapsed":0}
{"Action":"output","Package":"github.com/sandboxfs/sandboxfs/a","Test":"TestThree","Output":"    a_test.go:9: later: sessions\n"}
{"Action":"skip","Package":"github.com/sandboxfs/sandboxfs/a","Test":"TestThree","Elapsed":0}
{"Action":"pass","Package":"github.com/sandboxfs/sandboxfs/a","Elapsed":0.2}
`

const inner = `{"Action":"output","Package":"github.com/sandboxfs/sandboxfs/a","Test":"TestOuter","Output":"    skip.go:7: skipped: TestInner/x: as another user\n"}
{"Action":"pass","Package":"github.com/sandboxfs/sandboxfs/a","Test":"TestOuter","Elapsed":0.1}
`

const failing = `{"Action":"output","Package":"p","Test":"TestBad","Output":"    b_test.go:1: want 1, got 2\n"}
{"Action":"fail","Package":"p","Test":"TestBad","Elapsed":0}
{"Action":"fail","Package":"p","Elapsed":0}
`

func TestReport(t *testing.T) {
	cases := map[string]struct {
		in   string
		ok   bool
		want []string
	}{
		"skips are told":            {stream, true, []string{"needs root\n      a TestTwo", "1 passed, 0 failed, 2 skipped", "ok    a"}},
		"inner skips are told":      {inner, true, []string{"as another user\n      a TestInner/x", "1 passed, 0 failed, 1 skipped"}},
		"a failure shows its text":  {stream + failing, false, []string{"want 1, got 2", "Failed:\n  p TestBad", "1 passed, 2 failed"}},
		"no test at all is no pass": {"", false, []string{"0 passed, 0 failed, 0 skipped"}},
		"what is no event is shown": {"panic: broken\n", false, []string{"panic: broken"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out)
			if err := readEvents(strings.NewReader(c.in), r); err != nil {
				t.Fatal(err)
			}
			if got := r.finish(); got != c.ok {
				t.Errorf("want pass %v, got %v", c.ok, got)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("want %q in:\n%s", want, out.String())
				}
			}
		})
	}
}

func TestLongFirst(t *testing.T) {
	got := []string{module + "/a", module + "/exec", module + "/fs", module + "/test/fs", module + "/z"}
	longFirst(got)
	want := []string{module + "/fs", module + "/exec", module + "/a", module + "/test/fs", module + "/z"}
	if !slices.Equal(got, want) {
		t.Errorf("want %q, got %q", want, got)
	}
	for _, name := range long {
		if _, err := os.Stat("../.." + name); err != nil {
			t.Errorf("a long package is gone: %v", err)
		}
	}
}

// TestBlindTestsAreThere holds that what the race detector's step leaves out is
// a test by that name somewhere, and that no other name is like it.
func TestBlindTestsAreThere(t *testing.T) {
	var source strings.Builder
	for _, dir := range []string{"internal/mounter", "local", "examples/recorder", "test/treesuite", "fs"} {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(text)
		}
	}
	for _, b := range blind {
		name, _, _ := strings.Cut(strings.TrimPrefix(b, "^"), "$")
		if !strings.Contains(source.String(), "func "+name+"(t *testing.T)") {
			t.Errorf("there is no test %s", name)
		}
	}
}
