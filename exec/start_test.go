package exec

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

func TestSandboxStartErrors(t *testing.T) {
	e := executor(t)
	write := func(path, content string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll("/tmp/se/dir", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll("/tmp/se") })
	}
	write("/tmp/se/plain", "no program", 0o644)
	write("/tmp/se/badformat", "no program", 0o755)
	write("/tmp/se/badinterpreter", "#!/no/such/interpreter\n", 0o755)
	write("/tmp/se/good", "#!/bin/sh\necho good\n", 0o755)
	for _, tt := range []struct {
		name   string
		argv   []string
		dir    string
		reason Reason
		errno  syscall.Errno
		code   int
		text   string
	}{
		{"no such name", []string{"no-such-program"}, "/tmp", NotFound, syscall.ENOENT, 127, "no-such-program: not found"},
		{"no such path", []string{"/no/such"}, "/tmp", NotFound, syscall.ENOENT, 127, "/no/such: not found"},
		{"below a file", []string{"/etc/passwd/x"}, "/tmp", NotFound, syscall.ENOTDIR, 127, "not found"},
		{"directory", []string{"/tmp/se/dir"}, "/tmp", NotExecutable, syscall.EISDIR, 126, "is a directory"},
		{"no permission", []string{"./plain"}, "/tmp/se", NotExecutable, syscall.EACCES, 126, "permission denied"},
		{"no permission in PATH", []string{"plain"}, "/tmp/se", NotExecutable, syscall.EACCES, 126, "permission denied"},
		{"format", []string{"badformat"}, "/tmp/se", NotExecutable, syscall.ENOEXEC, 126, "#!"},
		{"interpreter", []string{"badinterpreter"}, "/tmp/se", NotExecutable, syscall.ENOENT, 126, "interpreter"},
		{"no directory", []string{"true"}, "/tmp/none", BadDir, syscall.ENOENT, 125, "/tmp/none"},
		{"file as directory", []string{"true"}, "/etc/passwd", BadDir, syscall.ENOTDIR, 125, "/etc/passwd"},
		{"closed directory", []string{"true"}, "/root", BadDir, syscall.EACCES, 125, "/root"},
		{"relative directory", []string{"true"}, "tmp", Invalid, 0, 125, "absolute"},
		{"nothing", nil, "/tmp", Invalid, 0, 125, "no program"},
		{"empty name", []string{""}, "/tmp", Invalid, 0, 125, "no program"},
		{"NUL", []string{"echo", "a\x00b"}, "/tmp", Invalid, 0, 125, "NUL"},
		{"long argument", []string{"echo", strings.Repeat("a", maxArgument)}, "/tmp", TooLong, syscall.E2BIG, 126, "too long"},
		{"long request", []string{"echo", strings.Repeat("a", maxBody)}, "/tmp", TooLong, syscall.E2BIG, 126, "too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.dir == "/root" && os.Getenv(envForm) == "" {
				testenv.RunsElsewhere(t, "the test's own namespaces")
			}
			p, err := e.Start(context.Background(), Command{Argv: tt.argv, Dir: tt.dir, Env: []string{"PATH=/nowhere::/usr/bin:/bin"}})
			var serr *StartError
			if !errors.As(err, &serr) {
				t.Fatalf("process %v, error %v", p, err)
			}
			if serr.Reason != tt.reason || serr.Err != tt.errno || serr.ExitCode() != tt.code || !strings.Contains(serr.Error(), tt.text) {
				t.Errorf("reason %d, errno %v, code %d: %s", serr.Reason, serr.Err, serr.ExitCode(), serr)
			}
			if tt.errno != 0 && !errors.Is(err, tt.errno) {
				t.Error("the errno is not found by errors.Is")
			}
		})
	}
	for _, c := range []Command{
		{Argv: []string{"good"}, Dir: "/tmp/se", Env: []string{"PATH=/nowhere:"}},
		{Argv: []string{"./good"}, Dir: "/tmp/se"},
		{Argv: []string{"se/good"}, Dir: "/tmp"},
		{Argv: []string{"good"}, Dir: "/tmp", Env: []string{"PATH=se"}},
		{Argv: []string{"sh", "-c", "echo good"}, Dir: "/"},
	} {
		if o := run(t, e, c); o.stdout != "good\n" {
			t.Errorf("%+v: %+v", c, o)
		}
	}
	if n, r := slots(e), e.Running(); n != 1 || r != 0 {
		t.Errorf("%d slots, %d running after failed starts", n, r)
	}
}

func TestSandboxArgumentsAreBytes(t *testing.T) {
	e := executor(t)
	want := "\xff\xfe a\tb\nc 日本 \x01"
	o := run(t, e, Command{Argv: []string{"printf", "%s|%s", want, ""}, Dir: "/tmp"})
	if o.stdout != want+"|" {
		t.Errorf("%q", o.stdout)
	}
	many := make([]string, 2000)
	for i := range many {
		many[i] = strings.Repeat("x", 500)
	}
	o = run(t, e, Command{Argv: append([]string{"sh", "-c", "echo $# ${#E}", "sh"}, many...), Dir: "/tmp", Env: []string{"E=" + strings.Repeat("e", 100000)}})
	if o.stdout != "2000 100000\n" {
		t.Errorf("%.80q %.80q", o.stdout, o.stderr)
	}
}

func TestSandboxStartIsCancelled(t *testing.T) {
	e := executor(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Start(ctx, script("true")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// Afterwards the context does nothing.
	ctx, cancel = context.WithCancel(context.Background())
	p, err := e.Start(ctx, script("sleep 0.1; echo on"))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if o := collect(t, p); o.stdout != "on\n" {
		t.Errorf("%+v", o)
	}
}

func TestStartErrorTexts(t *testing.T) {
	for _, tt := range []struct {
		err  *StartError
		want string
	}{
		{&StartError{Reason: Failed, Detail: "why"}, "start command: why"},
		{&StartError{Reason: NoResources, Path: "x", Err: syscall.EAGAIN}, "end other commands"},
		{&StartError{Reason: Invalid, Path: "p", Detail: "why"}, "start command: p: why"},
	} {
		if got := tt.err.Error(); !strings.Contains(got, tt.want) {
			t.Errorf("want %q in %q", tt.want, got)
		}
		if got := tt.err.ExitCode(); got != 125 {
			t.Error(got)
		}
	}
	if err := (&StartError{}).Unwrap(); err != nil {
		t.Error(err)
	}
}
