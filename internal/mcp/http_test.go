package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sandboxfs/sandboxfs/internal/mcp"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/plainbox"
	"github.com/sandboxfs/sandboxfs/tool"
)

// headers adds a header to every request of a client.
type headers struct{ thread string }

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Thread", h.thread)
	return http.DefaultTransport.RoundTrip(r)
}

// One server serves several threads at once over HTTP: each call is for the
// thread that its session says.
func TestTheThreadIsThatOfTheSession(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := plainbox.New(t.TempDir())
	server := mcp.NewServer(mcp.Options{Version: "1", Tools: func(_ context.Context, r *sdk.CallToolRequest) (*tool.Set, error) {
		key := mapping.Key{Thread: r.Extra.Header.Get("X-Thread")}
		if key.Thread == "" {
			return nil, &provider.Error{Kind: provider.Denied, Op: "call", Reason: "the request names no thread", Next: "name one"}
		}
		return tool.New(provider.NewTurn(p, key, provider.TurnOptions{}), tool.Options{Unaudited: true})
	}})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(web.Close) // after the sessions, for whose end it waits
	connect := func(thread string) *sdk.ClientSession {
		s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx,
			&sdk.StreamableClientTransport{Endpoint: web.URL, HTTPClient: &http.Client{Transport: headers{thread}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	call := func(s *sdk.ClientSession, name string, arguments map[string]any) *sdk.CallToolResult {
		arguments["description"] = "x"
		res, err := s.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	a, b := connect("a"), connect("b")
	call(a, "write_file", map[string]any{"path": "f", "content": "of a"})
	call(b, "write_file", map[string]any{"path": "f", "content": "of b"})
	for s, want := range map[*sdk.ClientSession]string{a: "of a", b: "of b"} {
		if got := textOf(call(s, "read_file", map[string]any{"path": "f"})); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
	if res := call(connect(""), "ls", map[string]any{"path": "/mnt"}); !res.IsError || textOf(res) != "Error: the request names no thread. Name one." {
		t.Errorf("without a thread: %+v", res)
	}
}
