package filesuite

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

func testWrite(e *env) {
	p := e.path("new/deep/er/f")
	if err := e.s.WriteFile(e.ctx, p, []byte("a"), provider.Append); err != nil {
		e.Fatalf("append to a new file below new directories: %v", err)
	}
	if err := e.s.WriteFile(e.ctx, p, []byte("b\x00\xff"), provider.Append); err != nil {
		e.Fatalf("append: %v", err)
	}
	e.wantFile(p, "ab\x00\xff")
	if err := e.s.WriteFile(e.ctx, p, []byte("short"), provider.Replace); err != nil {
		e.Fatalf("replace: %v", err)
	}
	e.wantFile(p, "short")
	if err := e.s.WriteFile(e.ctx, p, nil, provider.Replace); err != nil {
		e.Fatalf("empty: %v", err)
	}
	e.wantFile(p, "")
	if err := e.s.UpdateFile(e.ctx, p, []byte("update\x00d")); err != nil {
		e.Fatalf("update: %v", err)
	}
	// The operator may write on the host's side, which a sandbox sees within
	// a second.
	e.within(2*time.Second, "the update is seen", func() bool {
		got, err := e.s.ReadFile(e.ctx, p, provider.LineRange{})
		return err == nil && string(got) == "update\x00d"
	})
	large := strings.Repeat("x", 5<<20)
	e.wantFile(e.put("large", large), large)
	if got := e.sh("cat " + p); got != "update\x00d" {
		e.Errorf("a command reads %q", got)
	}
	e.wantKind("over the limit", e.s.WriteFile(e.ctx, p, make([]byte, provider.MaxWriteFile+1), provider.Replace), provider.TooLarge)
	e.wantFile(p, "update\x00d")
	if got := e.sh("ls -A " + e.path("new/deep/er")); got != "f\n" {
		e.Errorf("writes left more than the file: %q", got)
	}
}

// testWriteKeeps demands that a write changes the content and nothing else.
func testWriteKeeps(e *env) {
	for _, mode := range []string{"600", "755", "644", "640"} {
		p := e.put("mode"+mode, "old")
		e.sh("chmod " + mode + " " + p)
		if err := e.s.WriteFile(e.ctx, p, []byte("new"), provider.Replace); err != nil {
			e.Errorf("write: %v", err)
		}
		if _, err := e.s.ReplaceInFile(e.ctx, p, provider.Replacement{Old: "new", New: "newer"}); err != nil {
			e.Errorf("replace: %v", err)
		}
		if got := strings.TrimSpace(e.sh("stat -c %a " + p)); got != mode {
			e.Errorf("mode: want %s, got %s", mode, got)
		}
		e.wantFile(p, "newer")
	}
	// Through links, to the last target, which need not exist.
	e.put("dir/target", "old")
	e.sh("cd " + e.dir + "; ln -s dir/target rel; ln -s " + e.path("rel") + " abs; ln -s dir/made tomade; ln -s dir linkdir; mkdir -p a/b; ln -s a/b short; ln -s ../up short/uplink")
	for _, p := range []string{"rel", "abs", "linkdir/target"} {
		if err := e.s.WriteFile(e.ctx, e.path(p), []byte("via "+p), provider.Replace); err != nil {
			e.Errorf("write through %s: %v", p, err)
		}
		e.wantFile(e.path("dir/target"), "via "+p)
	}
	if err := e.s.WriteFile(e.ctx, e.path("tomade"), []byte("made"), provider.Replace); err != nil {
		e.Errorf("write through a dangling link: %v", err)
	}
	e.wantFile(e.path("dir/made"), "made")
	// ".." in a link's text is the parent of where the link lies, not of
	// how it was reached.
	if err := e.s.WriteFile(e.ctx, e.path("short/uplink"), []byte("up"), provider.Append); err != nil {
		e.Errorf("write through a link with ..: %v", err)
	}
	e.wantFile(e.path("a/up"), "up")
	e.sh("cd " + e.dir + "; test -L rel && test -L abs && test -L tomade && test -L short/uplink")
}

