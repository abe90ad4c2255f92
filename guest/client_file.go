package guest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/sandboxfs/sandboxfs/guest/file"
	"github.com/sandboxfs/sandboxfs/provider"
)

// ReadFile implements [provider.Sandbox].
func (c *Client) ReadFile(ctx context.Context, path string, lines provider.LineRange) ([]byte, error) {
	const op = "read file"
	if err := c.check(op, path, file.CheckLines(op, path, lines)); err != nil {
		return nil, err
	}
	q := url.Values{"path": {path}}
	putNumber(q, "start", lines.Start)
	putNumber(q, "end", lines.End)
	k := call{op: op, path: path, method: http.MethodGet, route: routeRead, query: q, repeatable: true}
	resp, err := c.send(ctx, k)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.ContentLength > provider.MaxReadFile {
		return nil, c.strange(op, path, "more than it was asked for", nil)
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, provider.MaxReadFile+1))
	if err != nil {
		return nil, c.broken(ctx, k, err)
	}
	if len(content) > provider.MaxReadFile {
		return nil, c.strange(op, path, "more than it was asked for", nil)
	}
	return content, nil
}

// WriteFile implements [provider.Sandbox].
func (c *Client) WriteFile(ctx context.Context, path string, content []byte, mode provider.WriteMode) error {
	return c.write(ctx, "write file", path, content, mode)
}

// UpdateFile writes as the guest may. A provider that has the host's
// directory at hand writes there instead, as the operator.
func (c *Client) UpdateFile(ctx context.Context, path string, content []byte) error {
	return c.write(ctx, "update file", path, content, provider.Replace)
}

func (c *Client) write(ctx context.Context, op, path string, content []byte, mode provider.WriteMode) error {
	if err := c.check(op, path, nil); err != nil {
		return err
	}
	if len(content) > provider.MaxWriteFile {
		return c.fail(op, path, provider.TooLarge, "the content is more than 64 MiB", "write it in parts by appending, or make it by a command", nil)
	}
	q := url.Values{"path": {path}, "mode": {modeReplace}}
	switch mode {
	case provider.Replace:
	case provider.Append:
		q.Set("mode", modeAppend)
	default:
		return c.fail(op, path, provider.Invalid, "there is no such mode of writing", "use Replace or Append", nil)
	}
	if content == nil {
		content = []byte{} // so that its length, 0, is announced
	}
	return c.get(ctx, call{op: op, path: path, method: http.MethodPost, route: routeWrite, query: q, body: content}, &struct{}{})
}

// ReplaceInFile implements [provider.Sandbox].
func (c *Client) ReplaceInFile(ctx context.Context, path string, r provider.Replacement) (*provider.ReplaceResult, error) {
	const op = "replace in file"
	if err := c.check(op, path, nil); err != nil {
		return nil, err
	}
	if len(r.Old)+len(r.New) > provider.MaxWriteFile {
		return nil, c.fail(op, path, provider.TooLarge, "the text is more than 64 MiB", "use a command", nil)
	}
	body, err := json.Marshal(wireReplace{Old: []byte(r.Old), New: []byte(r.New), All: r.All})
	if err != nil {
		return nil, c.fail(op, path, provider.Internal, "the request cannot be made", "", err)
	}
	var out wireReplaced
	if err := c.get(ctx, call{op: op, path: path, method: http.MethodPost, route: routeReplace, query: url.Values{"path": {path}}, body: body}, &out); err != nil {
		return nil, err
	}
	return &provider.ReplaceResult{Count: max(out.Count, 0), Lines: out.Lines}, nil
}

// DownloadFile implements [provider.Sandbox].
func (c *Client) DownloadFile(ctx context.Context, path string) (io.ReadCloser, error) {
	if err := checkDownload(c.o.DownloadRoot, path); err != nil {
		return nil, c.named(err)
	}
	if err := c.check(opDownload, path, nil); err != nil {
		return nil, err
	}
	k := call{op: opDownload, path: path, method: http.MethodGet, route: routeAIODownload, query: url.Values{"path": {path}}, repeatable: true}
	resp, err := c.send(ctx, k)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.ContentLength < 0:
		resp.Body.Close()
		return nil, c.strange(opDownload, path, "a file without its length", nil)
	case resp.ContentLength > provider.MaxDownload:
		resp.Body.Close()
		return nil, c.fail(opDownload, path, provider.TooLarge, "the file is larger than 100 MiB", "split or compress it by a command", nil)
	}
	return &download{c: c, ctx: ctx, call: k, body: resp.Body}, nil
}

// download turns a transfer that breaks off into an error of ours. net/http
// has checked the length.
type download struct {
	c    *Client
	ctx  context.Context //nolint:containedctx // that of the call, which the transfer belongs to
	call call
	body io.ReadCloser
}

func (d *download) Read(p []byte) (int, error) {
	n, err := d.body.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a reader returns io.EOF itself
		err = d.c.broken(d.ctx, d.call, err)
	}
	return n, err
}

func (d *download) Close() error { return d.body.Close() }
