package hosttree_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/hosttree"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

func plain(t testing.TB, path string) *hosttree.Dir {
	t.Helper()
	f, err := hostpath.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	d := hosttree.Plain(f)
	t.Cleanup(func() { d.Close() })
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// recorder keeps what is put, and the content of files.
type recorder map[string]string

func (r recorder) Put(_ context.Context, item provider.CopyItem, content io.Reader) error {
	text := item.Type
	switch item.Type {
	case "symlink":
		text += " " + item.Target
	case "file":
		b, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		text += " " + string(b)
	}
	r[item.Path] = text
	return nil
}

func (recorder) Close() error { return nil }

func TestWalk(t *testing.T) {
	base := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(base, "d/empty"), 0o755))
	must(t, os.WriteFile(filepath.Join(base, "d/a\nb"), []byte("1"), 0o644))
	must(t, os.Symlink("/etc/passwd", filepath.Join(base, "d/out")))
	must(t, unix.Mkfifo(filepath.Join(base, "d/fifo"), 0o644))
	got := recorder{}
	left, err := hosttree.Walk(t.Context(), plain(t, base), "d", got, hosttree.WalkOptions{})
	must(t, err)
	want := recorder{".": "dir", "empty": "dir", "a\nb": "file 1", "out": "symlink /etc/passwd"}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(left.Items) != 1 || left.Items[0].Path != "fifo" || !errors.Is(left.Items[0], hosttree.ErrSpecial) {
		t.Errorf("left out: %v", left.Items)
	}
}

func TestWalkLeavesOutWhatIsExcepted(t *testing.T) {
	base := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(base, "d/own/x"), 0o755))
	got := recorder{}
	left, err := hosttree.Walk(t.Context(), plain(t, base), "", got,
		hosttree.WalkOptions{Except: []*hosttree.Dir{plain(t, filepath.Join(base, "d/own"))}})
	must(t, err)
	if _, ok := got["d/own"]; ok || len(left.Items) != 1 || !errors.Is(left.Items[0], hosttree.ErrInside) {
		t.Errorf("put %q, left out %v", got, left.Items)
	}
}

// Of many that cannot be read some are named and the others counted.
func TestWalkTellsOfMany(t *testing.T) {
	base := t.TempDir()
	for _, name := range strings.Split("abcdefghijklmno", "") {
		must(t, unix.Mkfifo(filepath.Join(base, name), 0o644))
	}
	left, err := hosttree.Walk(t.Context(), plain(t, base), "", recorder{}, hosttree.WalkOptions{})
	must(t, err)
	if len(left.Items) != 10 || left.More != 5 {
		t.Errorf("%d named, %d more", len(left.Items), left.More)
	}
}

// A tree can be deeper than a path is long, and than descriptors last.
func TestWalkOfADeepTree(t *testing.T) {
	base := t.TempDir()
	d := plain(t, base)
	for range 700 {
		next, _, err := d.Make("deep", 0o755)
		must(t, err)
		d.Close()
		d = next
	}
	d.Close()
	got := recorder{}
	left, err := hosttree.Walk(t.Context(), plain(t, base), "", got, hosttree.WalkOptions{})
	must(t, err)
	if len(got) != 500 || len(left.Items) != 1 || !errors.Is(left.Items[0], unix.ENAMETOOLONG) {
		t.Errorf("%d levels, left out %v", len(got), left.Items)
	}
	f, err := hostpath.Open(base)
	must(t, err)
	defer f.Close()
	must(t, hostpath.RemoveAll(f, "deep"))
}

