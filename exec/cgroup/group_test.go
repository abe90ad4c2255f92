package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// create makes a group that is removed with the test, or skips.
func create(t *testing.T, l Limits) (*Group, string) {
	t.Helper()
	name := fmt.Sprintf("test-%d-%s", os.Getpid(), strings.ToLower(strings.NewReplacer("/", "-").Replace(t.Name())))
	g, err := Create(name, l)
	if errors.Is(err, ErrUnavailable) {
		testenv.Skip(t, fmt.Sprintf("no cgroup for this user here: %v", err))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Remove(deadline(t)); err != nil {
			t.Error(err)
		}
	})
	return g, name
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// shell starts a shell in the group and returns it with its first line of
// output.
func shell(t *testing.T, g *Group, script string) (*osexec.Cmd, string) {
	t.Helper()
	cmd := osexec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := g.Start(cmd.SysProcAttr, cmd.Start); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

func TestStartInside(t *testing.T) {
	g, name := create(t, Limits{Pids: 100, Memory: 64 << 20})
	before, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	_, line := shell(t, g, `grep -c '/sandboxfs/`+name+`$' /proc/self/cgroup; sleep 100`)
	want := fmt.Sprint(strings.Count(g.String(), ",") + 1)
	if g.dirs[0].version == 2 {
		want = "1"
	}
	if line != want {
		t.Errorf("%s: want the child in %s groups, got %s", g, want, line)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	after, err := os.ReadFile("/proc/thread-self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Errorf("the starting thread moved:\n%s\n%s", before, after)
	}
	for _, d := range g.dirs {
		procs, err := read(d.root, name+"/cgroup.procs")
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(strings.Fields(procs), fmt.Sprint(os.Getpid())) {
			t.Errorf("%v: this process is still in the group", d.controllers)
		}
	}
}

func TestLimitsAreSet(t *testing.T) {
	g, name := create(t, Limits{Pids: 77, Memory: 96 << 20, CPUWeight: 50})
	for _, d := range g.dirs {
		for _, c := range d.controllers {
			settings := v1Settings(c, Limits{Pids: 77, Memory: 96 << 20, CPUWeight: 50})
			if d.version == 2 {
				settings = v2Settings(c, Limits{Pids: 77, Memory: 96 << 20, CPUWeight: 50})
			}
			for _, s := range settings {
				if got, err := read(d.root, name+"/"+s.file); !s.optional && (err != nil || strings.TrimSpace(got) != s.value) {
					t.Errorf("%s: want %s, got %q, %v", s.file, s.value, got, err)
				}
			}
		}
	}
}

func TestRemoveEndsWhatIsLeft(t *testing.T) {
	g, name := create(t, Limits{})
	cmd, _ := shell(t, g, `trap '' TERM; for i in 1 2 3 4 5; do sleep 1000 & done; echo up; sleep 1000`)
	left, err := Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(left, name) {
		t.Errorf("want %q among %q", name, left)
	}
	// By name, as after the maker's death.
	reaped := make(chan error, 1)
	go func() { reaped <- cmd.Wait() }()
	if err := Remove(deadline(t), name); err != nil {
		t.Fatal(err)
	}
	select {
	case <-reaped:
	case <-deadline(t).Done():
		t.Fatal("a member outlives its group")
	}
	if left, _ = Leftovers(); slices.Contains(left, name) {
		t.Errorf("still there: %q", left)
	}
	if err := Remove(deadline(t), name); err != nil {
		t.Errorf("a second removal: %v", err)
	}
}

func TestCreateReplacesLeftover(t *testing.T) {
	g, name := create(t, Limits{})
	cmd, _ := shell(t, g, `echo up; sleep 1000`)
	reaped := make(chan error, 1)
	go func() { reaped <- cmd.Wait() }()
	again, err := Create(name, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-reaped:
	case <-deadline(t).Done():
		t.Fatal("the former group's member is alive")
	}
	if err := again.Remove(deadline(t)); err != nil {
		t.Error(err)
	}
}

func TestRemoveGivesUp(t *testing.T) {
	g, name := create(t, Limits{})
	// A group below ours keeps ours busy, and holds no process to kill.
	below := name + "/below"
	if err := g.dirs[0].root.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	defer g.dirs[0].root.Remove(below)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := Remove(ctx, name); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("want the deadline's error, got %v", err)
	}
}

func TestNames(t *testing.T) {
	for _, bad := range []string{"", "..", "a/b", "a.b", "a\n", strings.Repeat("x", 65), "ä"} {
		if ValidName(bad) {
			t.Errorf("%q is accepted", bad)
		}
		if _, err := Create(bad, Limits{}); err == nil || errors.Is(err, ErrUnavailable) {
			t.Errorf("create %q: got %v", bad, err)
		}
		if err := Remove(context.Background(), bad); err == nil {
			t.Errorf("remove %q: no error", bad)
		}
	}
	if !ValidName("aZ09_-") {
		t.Error("a good name is refused")
	}
}

// version2 returns the version 2 tree, or skips. The tree's own controllers
// are used, whatever they are: birth in the group, the kill file and the
// removal need none.
func version2(t *testing.T) (m mount, self string, want []string) {
	t.Helper()
	mounts, self, err := system()
	if err != nil {
		t.Fatal(err)
	}
	m, ok := v2Mount(mounts)
	if !ok {
		testenv.Skip(t, "no version 2 tree is mounted here")
	}
	text, err := read(mustRoot(t, m.point), "cgroup.controllers")
	if err != nil {
		t.Fatal(err)
	}
	return m, self, strings.Fields(text)
}

// testVersion2 makes a group below a place, has a process born in it, and ends
// it.
func testVersion2(t *testing.T, place string) {
	m, self, want := version2(t)
	d, err := openV2(m, place, self, want)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.controllers) < len(want) {
		t.Errorf("controllers: want %q handed down, got %q", want, d.controllers)
	}
	g := &Group{name: fmt.Sprintf("test-v2-%d", os.Getpid())}
	if err := g.make(d, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Remove(deadline(t)); err != nil {
			t.Error(err)
		}
	})
	cmd, line := shell(t, g, `grep ^0:: /proc/self/cgroup; sleep 1000 & sleep 1000`)
	if !strings.HasSuffix(line, "/"+parent+"/"+g.name) {
		t.Errorf("the child is in %q", line)
	}
	if err := g.Kill(); err != nil {
		t.Fatal(err)
	}
	reaped := make(chan error, 1)
	go func() { reaped <- cmd.Wait() }()
	select {
	case <-reaped:
	case <-deadline(t).Done():
		t.Fatal("a member survives")
	}
}

