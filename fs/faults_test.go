package fs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/mapping"
)

// A full disk is the writer's error and nobody else's, and what was
// acknowledged is there.
func TestFullDisk(t *testing.T) {
	for name, pass := range map[string]fs.Passthrough{"passthrough": fs.PassthroughAuto, "without": fs.PassthroughOff} {
		t.Run(name, func(t *testing.T) {
			needFUSE(t)
			disk := t.TempDir()
			if err := unix.Mount("small", disk, "tmpfs", 0, "size=1m"); err != nil {
				testenv.Skip(t, fmt.Sprintf("cannot mount a small disk: %v", err))
			}
			t.Cleanup(func() { unix.Unmount(disk, unix.MNT_DETACH) })
			m := mount(t, childSpec{Regions: []mapping.Region{{Virtual: "/w", Host: disk}}, Passthrough: pass}, fs.MountOptions{}, nil)
			work := filepath.Join(m.Dir, "w")
			f, err := os.Create(filepath.Join(work, "f"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			block := bytes.Repeat([]byte("x"), 64<<10)
			written := 0
			for err == nil && written < 4<<20 {
				var n int
				n, err = f.Write(block)
				written += n
			}
			if !errors.Is(err, unix.ENOSPC) {
				t.Fatalf("after %d bytes: %v, want ENOSPC", written, err)
			}
			if st, err := os.Stat(filepath.Join(disk, "f")); err != nil || st.Size() != int64(written) {
				t.Errorf("on the host %v, %v; %d bytes were acknowledged", st, err, written)
			}
			if err := unix.Fallocate(int(f.Fd()), 0, 0, 8<<20); !errors.Is(err, unix.ENOSPC) {
				t.Errorf("fallocate: %v, want ENOSPC", err)
			}
			if err := f.Truncate(0); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(filepath.Join(work, "g"), block, 0o644); err != nil {
				t.Errorf("a write after room was made: %v", err)
			}
		})
	}
}

// A mount for a container lets every user do what the regions allow, and no
// user what they do not.
func TestServerChecks(t *testing.T) {
	w := newWorld(t)
	reachable(t, w.root)
	m := mount(t, childSpec{Regions: w.regions, UID: 1000, GID: 1000}, fs.MountOptions{Permissions: fs.ServerChecks}, nil)
	reachable(t, filepath.Dir(m.Dir))
	work, skills := filepath.Join(m.Dir, "mnt/user-data/workspace"), filepath.Join(m.Dir, "mnt/skills")
	if err := os.WriteFile(filepath.Join(w.host(t, mapping.Skills), "s"), []byte("skill"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []int{0, 1000, 4242} {
		asUser(t, uid, func() {
			name := filepath.Join(work, "f")
			if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
				t.Errorf("user %d: %v", uid, err)
			}
			if err := unix.Access(work, unix.W_OK); err != nil {
				t.Errorf("user %d: access to the workspace: %v", uid, err)
			}
			for _, path := range []string{skills, filepath.Join(skills, "s")} {
				if err := unix.Access(path, unix.W_OK); !errors.Is(err, unix.EROFS) {
					t.Errorf("user %d: access to write %s: %v, want EROFS", uid, filepath.Base(path), err)
				}
			}
			if err := os.WriteFile(filepath.Join(skills, "s"), nil, 0o644); !errors.Is(err, unix.EROFS) {
				t.Errorf("user %d: write in skills: %v, want EROFS", uid, err)
			}
			if err := os.Mkdir(filepath.Join(m.Dir, "mnt/x"), 0o755); !errors.Is(err, unix.EROFS) {
				t.Errorf("user %d: mkdir in /mnt: %v, want EROFS", uid, err)
			}
			if err := unix.Access(name, unix.X_OK); !errors.Is(err, unix.EACCES) {
				t.Errorf("user %d: access to execute a text: %v, want EACCES", uid, err)
			}
		})
	}
	if st, err := os.Stat(filepath.Join(w.host(t, mapping.Workspace), "f")); err != nil || st.Sys() == nil {
		t.Errorf("on the host: %v", err)
	}
}

// asUser runs f on a thread of its own with another user's rights.
func asUser(t *testing.T, uid int, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with us
		id := uintptr(uid)
		unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0)
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, id, id, id); e != 0 {
			t.Error(e)
			return
		}
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, id, id, id); e != 0 {
			t.Error(e)
			return
		}
		f()
	}()
	<-done
}

// Both views of one thread at once: what the operator puts into uploads the
// agent sees, and cannot change.
func TestViews(t *testing.T) {
	w := newWorld(t)
	agent := mount(t, childSpec{Regions: w.regions}, fs.MountOptions{}, nil)
	operator := mount(t, childSpec{Regions: w.regions, View: mapping.OperatorView}, fs.MountOptions{}, nil)
	const uploads = "mnt/user-data/uploads/data.csv"
	if err := os.WriteFile(filepath.Join(operator.Dir, uploads), []byte("1,2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(agent.Dir, uploads)); err != nil || string(got) != "1,2" {
		t.Errorf("the agent reads %q, %v", got, err)
	}
	if err := os.Remove(filepath.Join(agent.Dir, uploads)); !errors.Is(err, unix.EROFS) {
		t.Errorf("the agent removes an upload: %v, want EROFS", err)
	}
	if err := os.WriteFile(filepath.Join(operator.Dir, "mnt/skills/x"), nil, 0o644); !errors.Is(err, unix.EROFS) {
		t.Errorf("the operator writes a skill: %v, want EROFS", err)
	}
}
