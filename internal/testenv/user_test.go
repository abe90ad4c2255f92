package testenv

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAsUserRunsTheTestAsAnOrdinaryUser(t *testing.T) {
	if AsUser(t) {
		return
	}
	if os.Geteuid() == 0 {
		t.Fatal("still root")
	}
	if groups, err := os.Getgroups(); err != nil || len(groups) > 1 && os.Getenv(envAsUser) != "" {
		t.Errorf("groups %v, %v; want none but its own", groups, err)
	}
	if os.Getenv(envAsUser) != "" {
		RequireFUSE(t)
		if err := os.WriteFile(filepath.Join(os.TempDir(), "x"), nil, 0o600); err != nil {
			t.Errorf("the temporary directory: %v", err)
		}
		if _, err := os.Stat("/mnt/fuse"); err == nil {
			t.Error("the mount that made /dev/fuse is still in view")
		}
	}
}

func TestCommandRunsAsTheUser(t *testing.T) {
	u := OrdinaryUser(t)
	var before, after unix.Stat_t
	_ = unix.Stat("/dev/fuse", &before)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := u.Command(ctx, "sh", "-c", `id -u; id -G; grep CapPrm: /proc/self/status; printf '%s\n' "$1"`, "sh", "a b").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := []string{strconv.Itoa(u.UID), strconv.Itoa(u.GID), "CapPrm:\t0000000000000000", "a b"}
	if got := strings.Split(strings.TrimSpace(string(out)), "\n"); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
	_ = unix.Stat("/dev/fuse", &after)
	if before.Mode != after.Mode || before.Rdev != after.Rdev {
		t.Error("the machine's /dev/fuse was changed")
	}
}

func TestSecondRunReportsFailureAndSkip(t *testing.T) {
	if got, ok := findSkip("    x_test.go:1: skipped: TestX/y: needs a thing: really\n"); !ok || got != "needs a thing: really" {
		t.Errorf("findSkip = %q, %v", got, ok)
	}
	if got, want := runPattern("TestX/a.b"), `^TestX$/^a\.b$`; got != want {
		t.Errorf("runPattern = %q, want %q", got, want)
	}
}
