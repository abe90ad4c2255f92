package provider

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// declaredKinds reads the constants of type Kind from the source, so that one
// without a row is found.
func declaredKinds(t *testing.T) []Kind {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []Kind
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != "Kind" {
			return true
		}
		for _, v := range spec.Values {
			text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, Kind(text))
		}
		return true
	})
	return found
}

func TestEveryKindHasOneRow(t *testing.T) {
	declared := declaredKinds(t)
	if len(declared) != len(kinds) || fmt.Sprint(declared) != fmt.Sprint(Kinds()) {
		t.Fatalf("the constants are %q and the table has %q; every kind needs its row, in their order", declared, Kinds())
	}
	mcp, errnos := map[int]Kind{}, map[syscall.Errno]Kind{}
	for _, row := range kinds {
		if row.errno == 0 || errnos[row.errno] != "" {
			t.Errorf("%s: the errno %d is missing or also that of %q", row.kind, row.errno, errnos[row.errno])
		}
		if mcp[row.mcp] != "" || row.mcp > -32000 || row.mcp < -32768 {
			t.Errorf("%s: the MCP code %d is outside JSON-RPC's reserved range or also that of %q", row.kind, row.mcp, mcp[row.mcp])
		}
		mcp[row.mcp], errnos[row.errno] = row.kind, row.kind
		if row.http < 400 || row.http > 599 {
			t.Errorf("%s: the HTTP status %d is no error", row.kind, row.http)
		}
		if row.exit < 1 || row.exit >= ExitTimeout {
			t.Errorf("%s: the exit code %d is success or in the band of commands", row.kind, row.exit)
		}
	}
}

// TestKindTable pins the numbers: scripts and clients depend on them.
func TestKindTable(t *testing.T) {
	for _, want := range []struct {
		kind            Kind
		errno           syscall.Errno
		http, exit, mcp int
	}{
		{Invalid, syscall.EINVAL, 400, 2, -32602},
		{NotFound, syscall.ENOENT, 404, 1, -32002},
		{Exists, syscall.EEXIST, 409, 1, -32010},
		{Denied, syscall.EACCES, 403, 1, -32011},
		{ReadOnlyFS, syscall.EROFS, 403, 1, -32012},
		{NotEmpty, syscall.ENOTEMPTY, 409, 1, -32013},
		{TooLarge, syscall.EFBIG, 413, 1, -32014},
		{Quota, syscall.EDQUOT, 507, 1, -32015},
		{Timeout, syscall.ETIMEDOUT, 504, 1, -32016},
		{Unavailable, syscall.EAGAIN, 503, 1, -32017},
		{Conflict, syscall.EBUSY, 409, 1, -32018},
		{Internal, syscall.EIO, 500, 1, -32603},
		{Kind("of another make"), syscall.EIO, 500, 1, -32603},
	} {
		k := want.kind
		if k.Errno() != want.errno || k.HTTPStatus() != want.http || k.ExitCode() != want.exit || k.MCPCode() != want.mcp || k.CommandExitCode() != 125 {
			t.Errorf("%s = errno %v, HTTP %d, exit %d, MCP %d, command %d; want %+v",
				k, k.Errno(), k.HTTPStatus(), k.ExitCode(), k.MCPCode(), k.CommandExitCode(), want)
		}
	}
}

func TestKindOfHTTPStatus(t *testing.T) {
	for status, want := range map[int]Kind{
		400: Invalid, 401: Denied, 403: Denied, 404: NotFound, 408: Timeout, 409: Conflict, 413: TooLarge, 418: Invalid,
		422: Invalid, 429: Unavailable, 500: Internal, 502: Unavailable, 503: Unavailable, 504: Timeout, 507: Quota, 0: Internal, 200: Internal,
	} {
		if got := KindOfHTTPStatus(status); got != want {
			t.Errorf("KindOfHTTPStatus(%d) = %q, want %q", status, got, want)
		}
	}
	for _, k := range Kinds() {
		if got := KindOfHTTPStatus(k.HTTPStatus()); got.HTTPStatus() != k.HTTPStatus() {
			t.Errorf("%q answers %d, which is read as %q with %d", k, k.HTTPStatus(), got, got.HTTPStatus())
		}
	}
}

