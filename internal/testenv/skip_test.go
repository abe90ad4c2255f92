package testenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSkipRecordsItsReason(t *testing.T) {
	log := filepath.Join(t.TempDir(), "skips")
	t.Setenv(EnvSkipLog, log)
	t.Setenv(EnvCI, "")
	for _, name := range []string{"TestA", "TestB/sub"} {
		if r := Record(name, func(t testing.TB) { Skip(t, "needs a thing") }); !r.Skipped || r.Failed {
			t.Errorf("%s: skipped %v, failed %v; want a skip", name, r.Skipped, r.Failed)
		}
	}
	got, err := os.ReadFile(log)
	if want := "skipped: TestA: needs a thing\nskipped: TestB/sub: needs a thing\n"; err != nil || string(got) != want {
		t.Errorf("the log holds %q, %v; want %q", got, err, want)
	}
}

func TestSkipFailsInCI(t *testing.T) {
	t.Setenv(EnvSkipLog, "")
	t.Setenv(EnvCI, "true")
	r := Record("TestA", func(t testing.TB) { Skip(t, "needs a thing") })
	if r.Skipped || !r.Failed || !strings.Contains(r.Text(), "needs a thing") {
		t.Errorf("skipped %v, failed %v, %q; want a failure that names the reason", r.Skipped, r.Failed, r.Text())
	}
	if r := Record("TestA", func(t testing.TB) { SkipArchitectural(t, "another CPU") }); !r.Skipped || r.Failed {
		t.Errorf("an architectural skip: skipped %v, failed %v; want a skip", r.Skipped, r.Failed)
	}
}
