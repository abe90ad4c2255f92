package filesuite

import (
	"context"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

// testSameAsCommands demands that file calls and commands see one world.
func testSameAsCommands(e *env) {
	e.sh("cd " + e.dir + "; printf 'from a command' > f; mkdir -p d/e; ln -s " + e.dir + "/f d/l")
	e.wantFile(e.path("f"), "from a command")
	e.wantFile(e.path("d/e/../../f"), "from a command")
	e.wantFile(e.path("d/l"), "from a command")
	e.put("f", "from a call")
	if got := e.sh("cat " + e.path("d/l")); got != "from a call" {
		e.Errorf("a command reads %q", got)
	}
	e.sh("rm " + e.path("f"))
	e.wantKind("read after rm", e.read(e.path("f"), provider.LineRange{}), provider.NotFound)
	e.put("g", "x")
	if got := strings.TrimSpace(e.sh("test -w " + e.path("g") + " && stat -c %a " + e.path("g"))); !strings.HasPrefix(got, "6") {
		e.Errorf("a new file's mode is %q", got)
	}
	if e.f.ReadOnly != "" {
		e.sh("! touch " + e.f.ReadOnly + "/filesuite-new 2>/dev/null")
	}
}

// testCancelled demands that the end of a context is answered, as such.
func testCancelled(e *env) {
	p := e.put("f", "x")
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	for what, call := range map[string]func() error{
		"read":  func() error { _, err := e.s.ReadFile(ctx, p, provider.LineRange{}); return err },
		"write": func() error { return e.s.WriteFile(ctx, p, []byte("y"), provider.Replace) },
		"replace": func() error {
			_, err := e.s.ReplaceInFile(ctx, p, provider.Replacement{Old: "x", New: "y"})
			return err
		},
		"list":     func() error { _, err := e.s.ListDir(ctx, e.dir, provider.ListOptions{}); return err },
		"glob":     func() error { _, err := e.s.Glob(ctx, e.dir, "*", provider.GlobOptions{}); return err },
		"grep":     func() error { _, err := e.s.Grep(ctx, e.dir, "x", provider.GrepOptions{}); return err },
		"download": func() error { _, err := e.s.DownloadFile(ctx, p); return err },
	} {
		e.wantKind("cancelled "+what, call(), provider.Unavailable, provider.Timeout)
	}
	late, cancel := context.WithTimeout(e.ctx, time.Nanosecond)
	defer cancel()
	<-late.Done()
	_, err := e.s.ReadFile(late, p, provider.LineRange{})
	e.wantKind("too late", err, provider.Timeout)
	e.wantFile(p, "x")
}