func testWriteRefuses(e *env) {
	e.put("file", "x")
	e.sh("cd " + e.dir + "; mkdir dir; mkfifo fifo; ln -s fifo tofifo; ln -s loopb loopa; ln -s loopa loopb; ln -s /dev/null tonull")
	for _, mode := range []provider.WriteMode{provider.Replace, provider.Append} {
		for _, p := range []string{
			e.path("dir"), e.path("dir/"), e.path("fifo"), e.path("tofifo"), e.path("tonull"), e.path("loopa"), e.path("file/x"), e.path("x/.."),
			e.path(strings.Repeat("n", 300)), "", "relative", e.path("nul\x00"), "/",
		} {
			e.wantKind(fmt.Sprintf("write %q, mode %d", clip(p), mode), e.write(p, mode), provider.Invalid)
		}
		for _, p := range []string{"/proc/self/comm", "/proc/new", "/proc/self/root" + e.path("new"), "/dev/fd/1"} {
			e.wantKind("write "+p, e.write(p, mode), provider.Denied, provider.Invalid, provider.NotFound, provider.ReadOnlyFS)
		}
		if e.f.ReadOnly != "" {
			e.wantKind("write in a read-only directory", e.write(e.f.ReadOnly+"/filesuite-new", mode), provider.ReadOnlyFS)
			e.wantKind("make a directory in a read-only one", e.write(e.f.ReadOnly+"/filesuite-new/x", mode), provider.ReadOnlyFS)
		}
		if !e.f.Privileged {
			e.sh("cd " + e.dir + "; mkdir -p closed; touch closed/f ro; chmod 555 closed; chmod 444 ro")
			e.wantKind("a new file in a closed directory", e.write(e.path("closed/new"), mode), provider.Denied)
			e.wantKind("a read-only file", e.write(e.path("ro"), mode), provider.Denied)
		}
	}
	e.wantFile(e.path("file"), "x")
	if got := e.sh("cd " + e.dir + "; find . -name '.sandboxfs*'"); got != "" {
		e.Errorf("refused writes left %q", got)
	}
}

// testWriteAtomic lets a command read while the file is replaced: it must
// never see anything but one whole version.
func testWriteAtomic(e *env) {
	const size = 200_000
	p := e.put("f", strings.Repeat("a", size))
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 20 {
			c := strings.Repeat(string(rune('b'+i)), size)
			if err := e.s.WriteFile(e.ctx, p, []byte(c), provider.Replace); err != nil {
				e.Errorf("write: %v", err)
			}
		}
	})
	for range 20 {
		got, err := e.s.ReadFile(e.ctx, p, provider.LineRange{})
		if err != nil {
			e.Errorf("read: %v", err)
			continue
		}
		if len(got) != size || strings.Count(string(got), string(got[:1])) != size {
			e.Errorf("a reader saw a mixture of %d bytes", len(got))
		}
	}
	wg.Wait()
	if got := e.sh("ls -A " + e.dir); got != "f\n" {
		e.Errorf("writes left more than the file: %q", got)
	}
}

func testAppendConcurrent(e *env) {
	const writers, each = 8, 10
	p := e.path("log")
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				line := fmt.Sprintf("%d-%d-%s\n", w, i, strings.Repeat("x", 500))
				if err := e.s.WriteFile(e.ctx, p, []byte(line), provider.Append); err != nil {
					e.Errorf("append: %v", err)
				}
			}
		})
	}
	wg.Go(func() { e.sh("for i in $(seq 50); do echo command >> " + p + "; done") })
	wg.Wait()
	got, err := e.s.ReadFile(e.ctx, p, provider.LineRange{})
	if err != nil {
		e.Fatal(err)
	}
	if n := strings.Count(string(got), "\n"); n != writers*each+50 {
		e.Errorf("want %d lines, got %d", writers*each+50, n)
	}
	for w := range writers {
		for i := range each {
			if !strings.Contains(string(got), fmt.Sprintf("%d-%d-%s\n", w, i, strings.Repeat("x", 500))) {
				e.Errorf("line %d-%d is lost or torn", w, i)
			}
		}
	}
}
