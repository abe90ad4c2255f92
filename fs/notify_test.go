package fs_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/fs"
)

// A notice makes the kernel ask again long before CacheTime.
func TestNotices(t *testing.T) {
	w := newWorld(t)
	m := mount(t, childSpec{Regions: w.regions}, fs.MountOptions{}, nil)
	name := filepath.Join(m.Dir, "mnt/user-data/workspace/f")
	host := filepath.Join(w.host(t, "/mnt/user-data/workspace"), "f")
	sooner := 0
	for i := range 20 {
		if _, err := os.Stat(name); (err == nil) != (i%2 == 1) {
			t.Fatalf("round %d: %v", i, err)
		}
		var err error
		if i%2 == 0 {
			err = os.WriteFile(host, nil, 0o644)
		} else {
			err = os.Remove(host)
		}
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if got := m.ask(t, "drop f"); got != "true" {
			t.Fatal("no room for a notice")
		}
		for {
			if _, err := os.Stat(name); (err == nil) == (i%2 == 0) {
				break
			}
			if time.Since(start) > 5*time.Second {
				t.Fatal("the change is not seen")
			}
		}
		if time.Since(start) < fs.CacheTime/2 {
			sooner++
		}
	}
	if sooner < 10 { // a loaded machine may be slow now and then
		t.Errorf("%d of 20 changes were seen sooner than without notices", sooner)
	}
}
