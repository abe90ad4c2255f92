package readonlysuite_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/test/readonlysuite"
)

// deadline bounds each program that a test starts.
const deadline = time.Minute

// custom is where the read-only custom mount is.
const custom = "/mnt/reference"

// The test program makes the calls, as a process that sees the directories:
// as "calls REGION WRITABLE FORM", and as "bound REGION WRITABLE FORM" where it
// first binds the region read-only over itself, in a mount namespace that it
// was started in.
func TestMain(m *testing.M) {
	if len(os.Args) != 5 || os.Args[1] != "calls" && os.Args[1] != "bound" {
		os.Exit(m.Run())
	}
	region, writable, form := os.Args[2], os.Args[3], readonlysuite.Form(os.Args[4])
	err := error(nil)
	if os.Args[1] == "bound" {
		err = bind(region)
	}
	if err == nil {
		var all []readonlysuite.Outcome
		if all, err = readonlysuite.Try(region, writable, form); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(all)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// bind lays a read-only bind mount over a directory, as a container engine
// does with a volume.
func bind(at string) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, at, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("open_tree: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("mount_setattr: %w", err)
	}
	return unix.MoveMount(fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func TestReadOnly(t *testing.T) { testReadOnly(t) }

func TestReadOnlyAsUser(t *testing.T) {
	if !testenv.AsUser(t) {
		testReadOnly(t)
	}
}

func testReadOnly(t *testing.T) {
	testenv.RequireFUSE(t)
	w := newWorld(t)
	regions := []string{mapping.Skills, mapping.Uploads, mapping.ACPWorkspace, custom}
	t.Run("sandbox", func(t *testing.T) {
		for i, region := range regions {
			t.Run(path.Base(region), func(t *testing.T) {
				writable := fmt.Sprintf("%s/%d", mapping.Workspace, i)
				w.run(t, "exec", w.thread, "--", "mkdir", writable)
				out := w.run(t, "exec", w.thread, "--", mapping.Workspace+"/"+program, "calls", region, writable, string(readonlysuite.Mounted))
				w.check(t, region, out)
			})
		}
	})
	if os.Geteuid() != 0 {
		if _, err := osexec.LookPath("fusermount3"); err != nil {
			testenv.Skip(t, "an ordinary user's mount needs fusermount3")
		}
	}
	point := filepath.Join(w.root, "point")
	if err := os.Mkdir(point, 0o755); err != nil {
		t.Fatal(err)
	}
	w.run(t, "mount", "--view", "agent", w.thread, point)
	t.Cleanup(func() { w.run(t, "umount", "--lazy", point) })
	for _, form := range []struct {
		name, how string
		form      readonlysuite.Form
	}{{"bound", "bound", readonlysuite.Mounted}, {"bare", "calls", readonlysuite.Served}} {
		t.Run(form.name, func(t *testing.T) {
			for i, region := range regions {
				t.Run(path.Base(region), func(t *testing.T) {
					writable := filepath.Join(point, mapping.Workspace, fmt.Sprintf("%s-%d", form.name, i))
					if err := os.Mkdir(writable, 0o755); err != nil {
						t.Fatal(err)
					}
					w.check(t, region, w.self(t, form.how, filepath.Join(point, region), writable, string(form.form)))
				})
			}
		})
	}
}

// program is the name of the test program in the workspace.
const program = "calls"

// world is a data directory with a thread.
type world struct {
	root, thread string
	programs     testenv.Programs
	env          []string
	hosts        map[string]string // by region
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root := t.TempDir()
	for _, d := range []string{root, filepath.Dir(root)} { // another user's sandbox is made of root's
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	home, thread := filepath.Join(root, "home"), filepath.Join(root, "home/users/default/threads/t")
	w := &world{root: root, thread: "t", programs: testenv.Binaries(t), hosts: map[string]string{
		mapping.Skills:       filepath.Join(home, "skills"),
		mapping.Uploads:      filepath.Join(thread, "user-data/uploads"),
		mapping.ACPWorkspace: filepath.Join(thread, "acp-workspace"),
		custom:               filepath.Join(root, "custom"),
	}}
	config := filepath.Join(root, "config.yaml")
	text := fmt.Sprintf("sandbox:\n  mounts:\n    - {host_path: %s, container_path: %s, read_only: true}\n", w.hosts[custom], custom)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	w.env = append(os.Environ(), "SANDBOXFS_HOME="+home, "SANDBOXFS_RUNTIME_DIR="+filepath.Join(root, "run"), "SANDBOXFS_CONFIG="+config)
	workspace := filepath.Join(thread, "user-data/workspace")
	for _, d := range []string{workspace, w.hosts[mapping.Skills], w.hosts[mapping.Uploads], w.hosts[mapping.ACPWorkspace], w.hosts[custom]} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, host := range w.hosts {
		if err := readonlysuite.Prepare(host, func(string) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	copySelf(t, filepath.Join(workspace, program))
	t.Cleanup(func() { w.run(t, "stop", w.thread) })
	return w
}

func copySelf(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(out, from)
		out.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// run runs the command line and returns its standard output.
func (w *world) run(t *testing.T, args ...string) string {
	t.Helper()
	// Not the test's own context, which is over when its cleanup runs.
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	return output(t, osexec.CommandContext(ctx, w.programs.Sandboxfs, args...), w.env)
}

// self runs this test program in a mount namespace of its own, of which an
// ordinary user is the master by way of a user namespace.
func (w *world) self(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	cmd := osexec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	return output(t, cmd, os.Environ())
}

func output(t *testing.T, cmd *osexec.Cmd, env []string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Env, cmd.Stderr, cmd.WaitDelay = env, &stderr, time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args[1:], " "), err, stderr.String())
	}
	return string(out)
}

func (w *world) check(t *testing.T, region, out string) {
	t.Helper()
	var all []readonlysuite.Outcome
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	readonlysuite.Check(t, w.hosts[region], all)
}
