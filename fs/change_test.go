package fs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"golang.org/x/sys/unix"
)

// What the host protects by a file's flags (chattr +a, +i) it protects in the
// tree, with and without passthrough.
func TestProtectedFiles(t *testing.T) {
	for _, pass := range []fs.Passthrough{fs.PassthroughAuto, fs.PassthroughOff} {
		t.Run(fmt.Sprint("passthrough ", pass), func(t *testing.T) {
			w := newWorld(t)
			m := mount(t, childSpec{Regions: w.regions, Passthrough: pass}, fs.MountOptions{}, nil)
			for flag, opens := range map[int]map[int]error{
				unix.STATX_ATTR_APPEND:    {os.O_RDONLY: nil, os.O_WRONLY | os.O_APPEND: nil, os.O_RDWR: unix.EPERM, os.O_WRONLY | os.O_TRUNC: unix.EPERM},
				unix.STATX_ATTR_IMMUTABLE: {os.O_RDONLY: nil, os.O_WRONLY | os.O_APPEND: unix.EPERM, os.O_RDWR: unix.EPERM},
			} {
				name := fmt.Sprint("f", flag)
				host := filepath.Join(w.host(t, "/mnt/user-data/workspace"), name)
				protect(t, host, flag)
				for how, want := range opens {
					if pass == fs.PassthroughOff && how&os.O_APPEND != 0 {
						continue // stricter: the server writes at offsets
					}
					f, err := os.OpenFile(filepath.Join(m.Dir, "mnt/user-data/workspace", name), how, 0)
					if !errors.Is(err, want) {
						t.Errorf("flag %#x, open %#x: got %v, want %v", flag, how, err, want)
					}
					if err == nil {
						f.Close()
					}
				}
			}
		})
	}
}

// protect makes a file with a flag, for the time of the test. The flags of
// statx(2) have the numbers of FS_IOC_SETFLAGS.
func protect(t *testing.T, path string, flag int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0); f.Close() })
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flag); err != nil {
		testenv.Skip(t, fmt.Sprintf("flags of files cannot be set here: %v", err))
	}
}

// What the host moves into a read-only region is not changed by who has it
// open for reading.
func TestOpenFileMovedIntoReadOnly(t *testing.T) {
	w := newWorld(t)
	m := mount(t, childSpec{Regions: w.regions}, fs.MountOptions{}, nil)
	work := filepath.Join(w.host(t, "/mnt/user-data/workspace"), "f")
	if err := os.WriteFile(work, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(m.Dir, "mnt/user-data/workspace/f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	skill := filepath.Join(w.host(t, "/mnt/skills"), "f")
	if err := os.Rename(work, skill); err != nil {
		t.Fatal(err)
	}
	held := fmt.Sprint("/proc/self/fd/", f.Fd())
	for what, err := range map[string]error{
		"truncate": os.Truncate(held, 1), "fchmod": f.Chmod(0o777), "chmod": os.Chmod(held, 0o777),
	} {
		if !errors.Is(err, unix.EROFS) {
			t.Errorf("%s: got %v, want EROFS", what, err)
		}
	}
	if got, err := os.ReadFile(skill); err != nil || string(got) != "text" {
		t.Errorf("it holds %q, %v", got, err)
	}
}
