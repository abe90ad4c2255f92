package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/tool"
)

// Options are what a server is made from.
type Options struct {
	// Version is that of this program, for the client.
	Version string
	// Tools returns the tools for a call, of the thread that its session, its
	// token or its headers stand for. It is called for each call, by many
	// goroutines.
	Tools func(ctx context.Context, r *sdk.CallToolRequest) (*tool.Set, error)
}

// instructions are what a client may tell its model of the server.
const instructions = "A sandbox with real files and a real shell. Commands start in /mnt/user-data/workspace; the user's files are in " +
	"/mnt/user-data/uploads (read-only), what is for the user belongs in /mnt/user-data/outputs, and skills are in /mnt/skills (read-only). " +
	"All tools and all commands see the same files at the same absolute paths."

// NewServer returns a server for the tools. It serves one session by its Run,
// or any number behind the SDK's HTTP handler.
func NewServer(o Options) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "sandboxfs", Title: "sandboxfs", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		// The list never changes, and there is no log for clients.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	for _, spec := range tool.Specs() {
		s.AddTool(describe(spec), o.call)
	}
	return s
}

// Serve serves one session on a pair of streams, until the client ends it, or
// ctx ends. Commands that still run are ended.
func Serve(ctx context.Context, s *sdk.Server, in io.ReadCloser, out io.WriteCloser) error {
	err := s.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: maxMessage})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil // the client is gone, or we are to end
	}
	return err
}

// maxMessage bounds one message of a client, in bytes. The greatest is a file's
// content in JSON.
const maxMessage = 20 << 20

func describe(spec tool.Spec) *sdk.Tool {
	a := spec.Annotations
	return &sdk.Tool{
		Name: spec.Name, Title: spec.Title, Description: spec.Description,
		InputSchema: spec.InputSchema, OutputSchema: spec.OutputSchema,
		Annotations: &sdk.ToolAnnotations{
			Title: a.Title, ReadOnlyHint: a.ReadOnlyHint, DestructiveHint: &a.DestructiveHint,
			IdempotentHint: a.IdempotentHint, OpenWorldHint: &a.OpenWorldHint,
		},
	}
}

// call is the handler of every tool. ctx ends when the client cancels the call
// or is gone, and with it the command.
func (o Options) call(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	set, err := o.Tools(ctx, r)
	if err != nil {
		return failed(tool.Failed(r.Params.Name, err)), nil
	}
	answer := set.Do(ctx, tool.Request{Name: r.Params.Name, Arguments: r.Params.Arguments, Progress: progress(ctx, r)})
	if answer.IsError() {
		return failed(answer), nil
	}
	return &sdk.CallToolResult{Content: text(answer.Text), StructuredContent: answer.Result}, nil
}

// metaError is where an error's typed form is, beside its text: a structured
// content would have to follow the schema of a result.
const metaError = "sandboxfs/error"

func failed(a tool.Answer) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: text(a.Text), Meta: sdk.Meta{metaError: a.Failure()}}
}

func text(s string) []sdk.Content { return []sdk.Content{&sdk.TextContent{Text: s}} }

// progress passes on how far a command is, where the client asked for it.
func progress(ctx context.Context, r *sdk.CallToolRequest) func(tool.Progress) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return func(p tool.Progress) {
		message := fmt.Sprintf("running for %.0f s, %d bytes of output", p.Elapsed.Seconds(), p.Bytes)
		if p.Line != "" {
			message += ": " + p.Line
		}
		// A client that is gone ends the call by itself.
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: p.Elapsed.Seconds(), Message: message})
	}
}

// Fixed is an [Options.Tools] for a server of one thread.
func Fixed(set *tool.Set) func(context.Context, *sdk.CallToolRequest) (*tool.Set, error) {
	return func(context.Context, *sdk.CallToolRequest) (*tool.Set, error) {
		if set == nil {
			return nil, &provider.Error{Kind: provider.Internal, Op: "call", Reason: "the server has no tools"}
		}
		return set, nil
	}
}