func TestSink(t *testing.T) {
	outside := t.TempDir()
	canary := filepath.Join(outside, "canary")
	must(t, os.WriteFile(canary, []byte("safe"), 0o644))
	for _, tt := range []struct {
		name string
		item provider.CopyItem
		want error
		// content is that of the file at the item's path afterwards.
		content string
	}{
		{"new", provider.CopyItem{Path: "new", Type: "file", Mode: 0o644, Size: -1}, nil, "text"},
		{"with parents", provider.CopyItem{Path: "p/q/new", Type: "file", Mode: 0o644, Size: 4}, nil, "text"},
		{"longer than it said", provider.CopyItem{Path: "new", Type: "file", Size: 2, Mode: 0o600}, nil, "te"},
		{"over a file", provider.CopyItem{Path: "file", Type: "file", Mode: 0o644, Size: 4}, nil, "text"},
		{"over a symlink", provider.CopyItem{Path: "link", Type: "file", Mode: 0o644, Size: 4}, nil, "text"},
		{"over a directory", provider.CopyItem{Path: "dir", Type: "file", Size: 4}, unix.EISDIR, ""},
		{"through a symlink", provider.CopyItem{Path: "dirlink/canary", Type: "file", Size: 4}, unix.ENOTDIR, ""},
		{"through a file", provider.CopyItem{Path: "file/x", Type: "file", Size: 4}, unix.ENOTDIR, ""},
		{"directory over a symlink", provider.CopyItem{Path: "dirlink", Type: "dir"}, unix.ENOTDIR, ""},
		{"directory that exists", provider.CopyItem{Path: "dir", Type: "dir"}, nil, ""},
		{"symlink over a file", provider.CopyItem{Path: "file", Type: "symlink", Target: "new target"}, nil, ""},
		{"symlink over a directory", provider.CopyItem{Path: "dir", Type: "symlink", Target: "x"}, unix.EISDIR, ""},
		{"link", provider.CopyItem{Path: "other", Type: "link", Target: "file"}, nil, "old"},
		{"link through a symlink", provider.CopyItem{Path: "other", Type: "link", Target: "dirlink/canary"}, unix.ENOTDIR, ""},
		{"link over a file", provider.CopyItem{Path: "dir/f", Type: "link", Target: "file"}, nil, "old"},
		{"dot-dot", provider.CopyItem{Path: "../canary", Type: "file", Size: 4}, unix.EINVAL, ""},
		{"absolute", provider.CopyItem{Path: "/tmp/x", Type: "file", Size: 4}, unix.EINVAL, ""},
		{"empty", provider.CopyItem{Path: "", Type: "file", Size: 4}, unix.EINVAL, ""},
		{"the root as a file", provider.CopyItem{Path: ".", Type: "file", Size: 4}, unix.EISDIR, ""},
		{"the root", provider.CopyItem{Path: ".", Type: "dir"}, nil, ""},
		{"a device", provider.CopyItem{Path: "dev", Type: "device"}, hosttree.ErrSpecial, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := t.TempDir()
			must(t, os.WriteFile(filepath.Join(base, "file"), []byte("old"), 0o644))
			must(t, os.Mkdir(filepath.Join(base, "dir"), 0o755))
			must(t, os.WriteFile(filepath.Join(base, "dir/f"), []byte("f"), 0o644))
			must(t, os.Symlink(canary, filepath.Join(base, "link")))
			must(t, os.Symlink(outside, filepath.Join(base, "dirlink")))
			s := hosttree.NewSink(plain(t, base))
			var content io.Reader
			if tt.item.Type == "file" {
				content = strings.NewReader("text")
			}
			if err := s.Put(t.Context(), tt.item, content); !errors.Is(err, tt.want) {
				t.Errorf("Put = %v, want %v", err, tt.want)
			}
			must(t, s.Close())
			if tt.content != "" {
				if b, err := os.ReadFile(filepath.Join(base, tt.item.Path)); err != nil || string(b) != tt.content {
					t.Errorf("content %q, %v", b, err)
				}
			}
			if b, _ := os.ReadFile(canary); string(b) != "safe" {
				t.Errorf("the canary holds %q", b)
			}
			noRubbish(t, base)
		})
	}
}

