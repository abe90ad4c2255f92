package guest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/guest/frame"
)

// plain is an HTTP client as any of AIO's would be.
type plain struct {
	*testing.T
	c *http.Client
}

func newPlain(t *testing.T, g *running) *plain {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", g.socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &plain{t, &http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

// do returns the status and the body of an answer.
func (p *plain) do(method, route, body string) (int, string) {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), method, "http://x"+route, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	resp, err := p.c.Do(req)
	if err != nil {
		p.Fatalf("%s %s: %v", method, route, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.Fatalf("%s %s: %v", method, route, err)
	}
	return resp.StatusCode, string(b)
}

// contains reports whether JSON value got has all that want has.
func contains(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range w {
			if gv, ok := g[k]; !ok || !contains(gv, v) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !contains(g[i], w[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, want)
}

// TestAIO checks the shapes that clients of the AIO API rely on.
func TestAIO(t *testing.T) {
	g := startGuest(t, nil)
	p := newPlain(t, g)
	for name, content := range map[string]string{"text": "one\ntwo\nthree\n", "binary": "\xff\x00", "d/a.py": "x = 1 # TODO\n", "d/.hidden": ""} {
		full := filepath.Join(g.dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	failure := func(kind, errno string) string {
		return fmt.Sprintf(`{"success":false,"data":{"error_type":%q,"errno_name":%q}}`, kind, errno)
	}
	for _, c := range []struct {
		method, route, body string // @ stands for the directory
		status              int
		want                string
	}{
		{"GET", "/v1/sandbox", "", 200, `{"success":true,"home_dir":"@","workspace":"@","message":"Operation successful"}`},
		{"POST", "/v1/file/read", `{"file":"@/text","unknown":1,"end_line":null}`, 200, `{"success":true,"message":"Operation successful","hint":null,"data":{"content":"one\ntwo\nthree\n","file":"@/text"}}`},
		{"POST", "/v1/file/read", `{"file":"@/text","start_line":1,"end_line":2}`, 200, `{"data":{"content":"two\n"}}`},
		{"POST", "/v1/file/read", `{"file":"@/text","start_line":0,"end_line":0}`, 200, `{"data":{"content":""}}`},
		{"POST", "/v1/file/read", `{"file":"@/text","start_line":9}`, 200, `{"data":{"content":""}}`},
		{"POST", "/v1/file/read", `{"file":"@/none"}`, 404, failure("not_found", "ENOENT")},
		{"POST", "/v1/file/read", `{"file":"@/d"}`, 400, failure("invalid_target", "EISDIR")},
		{"POST", "/v1/file/read", `{"file":"relative"}`, 400, failure("invalid_path", "EINVAL")},
		{"POST", "/v1/file/read", `{"file":"@/binary"}`, 400, failure("decode_error", "EINVAL")},
		{"POST", "/v1/file/read", `{"file":"/proc/self/environ"}`, 403, failure("permission_denied", "EACCES")},
		{"POST", "/v1/file/read", `{}`, 422, `{"detail":[{"loc":["body","file"],"msg":"Field required","type":"missing"}]}`},
		{"POST", "/v1/file/read", `{"file":null}`, 422, `{"detail":[{"loc":["body","file"],"type":"missing"}]}`},
		{"POST", "/v1/file/read", `{"file":7}`, 422, `{"detail":[{"loc":["body","file"],"type":"string_type"}]}`},
		{"POST", "/v1/file/read", `[`, 422, `{"detail":[{"loc":["body"],"type":"json_invalid"}]}`},
		{"POST", "/v1/file/write", `{"file":"@/new/f","content":"a"}`, 200, `{"success":true,"data":{"file":"@/new/f","bytes_written":1}}`},
		{"POST", "/v1/file/write", `{"file":"@/new/f","content":"b","append":true,"leading_newline":true,"trailing_newline":true}`, 200, `{"data":{"bytes_written":3}}`},
		{"POST", "/v1/file/read", `{"file":"@/new/f"}`, 200, `{"data":{"content":"a\nb\n"}}`},
		{"POST", "/v1/file/write", `{"file":"@/new/b","content":"` + base64.StdEncoding.EncodeToString([]byte{0, 255}) + `","encoding":"base64"}`, 200, `{"data":{"bytes_written":2}}`},
		{"POST", "/v1/file/write", `{"file":"@/new/b","content":"%","encoding":"base64"}`, 400, `{"success":false}`},
		{"POST", "/v1/file/write", `{"file":"@/d","content":""}`, 400, failure("invalid_target", "EISDIR")},
		{"POST", "/v1/file/write", `{"file":"@/x"}`, 422, `{"detail":[{"loc":["body","content"]}]}`},
		{"POST", "/v1/file/replace", `{"file":"@/text","old_str":"two","new_str":"2"}`, 200, `{"success":true,"data":{"file":"@/text","replaced_count":1}}`},
		{"POST", "/v1/file/replace", `{"file":"@/text","old_str":"two","new_str":"2"}`, 404, failure("not_found", "ENOENT")},
		{"POST", "/v1/file/find", `{"path":"@","glob":"**/*.py"}`, 200, `{"success":true,"data":{"path":"@","files":["@/d/a.py"]}}`},
		{"POST", "/v1/file/find", `{"path":"@","glob":"none"}`, 200, `{"success":true,"data":{"files":[]}}`},
		{"POST", "/v1/file/find", `{"path":"@/none","glob":"*"}`, 404, failure("not_found", "ENOENT")},
		{"POST", "/v1/file/list", `{"path":"@/d"}`, 200, `{"success":true,"data":{"path":"@/d","total_count":2,"file_count":2,"directory_count":0,"files":[{"name":".hidden","path":"@/d/.hidden","is_directory":false,"size":0},{"name":"a.py","extension":".py","size":13,"permissions":null}]}}`},
		{"POST", "/v1/file/list", `{"path":"@/d","show_hidden":false,"include_permissions":true,"include_size":false}`, 200, `{"data":{"total_count":1,"files":[{"name":"a.py","size":null,"permissions":"0640"}]}}`},
		{"POST", "/v1/file/list", `{"path":"@","recursive":true,"show_hidden":false,"file_types":["py"]}`, 200, `{"data":{"files":[{"name":"d","is_directory":true},{"name":"a.py","path":"@/d/a.py"},{"name":"new"}]}}`},
		{"POST", "/v1/file/list", `{"path":"@/text"}`, 400, failure("invalid_target", "EINVAL")},
		{"POST", "/v1/file/grep", `{"path":"@","pattern":"todo","case_insensitive":true,"fixed_strings":true,"max_results":10,"max_file_size":"1M","recursive":true}`, 200, `{"success":true,"data":{"path":"@","pattern":"todo","match_count":1,"files_matched":1,"truncated":false,"matches":[{"file":"@/d/a.py","line_number":1,"line_content":"x = 1 # TODO","context_before":[],"context_after":[]}]}}`},
		{"POST", "/v1/file/grep", `{"path":"@","pattern":"todo"}`, 200, `{"data":{"match_count":0,"matches":[]}}`},
		{"POST", "/v1/file/grep", `{"path":"@","pattern":"x","include":["*.py","*.txt"]}`, 200, `{"data":{"match_count":1}}`},
		{"POST", "/v1/file/grep", `{"path":"@","pattern":"("}`, 400, `{"success":false}`},
		{"POST", "/v1/file/grep", `{"path":"@","pattern":"x","context_after":2}`, 400, `{"success":false}`},
		{"GET", "/v1/file/download?path=@/none", "", 404, failure("not_found", "ENOENT")},
		{"GET", "/v1/file/download?path=/etc/passwd", "", 403, failure("permission_denied", "EACCES")},
		{"GET", "/v1/nothing", "", 404, `{"success":false,"data":null}`},
		{"GET", "/v1/file/read", "", 404, `{"success":false,"data":null}`},
		{"POST", "/v1/sandboxfs/exec", `{}`, 426, `{"error":{"kind":"invalid"}}`},
		{"POST", "/v1/sandboxfs/stop", `{"when":"later"}`, 400, `{"error":{"kind":"invalid"}}`},
		{"GET", "/v1/sandboxfs/file/read?path=@/text&start=x", "", 400, `{"error":{"kind":"invalid"}}`},
		{"POST", "/v1/sandboxfs/file/write?path=@/text", "x", 400, `{"error":{"kind":"invalid"}}`},
	} {
		at := func(s string) string { return strings.ReplaceAll(s, "@", g.dir) }
		status, body := p.do(c.method, at(c.route), at(c.body))
		var got, want any
		if err := json.Unmarshal([]byte(at(c.want)), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != c.status || !contains(got, want) {
			t.Errorf("%s %s %s:\nwant %d %s\n got %d %s", c.method, c.route, c.body, c.status, c.want, status, body)
		}
	}
	status, body := p.do("GET", "/v1/file/download?path="+g.dir+"/binary&change_policy=abort", "")
	if status != 200 || body != "\xff\x00" {
		t.Errorf("download: got %d %q", status, body)
	}
}

// TestStdinOverrun sends more stdin than the window allows.
func TestStdinOverrun(t *testing.T) {
	ctx, g := limit(t), startGuest(t, nil)
	conn, err := net.Dial("unix", g.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"argv":["c2xlZXA=","NjA="],"stdin":true}`
	fmt.Fprintf(conn, "POST /v1/sandboxfs/exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: sandboxfs-exec/1\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	w := frame.NewWriter(conn)
	for range 64 {
		if w.Write(frame.Stdin, bytes.Repeat([]byte("x"), frame.MaxPayload)) != nil {
			break
		}
	}
	eventually(t, "the command ended", func() bool { in, err := g.Describe(ctx); return err == nil && in.State == "idle" && in.IdleSeconds > 0 })
}