func TestErrorText(t *testing.T) {
	cause := errors.New("/srv/secret/host/path")
	for name, c := range map[string]struct {
		err  *Error
		want string
	}{
		"all":  {&Error{Kind: ReadOnlyFS, Op: "write file", Thread: "alice:t", Path: "/mnt/skills/x", Reason: "is read-only", Next: "write elsewhere", Err: cause}, "write file [alice:t] /mnt/skills/x: is read-only; write elsewhere"},
		"bare": {&Error{Kind: NotFound, Op: "get", Err: cause}, "get: not found"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if !errors.Is(c.err, cause) || !errors.Is(fmt.Errorf("wrapped: %w", c.err), c.err.Kind) || errors.Is(c.err, Quota) {
			t.Errorf("%s: errors.Is does not find the cause and the kind alone", name)
		}
	}
}

func TestKindOf(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want Kind
	}{
		"nil":     {nil, ""},
		"ours":    {fmt.Errorf("x: %w", &Error{Kind: Quota}), Quota},
		"a kind":  {fmt.Errorf("x: %w", Conflict), Conflict},
		"foreign": {errors.New("x"), Internal},
	} {
		if got := KindOf(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestFromErrno(t *testing.T) {
	host := "/srv/data/users/default/threads/t"
	for _, row := range errnos {
		err := &os.PathError{Op: "openat", Path: host, Err: row.errno}
		e := FromErrno("read file", "/mnt/user-data/x", fmt.Errorf("at %s: %w", host, err))
		if e.Kind != row.kind || e.Op != "read file" || e.Path != "/mnt/user-data/x" {
			t.Errorf("%v: %+v, want the kind %q", row.errno, e, row.kind)
		}
		if !errors.Is(e, row.errno) {
			t.Errorf("%v: the cause is lost", row.errno)
		}
		if strings.Contains(e.Error(), host) {
			t.Errorf("%v: the text shows a host path: %s", row.errno, e)
		}
		if e.Next == "" || e.Reason == "" {
			t.Errorf("%v: the message does not say what is wrong and what to do: %s", row.errno, e)
		}
	}
	// Each kind that is a system call's comes back as itself.
	for _, k := range Kinds() {
		if got := FromErrno("x", "", k.Errno()).Kind; got != k {
			t.Errorf("the errno of %q is read as %q", k, got)
		}
	}
}

func TestFromErrnoOfOtherErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want Kind
	}{
		"missing":   {fs.ErrNotExist, NotFound},
		"exists":    {fmt.Errorf("x: %w", fs.ErrExist), Exists},
		"forbidden": {fs.ErrPermission, Denied},
		"closed":    {fs.ErrClosed, Internal},
		"invalid":   {fs.ErrInvalid, Invalid},
		"unknown":   {errors.New("/srv/host/path"), Internal},
		"strange":   {syscall.ENOTTY, Internal},
	} {
		e := FromErrno("op", "/mnt/x", c.err)
		if e.Kind != c.want || strings.Contains(e.Error(), "/srv") {
			t.Errorf("%s: %q (%s), want %q", name, e.Kind, e, c.want)
		}
	}
	inner := &Error{Kind: Quota, Path: "/mnt/inner", Reason: "full"}
	e := FromErrno("op", "/mnt/outer", fmt.Errorf("x: %w", inner))
	if e == inner || e.Kind != Quota || e.Op != "op" || e.Path != "/mnt/inner" || inner.Op != "" {
		t.Errorf("an error of ours: %+v (the original: %+v)", e, inner)
	}
	if e := FromErrno("outer", "", &Error{Kind: Quota, Op: "inner"}); e.Op != "inner" {
		t.Errorf("the operation %q was put over the one that failed", e.Op)
	}
	if FromErrno("op", "", nil) != nil {
		t.Error("nil became an error")
	}
}

// Texts that are read by agents must not repeat a host path that a cause has.
func FuzzFromErrnoHidesItsCause(f *testing.F) {
	f.Add("/srv/secret", 2)
	f.Add("", 5)
	f.Add("/home/u/.local/share/sandboxfs", 13)
	f.Fuzz(func(t *testing.T, host string, errno int) {
		if len(host) < 4 || errno <= 0 {
			return
		}
		marked := "\x01" + host + "\x01"
		e := FromErrno("read file", "/mnt/user-data/x", &fs.PathError{Op: "open", Path: marked, Err: syscall.Errno(errno)})
		if strings.Contains(e.Error(), marked) {
			t.Errorf("the text shows the cause's path: %q", e.Error())
		}
		if e.Kind.HTTPStatus() == 0 {
			t.Errorf("no status for %q", e.Kind)
		}
	})
}