func noRubbish(t testing.TB, base string) {
	t.Helper()
	err := filepath.WalkDir(base, func(path string, _ os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), hostpath.TempPrefix) {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSinkModes(t *testing.T) {
	defer unix.Umask(unix.Umask(0o027))
	base := t.TempDir()
	s := hosttree.NewSink(plain(t, base))
	for _, item := range []provider.CopyItem{
		{Path: "closed", Type: "dir", Mode: 0o555},
		{Path: "closed/run", Type: "file", Mode: 0o6755, Size: 0},
	} {
		must(t, s.Put(t.Context(), item, nil))
	}
	must(t, s.Close())
	for name, want := range map[string]os.FileMode{"closed": 0o550 | os.ModeDir, "closed/run": 0o750} {
		if st, err := os.Lstat(filepath.Join(base, name)); err != nil || st.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", name, st.Mode(), err, want)
		}
	}
	must(t, os.Chmod(filepath.Join(base, "closed"), 0o755))
}

// A content that breaks off leaves what was there.
func TestSinkKeepsTheOldFile(t *testing.T) {
	base := t.TempDir()
	must(t, os.WriteFile(filepath.Join(base, "f"), []byte("old"), 0o644))
	s := hosttree.NewSink(plain(t, base))
	broken := io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), &failing{unix.EIO})
	err := s.Put(t.Context(), provider.CopyItem{Path: "f", Type: "file", Mode: 0o644, Size: -1}, broken)
	var item *hosttree.ItemError
	if !errors.Is(err, unix.EIO) || !errors.As(err, &item) || item.Op != "read" {
		t.Errorf("Put = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Put(ctx, provider.CopyItem{Path: "f", Type: "file", Mode: 0o644, Size: -1}, strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("Put with an ended context = %v", err)
	}
	must(t, s.Close())
	if b, _ := os.ReadFile(filepath.Join(base, "f")); string(b) != "old" {
		t.Errorf("the file holds %d bytes", len(b))
	}
	noRubbish(t, base)
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// Holes stay holes, and nothing is lost around them.
func TestHoles(t *testing.T) {
	base := t.TempDir()
	f, err := os.Create(filepath.Join(base, "sparse"))
	must(t, err)
	defer f.Close()
	for _, at := range []int64{0, 5 << 20, 64<<20 - 1} {
		_, err := f.WriteAt([]byte("x"), at)
		must(t, err)
	}
	must(t, f.Truncate(80<<20))
	s := hosttree.NewSink(plain(t, base))
	must(t, s.Put(t.Context(), provider.CopyItem{Path: "copy", Type: "file", Mode: 0o644, Size: 80 << 20}, hosttree.Content(f)))
	must(t, s.Close())
	a, err := os.ReadFile(filepath.Join(base, "sparse"))
	must(t, err)
	b, err := os.ReadFile(filepath.Join(base, "copy"))
	must(t, err)
	if !bytes.Equal(a, b) {
		t.Error("the copy differs")
	}
	var st unix.Stat_t
	must(t, unix.Stat(filepath.Join(base, "copy"), &st))
	if st.Blocks*512 > 2<<20 {
		t.Errorf("the copy takes %d bytes", st.Blocks*512)
	}
}

// threadOf makes a thread's tree: uploads with a region nested in it, skills
// read-only, and an outputs that does not exist.
func threadOf(t *testing.T) (*hosttree.Dir, string) {
	base := t.TempDir()
	regions := []mapping.Region{
		{Virtual: "/mnt/user-data/uploads", Host: base + "/uploads", Agent: mapping.ReadOnly},
		{Virtual: "/mnt/user-data/uploads/in/nested", Host: base + "/nested"},
		{Virtual: "/mnt/user-data/outputs", Host: base + "/outputs"},
		{Virtual: "/mnt/skills", Host: base + "/skills", Agent: mapping.ReadOnly, Operator: mapping.ReadOnly},
	}
	table, err := mapping.NewTable(regions...)
	must(t, err)
	roots := map[string]*os.File{}
	for _, r := range regions {
		if strings.HasSuffix(r.Host, "outputs") {
			continue
		}
		must(t, os.Mkdir(r.Host, 0o755))
		must(t, os.WriteFile(r.Host+"/f", []byte(filepath.Base(r.Host)), 0o644))
		f, err := hostpath.Open(r.Host)
		must(t, err)
		t.Cleanup(func() { f.Close() })
		roots[r.Virtual] = f
	}
	return hosttree.Thread(table, roots, nil), base
}

func TestThreadIsOneTree(t *testing.T) {
	tree, _ := threadOf(t)
	got := recorder{}
	_, err := hosttree.Walk(t.Context(), tree, "", got, hosttree.WalkOptions{})
	must(t, err)
	want := []string{".", "mnt", "mnt/skills", "mnt/skills/f", "mnt/user-data", "mnt/user-data/uploads", "mnt/user-data/uploads/f",
		"mnt/user-data/uploads/in", "mnt/user-data/uploads/in/nested", "mnt/user-data/uploads/in/nested/f"}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		t.Errorf("got %q", names)
	}
}

