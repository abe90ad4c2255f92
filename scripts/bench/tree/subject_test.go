package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
)

func TestPointsBelow(t *testing.T) {
	const text = `22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 22 0:45 / /tmp/b/one rw - fuse.bindfs x rw
41 22 0:46 / /tmp/b/with\040space rw - fuse.x x rw
42 22 0:47 / /tmp/bc rw - fuse.x x rw
43 22 0:48 / /tmp/b rw - fuse.x x rw
short
`
	want := []string{"/tmp/b/one", "/tmp/b/with space", "/tmp/b"}
	if got := pointsBelow(mountinfo.Parse(text), "/tmp/b"); !slices.Equal(got, want) {
		t.Errorf("want %q, got %q", want, got)
	}
}

// A peer that cannot mount says why; one that hangs is given up.
func TestStartServerThatDoesNotMount(t *testing.T) {
	s := &stage{}
	point := filepath.Join(t.TempDir(), "point")
	err := s.startServer(t.Context(), point, "sh", "-c", "echo no device >&2; exit 1")
	if err == nil || !strings.Contains(err.Error(), "no device") {
		t.Errorf("ended: got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.startServer(ctx, point+"2", "sleep", "60"); err == nil || !strings.Contains(err.Error(), "did not mount") {
		t.Errorf("hung: got %v", err)
	}
	if err := s.startServer(t.Context(), point+"3", "/no/such/program"); err == nil {
		t.Error("a program that is not there was started")
	}
	for _, v := range s.servers {
		if err := v.cmd.Process.Kill(); err != nil && v.cmd.ProcessState == nil {
			t.Error(err)
		}
		if err := v.stop(); err != nil {
			t.Error(err)
		}
	}
}

// A run takes longer than a sandbox may be idle by default.
func TestTheSandboxDoesNotEndByItself(t *testing.T) {
	if got := config("/dir", "/home").Idle(); got != 0 {
		t.Errorf("it ends after %v", got)
	}
}
