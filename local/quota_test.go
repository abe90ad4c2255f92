package local_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// run runs a script and returns its whole output without the last newline.
func run(t *testing.T, s provider.Sandbox, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := s.Execute(ctx, provider.Command{Script: "exec 2>&1\n" + script})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(r.Stdout.Head) + string(r.Stderr.Head))
}

// dfScript prints what a directory's filesystem says: size, used, free in
// KiB, and inodes, used, free.
const dfScript = `df --output=size,used,avail,itotal,iused,iavail . | tail -1 | tr -s ' ' | sed 's/^ //'`

func wantDF(t *testing.T, s provider.Sandbox, dir, want string) {
	t.Helper()
	got := run(t, s, "cd "+dir+"; "+dfScript)
	for end := time.Now().Add(2 * time.Second); got != want && time.Now().Before(end); { // closes are reported a little later
		got = run(t, s, "cd "+dir+"; "+dfScript)
	}
	if got != want {
		t.Errorf("df of %s: %s, want %s", dir, got, want)
	}
}

func testQuota(t *testing.T) {
	h := newHost(t)
	h.cfg.Local.Quota = provider.QuotaConfig{Bytes: 1 << 20, Files: 20}
	p := h.open(t)
	s := h.sandbox(t, p, "q")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	wantDF(t, s, mapping.Workspace, "1024 0 1024 20 0 20")
	if err := s.UpdateFile(ctx, mapping.Uploads+"/in", make([]byte, 512<<10)); err != nil {
		t.Fatal(err)
	}
	wantDF(t, s, mapping.Uploads, "1024 512 512 20 1 19")
	if got := run(t, s, `head -c 1M /dev/zero > big; stat -c %s big`); !strings.Contains(got, "Disk quota exceeded") || !strings.HasSuffix(got, "524288") {
		t.Errorf("writing more than is left: %s", got)
	}
	err := s.UpdateFile(ctx, mapping.Uploads+"/more", []byte("x"))
	if !errors.Is(err, provider.Quota) || !strings.Contains(err.Error(), "remove files") {
		t.Errorf("the operator's write beyond the quota: %v", err)
	}
	err = s.WriteFile(ctx, mapping.Workspace+"/f", []byte("x"), provider.Replace)
	if !errors.Is(err, provider.Quota) || !strings.Contains(err.Error(), "remove files") {
		t.Errorf("a tool's write beyond the quota: %v", err)
	}
	wantDF(t, s, mapping.Workspace, "1024 1024 0 20 2 18")
	if got := run(t, s, `mkdir d; rm big; mkdir d && ls`); !strings.Contains(got, "Disk quota exceeded") || !strings.HasSuffix(got, "\nd") {
		t.Errorf("making a directory before and after deleting: %s", got)
	}
	if got := run(t, s, `cd ../outputs; for i in $(seq 30); do : > f$i || break; done 2>&1; ls | wc -l`); !strings.HasSuffix(got, "\n18") {
		t.Errorf("files beyond the quota: %s", got)
	}

	// Every number is found again after a kill, under load.
	load, err := s.(provider.Starter).Start(ctx, provider.Command{Script: `cd ../outputs; while :; do rm f1; head -c 100K /dev/zero > f1; done 2>/dev/null`})
	if err != nil {
		t.Fatal(err)
	}
	testenv.Poll(t, 10*time.Second, "the load to work", func() bool { return run(t, s, `stat -c %s ../outputs/f1`) == "102400" })
	if err := unix.Kill(h.keeper(t, mapping.Key{Thread: "q"}), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	load.Wait()
	s = h.sandbox(t, h.open(t), "q")
	run(t, s, `: > ../outputs/f1`)
	wantDF(t, s, mapping.Workspace, "1024 516 508 20 20 0")

	// Less than is used: nothing grows, deleting works.
	ctx2, cancel2 := context.WithTimeout(context.Background(), time.Minute)
	defer cancel2()
	if err := p.Stop(ctx2, mapping.Key{Thread: "q"}); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(h.cfg.RuntimeDir); len(left) > 1 {
		t.Errorf("the runtime directory still holds %v", left)
	}
	h.cfg.Local.Quota = provider.QuotaConfig{Bytes: 100 << 10, Files: 5}
	s = h.sandbox(t, h.open(t), "q")
	wantDF(t, s, mapping.Workspace, "100 100 0 5 5 0")
	if got := run(t, s, `echo x > y; rm ../outputs/f1 && echo gone; ln -s a b; ls`); strings.Count(got, "exceeded") != 2 || !strings.Contains(got, "gone") {
		t.Errorf("below the present use: %s", got)
	}
}

func TestQuota(t *testing.T) { testQuota(t) }

func TestQuotaAsUser(t *testing.T) {
	if testenv.AsUser(t) {
		return
	}
	testQuota(t)
}