func TestWritesInAThread(t *testing.T) {
	for path, want := range map[string]error{
		"mnt/user-data/uploads/new":             nil,
		"mnt/user-data/uploads/in/nested/new":   nil,
		"mnt/user-data/uploads/in":              unix.EISDIR,
		"mnt/user-data/uploads/in/nested":       unix.EROFS,
		"mnt/skills/new":                        unix.EROFS,
		"mnt/skills/d/new":                      unix.EROFS,
		"mnt/skills":                            unix.EROFS,
		"mnt/new":                               unix.EROFS,
		"new/x":                                 unix.EROFS,
		"mnt/user-data/uploads/../../skills/x":  unix.EINVAL,
		"mnt/user-data/outputs/not-there/a/new": unix.EROFS,
	} {
		tree, _ := threadOf(t)
		s := hosttree.NewSink(tree)
		err := s.Put(t.Context(), provider.CopyItem{Path: path, Type: "file", Mode: 0o644, Size: 1}, strings.NewReader("x"))
		if !errors.Is(err, want) {
			t.Errorf("Put(%s) = %v, want %v", path, err, want)
		}
		must(t, s.Close())
	}
}

// While an agent swaps a directory and a file for symlinks that lead out, no
// copy reads what they point to, and none writes there.
func TestSwaps(t *testing.T) {
	base, outside := t.TempDir(), t.TempDir()
	must(t, os.Mkdir(filepath.Join(outside, "d"), 0o755))
	for _, name := range []string{"f", "d/f"} {
		must(t, os.WriteFile(filepath.Join(outside, name), []byte("secret"), 0o644))
	}
	stop := make(chan struct{})
	var agent sync.WaitGroup
	agent.Go(func() {
		d, f := filepath.Join(base, "d"), filepath.Join(base, "f")
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Rename(d, d+"2")
			os.Symlink(filepath.Join(outside, "d"), d)
			os.Remove(f)
			os.Symlink(filepath.Join(outside, "f"), f)
			os.Remove(d)
			os.Mkdir(d, 0o755)
			os.Remove(f)
			os.WriteFile(f, []byte("agent"), 0o644)
		}
	})
	written := 0
	for i := range 400 {
		s := hosttree.NewSink(plain(t, base))
		for _, path := range []string{"d/f", "f", "d/e/g"} {
			if s.Put(t.Context(), provider.CopyItem{Path: path, Type: "file", Mode: 0o644, Size: 4}, strings.NewReader("mine")) == nil {
				written++
			}
		}
		s.Close()
		got := recorder{}
		if _, err := hosttree.Walk(t.Context(), plain(t, base), "", got, hosttree.WalkOptions{}); err != nil {
			t.Fatal(err)
		}
		for path, text := range got {
			if strings.Contains(text, "secret") {
				t.Fatalf("round %d: %s was read from outside", i, path)
			}
		}
	}
	close(stop)
	agent.Wait()
	if written == 0 {
		t.Error("nothing was ever written")
	}
	var outsideNow []string
	must(t, filepath.WalkDir(outside, func(path string, _ os.DirEntry, err error) error {
		outsideNow = append(outsideNow, strings.TrimPrefix(path, outside))
		return err
	}))
	if !slices.Equal(outsideNow, []string{"", "/d", "/d/f", "/f"}) {
		t.Errorf("outside there is %q", outsideNow)
	}
	for _, name := range []string{"f", "d/f"} {
		if b, _ := os.ReadFile(filepath.Join(outside, name)); string(b) != "secret" {
			t.Errorf("%s outside holds %q", name, b)
		}
	}
}
