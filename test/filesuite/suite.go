package filesuite

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

// Facts are what the suite must know of a sandbox.
type Facts struct {
	// Dir is a writable directory. Each test works in a new one below it.
	Dir string
	// ReadOnly is a directory in which every write is refused as read-only;
	// empty where there is none.
	ReadOnly string
	// Undownloadable is an existing file from which no download is allowed,
	// such as /etc/passwd.
	Undownloadable string
	// Privileged says that commands run as a user whom modes do not bind.
	Privileged bool
	// Limit bounds each call; 0 means 20 seconds.
	Limit time.Duration
}

// Run runs the suite. The constructor is called once for each test; it may
// return the same sandbox every time.
func Run(t *testing.T, open func(testing.TB) provider.Sandbox, f Facts) {
	if f.Limit == 0 {
		f.Limit = 20 * time.Second
	}
	for _, c := range []struct {
		name string
		run  func(*env)
	}{
		{"Read", testRead}, {"ReadRange", testReadRange}, {"ReadRefuses", testReadRefuses}, {"ReadSpecial", testReadSpecial},
		{"Write", testWrite}, {"WriteKeeps", testWriteKeeps}, {"WriteRefuses", testWriteRefuses}, {"WriteAtomic", testWriteAtomic}, {"AppendConcurrent", testAppendConcurrent},
		{"Replace", testReplace}, {"ReplaceRefuses", testReplaceRefuses}, {"ReplaceConcurrent", testReplaceConcurrent},
		{"Download", testDownload}, {"DownloadRefuses", testDownloadRefuses},
		{"List", testList}, {"ListRefuses", testListRefuses},
		{"Glob", testGlob}, {"GlobBounds", testGlobBounds}, {"GlobRefuses", testGlobRefuses},
		{"Grep", testGrep}, {"GrepBounds", testGrepBounds}, {"GrepRefuses", testGrepRefuses},
		{"SameAsCommands", testSameAsCommands}, {"Cancelled", testCancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			ctx, cancel := context.WithTimeout(t.Context(), 10*f.Limit)
			t.Cleanup(cancel)
			e := &env{T: t, s: s, f: f, ctx: ctx, dir: strings.TrimSuffix(f.Dir, "/") + "/filesuite-" + c.name}
			e.sh("rm -rf " + e.dir + "; mkdir -p " + e.dir)
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), f.Limit)
				defer cancel()
				if _, err := s.Execute(ctx, provider.Command{Script: "chmod -R u+rwx " + e.dir + "; rm -rf " + e.dir}); err != nil {
					t.Errorf("clean up: %v", err)
				}
			})
			c.run(e)
		})
	}
}

// env is one test's world: a sandbox and an empty directory in it.
type env struct {
	*testing.T
	s   provider.Sandbox
	f   Facts
	ctx context.Context //nolint:containedctx // that of the test
	dir string
}

// path is that of a file in the test's directory.
func (e *env) path(name string) string { return e.dir + "/" + name }

// sh runs a script that must succeed and returns what it wrote.
func (e *env) sh(script string) string {
	e.Helper()
	res, err := e.s.Execute(e.ctx, provider.Command{Script: script, Dir: "/"})
	if err != nil {
		e.Fatalf("sh %q: %v", script, err)
	}
	if res.ExitCode != 0 {
		e.Fatalf("sh %q: exit %d, %s", script, res.ExitCode, res.Stderr.Head)
	}
	return string(res.Stdout.Head)
}

// put writes a file that must be written.
func (e *env) put(name, content string) string {
	e.Helper()
	if err := e.s.WriteFile(e.ctx, e.path(name), []byte(content), provider.Replace); err != nil {
		e.Fatalf("write %s: %v", name, err)
	}
	return e.path(name)
}

// wantFile compares a whole file.
func (e *env) wantFile(path, want string) {
	e.Helper()
	got, err := e.s.ReadFile(e.ctx, path, provider.LineRange{})
	if err != nil {
		e.Errorf("read %s: %v", path, err)
		return
	}
	if string(got) != want {
		e.Errorf("%s: want %s, got %s", path, clip(want), clip(string(got)))
	}
}

// wantKind demands an error of one of some kinds that speaks of the operation
// and, where one is given, of the path.
func (e *env) wantKind(what string, err error, kinds ...provider.Kind) {
	e.Helper()
	if err == nil {
		e.Errorf("%s: want an error of kind %v, got none", what, kinds)
		return
	}
	var typed *provider.Error
	if !errors.As(err, &typed) {
		e.Errorf("%s: want a *provider.Error, got %T: %v", what, err, err)
		return
	}
	if typed.Op == "" || typed.Reason == "" {
		e.Errorf("%s: the error %q lacks an operation or a reason", what, err)
	}
	for _, k := range kinds {
		if errors.Is(err, k) {
			return
		}
	}
	e.Errorf("%s: want kind %v, got %q: %v", what, kinds, provider.KindOf(err), err)
}

// quick demands that a call which must not wait for anything does not.
func (e *env) quick(what string, call func(context.Context) error) error {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.ctx, e.f.Limit)
	defer cancel()
	err := call(ctx)
	if ctx.Err() != nil {
		e.Errorf("%s: it did not return within %v", what, e.f.Limit)
	}
	return err
}

func (e *env) read(path string, r provider.LineRange) error {
	return e.quick("read "+path, func(ctx context.Context) error {
		_, err := e.s.ReadFile(ctx, path, r)
		return err
	})
}

func (e *env) write(path string, mode provider.WriteMode) error {
	return e.quick("write "+path, func(ctx context.Context) error {
		return e.s.WriteFile(ctx, path, []byte("x"), mode)
	})
}

// within waits for what may take some time.
func (e *env) within(limit time.Duration, what string, ok func() bool) {
	e.Helper()
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			e.Errorf("%s: not within %v", what, limit)
			return
		}
		time.Sleep(20 * time.Millisecond) // between two looks
	}
}

// download reads one to its end.
func (e *env) download(path string) (string, error) {
	r, err := e.s.DownloadFile(e.ctx, path)
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "..."
	}
	return s
}
