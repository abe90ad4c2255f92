package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSmallStoreIsSmallAndGoesAway(t *testing.T) {
	var dir string
	t.Run("full", func(t *testing.T) {
		NoLeaks(t, Leaks{Ignore: []string{"goroutine"}})
		dir = SmallStore(t, 4<<20, 64)
		err := os.WriteFile(filepath.Join(dir, "big"), make([]byte, 8<<20), 0o600)
		if !errors.Is(err, unix.ENOSPC) {
			t.Errorf("writing 8 MiB into 4: %v, want ENOSPC", err)
		}
		_ = os.Remove(filepath.Join(dir, "big"))
		for i := range 200 {
			if err = os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
				break
			}
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Errorf("making 200 files with 64 inodes: %v, want ENOSPC", err)
		}
	})
	if dir == "" {
		return
	}
	if _, err := os.Lstat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the store is still there: %v", err)
	}
}

func TestRemoveUnmountedRefusesAMount(t *testing.T) {
	RequireRoot(t)
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", inner, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Unmount(inner, unix.MNT_DETACH) }()
	if err := os.WriteFile(filepath.Join(inner, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeUnmounted(dir); err == nil || !strings.Contains(err.Error(), "still mounted") {
		t.Errorf("removeUnmounted = %v, want a refusal", err)
	}
	if _, err := os.Stat(filepath.Join(inner, "kept")); err != nil {
		t.Errorf("it removed through the mount: %v", err)
	}
}
