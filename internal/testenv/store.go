package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
	"golang.org/x/sys/unix"
)

// MinStoreBytes is the least size of a [SmallStore], in bytes: less is too
// little for ext4's own structures.
const MinStoreBytes = 1 << 20

// SmallStore returns a directory on an ext4 file system of its own, of the
// given size in bytes and number of inodes, for tests that fill a disk. Every
// user can write there. It is unmounted and removed when the test ends. It
// needs root, mkfs.ext4 and a loop device, and skips without.
func SmallStore(t testing.TB, bytes int64, inodes int) string {
	t.Helper()
	RequireRoot(t)
	mkfs := RequireProgram(t, "mkfs.ext4", "e2fsprogs")
	mount := RequireProgram(t, "mount", "mount")
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		Skip(t, "there is no /dev/loop-control; load the kernel module: modprobe loop")
	}
	if bytes < MinStoreBytes {
		t.Fatalf("a store of %d bytes is too small for ext4; ask for %d or more", bytes, MinStoreBytes)
	}

	base, err := os.MkdirTemp("", "sbfs-store-")
	if err != nil {
		t.Fatal(err)
	}
	image, dir := filepath.Join(base, "image"), filepath.Join(base, "store")
	t.Cleanup(func() {
		if err := unmountStore(base, dir); err != nil {
			t.Errorf("the small store is not removed: %v", err)
		}
	})
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, bytes); err != nil {
		t.Fatal(err)
	}
	// Without a journal and reserved blocks nearly all of the size is there
	// for the test, and full means full for root too.
	run(t, mkfs, "-q", "-F", "-O", "^has_journal", "-m", "0", "-N", strconv.Itoa(inodes), image)
	run(t, mount, "-t", "ext4", "-o", "loop", image, dir)
	if err := os.Remove(filepath.Join(dir, "lost+found")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return dir
}

// unmountStore ends the mount and removes what is left. A busy mount is
// detached and reported: a leak is worth less than a removal through it.
func unmountStore(base, dir string) error {
	err := unix.Unmount(dir, 0)
	if err == unix.EINVAL || err == unix.ENOENT {
		err = nil // was never mounted
	}
	if err != nil {
		if detachErr := unix.Unmount(dir, unix.MNT_DETACH); detachErr != nil {
			return fmt.Errorf("unmount: %w", detachErr)
		}
		err = fmt.Errorf("it was busy and is detached: %w", err)
	}
	if rmErr := removeUnmounted(base); err == nil {
		err = rmErr
	}
	return err
}

// removeUnmounted removes a directory with everything in it, but only where
// nothing is mounted below it.
func removeUnmounted(dir string) error {
	mounts, err := mountinfo.Read()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if mountinfo.Within(m.Point, dir) {
			return fmt.Errorf("%s is still mounted; nothing below %s is removed", m.Point, dir)
		}
	}
	return os.RemoveAll(dir)
}

func run(t testing.TB, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
}