func TestVersion2(t *testing.T) {
	if os.Geteuid() != 0 {
		testenv.Skip(t, "the top of the version 2 tree belongs to root")
	}
	m, _, want := version2(t)
	top := mustRoot(t, m.point)
	before, err := read(top, "cgroup.subtree_control")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		top.Remove(parent) // where no other group is in it
		for _, c := range want {
			if !strings.Contains(before, c) {
				write(top, "cgroup.subtree_control", "-"+c)
			}
		}
	})
	testVersion2(t, ".")
}

// delegated names, in the environment of a second process, the group that was
// handed to the ordinary user which that process runs as.
const delegated = "CGROUP_TEST_DELEGATED"

func TestVersion2Delegated(t *testing.T) {
	if place := os.Getenv(delegated); place != "" {
		testVersion2(t, place)
		return
	}
	if os.Geteuid() != 0 {
		testenv.Skip(t, "handing a group to a user needs root")
	}
	const uid = 61234
	m, _, want := version2(t)
	top := mustRoot(t, m.point)
	place := fmt.Sprintf("delegated-%d", os.Getpid())
	inner := place + "/inner"
	for _, d := range []string{place, inner} {
		if err := top.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { top.Remove(d) })
	}
	delegate(top, want)
	for _, f := range []string{"", "/cgroup.procs", "/cgroup.subtree_control"} {
		if err := top.Chown(place+f, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	f, err := top.Open(inner)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := osexec.Command("/proc/self/exe", "-test.run=^TestVersion2Delegated$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), delegated+"="+place)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		UseCgroupFD: true, CgroupFD: int(f.Fd()), Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
	top.Remove(place + "/" + parent)
}

func mustRoot(t *testing.T, path string) *os.Root {
	t.Helper()
	r, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestDelegate runs over plain files in the place of a version 2 tree whose
// controllers are switched on already.
func TestDelegate(t *testing.T) {
	top := t.TempDir()
	for _, d := range []string{"", "user.slice", "user.slice/" + parent} {
		if err := os.MkdirAll(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{"cgroup.procs", "cgroup.subtree_control"} {
			if err := os.WriteFile(filepath.Join(top, d, f), []byte("memory pids"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	d, err := openV2(mount{point: top, root: "/", version: 2}, "user.slice", "/user.slice/a.scope", controllers[:])
	if err != nil {
		t.Fatal(err)
	}
	defer d.root.Close()
	if !d.has("pids") || d.has("cpu") {
		t.Errorf("controllers: %q", d.controllers)
	}
}
