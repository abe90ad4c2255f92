package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/hosttree"
	"github.com/sandboxfs/sandboxfs/internal/quota"
	"github.com/sandboxfs/sandboxfs/internal/regions"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

var (
	_ provider.Copier        = (*Provider)(nil)
	_ provider.PathLister    = (*Provider)(nil)
	_ provider.DataDirOpener = (*Provider)(nil)
)

// opCopy is the operation that errors of a copy name.
const opCopy = "copy"

// StatPath implements [provider.Copier].
func (p *Provider) StatPath(ctx context.Context, key mapping.Key, name string) (provider.Entry, error) {
	v, err := p.view(key, name)
	if err != nil {
		return provider.Entry{}, err
	}
	defer v.close()
	if v.name == "" {
		return provider.Entry{Path: "/", Type: "dir", Mode: 0o755}, nil
	}
	st, err := v.dir.Stat(v.name)
	if err != nil {
		return provider.Entry{}, v.fail(v.path, err)
	}
	return entryOf(v.path, st), nil
}

// ListPath implements [provider.PathLister].
func (p *Provider) ListPath(ctx context.Context, key mapping.Key, name string) ([]provider.Entry, error) {
	v, err := p.view(key, name)
	if err != nil {
		return nil, err
	}
	defer v.close()
	dir := v.dir
	if v.name != "" {
		if dir, err = v.dir.Open(v.name); err != nil {
			return nil, v.fail(v.path, err)
		}
		defer dir.Close()
	}
	var entries []provider.Entry
	err = dir.EachName(func(child string) error {
		if st, err := dir.Stat(child); err == nil { // else it is gone by now
			entries = append(entries, entryOf(path.Join(v.path, child), st))
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, v.fail(v.path, err)
	}
	return entries, nil
}

// CopyOut implements [provider.Copier].
func (p *Provider) CopyOut(ctx context.Context, key mapping.Key, name string, to provider.CopySink) error {
	v, err := p.view(key, name)
	if err != nil {
		return err
	}
	defer v.close()
	if v.name != "" {
		if _, err := v.dir.Stat(v.name); err != nil {
			return v.fail(v.path, err)
		}
	}
	left, err := hosttree.Walk(ctx, v.dir, v.name, to, hosttree.WalkOptions{})
	var errs []error
	for _, item := range left.Items {
		errs = append(errs, v.fail(path.Join(v.path, item.Path), item))
	}
	if left.More > 0 {
		errs = append(errs, &provider.Error{Kind: provider.Internal, Op: opCopy, Thread: v.key.String(), Path: v.path,
			Reason: fmt.Sprintf("%d more could not be read either", left.More)})
	}
	return errors.Join(append(errs, err)...)
}

// CopyIn implements [provider.Copier]. It makes the thread as a first command
// does.
func (p *Provider) CopyIn(ctx context.Context, key mapping.Key) (provider.CopySink, error) {
	if err := validThread(key); err != nil {
		return nil, err
	}
	v := &threadView{key: key.Normalize()}
	source := p.source(v.key)
	table, err := source.Table()
	if err == nil {
		v.roots, err = source.Open(table)
	}
	if err != nil {
		return nil, v.fail("", err)
	}
	ledger, err := quota.ForThread(ctx, p.run, source, p.cfg.Local.Quota)
	if err != nil {
		v.close()
		return nil, v.fail("", err)
	}
	return &copySink{view: v, to: hosttree.NewSink(hosttree.Thread(table, v.roots, ledger)), ledger: ledger}, nil
}

// copySink names the thread and the virtual path in what the sink answers.
type copySink struct {
	view *threadView
	to   *hosttree.Sink
	// ledger is nil where nothing bounds the thread.
	ledger *quota.Ledger
}

func (s *copySink) Put(ctx context.Context, item provider.CopyItem, content io.Reader) error {
	err := s.to.Put(ctx, item, content)
	var failed *hosttree.ItemError
	if errors.As(err, &failed) && failed.Op == "read" {
		return err // it is about what is copied, not about the thread
	}
	if err != nil {
		return s.view.fail("/"+item.Path, err)
	}
	return nil
}

func (s *copySink) Close() error {
	err := errors.Join(s.to.Close(), s.ledger.Close())
	s.view.close()
	if err != nil {
		return s.view.fail("", err)
	}
	return nil
}

// threadView is a path of an existing thread: what is called name in dir.
type threadView struct {
	key   mapping.Key
	roots map[string]*os.File
	path  string
	dir   *hosttree.Dir
	// name is empty where the path is the root.
	name string
}

// view finds a path's directory, and makes nothing.
func (p *Provider) view(key mapping.Key, name string) (_ *threadView, err error) {
	if err := validThread(key); err != nil {
		return nil, err
	}
	v := &threadView{key: key.Normalize(), path: path.Clean(name)}
	if err := checkPath(name); err != nil {
		err.Op, err.Thread, err.Path = opCopy, v.key.String(), name
		return nil, err
	}
	dir, err := p.OpenDataDir(context.Background(), v.key) // nothing is made for a thread that does not exist
	if err != nil {
		return nil, err
	}
	dir.Close()
	defer func() {
		if err != nil {
			v.close()
		}
	}()
	source := p.source(v.key)
	table, err := source.Table()
	if err == nil {
		v.roots, err = source.OpenExisting(table)
	}
	if err != nil {
		return nil, v.fail(v.path, err)
	}
	v.dir = hosttree.Thread(table, v.roots, nil)
	parts := strings.Split(strings.TrimPrefix(v.path, "/"), "/")
	for _, part := range parts[:len(parts)-1] {
		next, err := v.dir.Open(part)
		v.dir.Close()
		v.dir = next
		if err != nil {
			return nil, v.fail(v.path, err)
		}
	}
	v.name = parts[len(parts)-1]
	return v, nil
}

func (v *threadView) close() {
	if v.dir != nil {
		v.dir.Close()
	}
	regions.Close(v.roots)
}

// fail gives an error the operation, the thread and a virtual path.
func (v *threadView) fail(virtual string, err error) error {
	var e *provider.Error
	switch {
	case errors.As(err, &e):
		c := *e
		c.Op, c.Thread = opCopy, v.key.String()
		if c.Path == "" {
			c.Path = virtual
		}
		return &c
	case errors.Is(err, hosttree.ErrSpecial), errors.Is(err, unix.EINVAL):
		return &provider.Error{Kind: provider.Invalid, Op: opCopy, Thread: v.key.String(), Path: virtual,
			Reason: hosttree.ErrSpecial.Error(), Next: "it is not copied", Err: err}
	case errors.Is(err, hosttree.ErrInside):
		return &provider.Error{Kind: provider.Invalid, Op: opCopy, Thread: v.key.String(), Path: virtual, Reason: hosttree.ErrInside.Error(), Err: err}
	}
	err = hostError(opCopy, v.key.String(), virtual, err)
	if errors.As(err, &e) && e.Kind == provider.ReadOnlyFS {
		e.Next = "write below " + mapping.Uploads + ", workspace or outputs"
	}
	return err
}

// OpenDataDir implements [provider.DataDirOpener].
func (p *Provider) OpenDataDir(_ context.Context, key mapping.Key) (*os.File, error) {
	if err := validThread(key); err != nil {
		return nil, err
	}
	key = key.Normalize()
	home, err := hostpath.Open(p.home)
	if err == nil {
		defer home.Close()
		var dir *os.File
		if dir, err = hostpath.Walk(home, mapping.Layout{Home: p.home}.ThreadParts(key)...); err == nil {
			return dir, nil
		}
	}
	if errors.Is(err, unix.ENOENT) {
		return nil, noThread(key, err)
	}
	return nil, hostError("find thread", key.String(), "", err)
}

// validThread refuses a key that names no thread. Kind: invalid.
func validThread(key mapping.Key) error {
	err := key.Validate()
	if err == nil && key.IsGeneric() {
		err = errors.New("no thread is named")
	}
	if err != nil {
		return &provider.Error{Kind: provider.Invalid, Op: "find thread", Reason: err.Error()}
	}
	return nil
}

// checkPath refuses what cannot be a virtual path of an operator's call.
func checkPath(name string) *provider.Error {
	switch {
	case !path.IsAbs(name):
		return &provider.Error{Kind: provider.Invalid, Reason: "the path is not absolute", Next: "give one that begins with /mnt"}
	case strings.Contains(name+"/", "/../"):
		return &provider.Error{Kind: provider.Denied, Reason: "a path with .. is refused", Next: "give the path without .."}
	case strings.ContainsRune(name, 0):
		return &provider.Error{Kind: provider.Invalid, Reason: "no file can have this path", Next: "give a path without a NUL byte"}
	}
	return nil
}

func entryOf(virtual string, st unix.Stat_t) provider.Entry {
	e := provider.Entry{Path: virtual, Type: "device", Mode: st.Mode & 0o7777, ModTime: st.Mtim.Nano()}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.Type, e.Size = "file", st.Size
	case unix.S_IFDIR:
		e.Type = "dir"
	case unix.S_IFLNK:
		e.Type = "symlink"
	case unix.S_IFIFO:
		e.Type = "fifo"
	case unix.S_IFSOCK:
		e.Type = "socket"
	}
	return e
}
