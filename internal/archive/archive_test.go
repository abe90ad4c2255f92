package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/archive"
	"github.com/sandboxfs/sandboxfs/provider"
)

// list is a sink that keeps what is put.
type list struct {
	items   []provider.CopyItem
	content []string
}

func (l *list) Put(_ context.Context, item provider.CopyItem, content io.Reader) error {
	text := ""
	if content != nil {
		b, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		text = string(b)
	}
	l.items, l.content = append(l.items, item), append(l.content, text)
	return nil
}

func (*list) Close() error { return nil }

// What is written comes back, whatever it is called.
func TestThereAndBack(t *testing.T) {
	items := []provider.CopyItem{
		{Path: ".", Type: "dir", Mode: 0o755},
		{Path: "d", Type: "dir", Mode: 0o700},
		{Path: "d/new\nline and space", Type: "file", Mode: 0o755, Size: 4},
		{Path: "d/latin-\xe9", Type: "file", Mode: 0o644, Size: 4},
		{Path: "d/" + strings.Repeat("x", 255), Type: "file", Mode: 0o644, Size: 4},
		{Path: strings.Repeat("deep/", 1000) + "f", Type: "file", Mode: 0o644, Size: 4},
		{Path: "l", Type: "symlink", Mode: 0o777, Target: "/etc/../passwd"},
	}
	var b bytes.Buffer
	w := archive.NewWriter(&b, time.Unix(1, 0))
	for _, item := range items {
		var content io.Reader
		if item.Type == "file" {
			content = strings.NewReader("texttoomuch")
		}
		if err := w.Put(t.Context(), item, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got list
	left, err := archive.Read(t.Context(), &b, &got)
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	for i, want := range items {
		if i >= len(got.items) || got.items[i] != want {
			t.Fatalf("item %d: got %+v, want %+v", i, got.items, want)
		}
		if want.Type == "file" && got.content[i] != "text" {
			t.Errorf("%s holds %q", want.Path, got.content[i])
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	w := archive.NewWriter(io.Discard, time.Time{})
	if err := w.Put(t.Context(), provider.CopyItem{Path: "f", Type: "file", Size: -1}, strings.NewReader("")); err == nil {
		t.Error("a file of unknown size was taken")
	}
	if err := w.Put(t.Context(), provider.CopyItem{Path: "f", Type: "file", Size: 10}, strings.NewReader("short")); err == nil || !strings.Contains(err.Error(), "shorter") {
		t.Errorf("a file that became shorter: %v", err)
	}
}

func archiveOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadOfAStrangersArchive(t *testing.T) {
	for name, tt := range map[string]struct {
		archive  []byte
		wantPath string // of the one item
		wantErr  string
		left     int
	}{
		"absolute":         {archive: archiveOf(t, tar.Header{Name: "/etc/x", Typeflag: tar.TypeReg}), wantPath: "etc/x"},
		"climbs":           {archive: archiveOf(t, tar.Header{Name: "a/../../x", Typeflag: tar.TypeReg}), wantErr: "may lead out"},
		"link that climbs": {archive: archiveOf(t, tar.Header{Name: "x", Linkname: "../x", Typeflag: tar.TypeLink}), wantErr: "may lead out"},
		"device":           {archive: archiveOf(t, tar.Header{Name: "x", Typeflag: tar.TypeChar}), left: 1},
		"dots":             {archive: archiveOf(t, tar.Header{Name: "./a/./b//c", Typeflag: tar.TypeReg}), wantPath: "a/b/c"},
		"empty input":      {wantErr: "not a whole tar archive"},
		"text":             {archive: []byte(strings.Repeat("no archive\n", 100)), wantErr: "not a whole tar archive"},
		"cut off":          {archive: archiveOf(t, tar.Header{Name: "x", Typeflag: tar.TypeReg})[:300], wantErr: "not a whole tar archive"},
		"no members":       {archive: archiveOf(t)},
	} {
		t.Run(name, func(t *testing.T) {
			var got list
			left, err := archive.Read(t.Context(), bytes.NewReader(tt.archive), &got)
			if tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) || tt.wantErr == "" && err != nil {
				t.Errorf("Read = %v, want %q", err, tt.wantErr)
			}
			if len(left) != tt.left {
				t.Errorf("left out %q", left)
			}
			if tt.wantPath != "" && (len(got.items) != 1 || got.items[0].Path != tt.wantPath) {
				t.Errorf("got %+v, want %s", got.items, tt.wantPath)
			}
		})
	}
}

func TestReadOfACutOffFile(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "x", Typeflag: tar.TypeReg, Size: 100}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Read(t.Context(), &b, &list{}); !errors.Is(err, archive.ErrFormat) {
		t.Errorf("Read = %v", err)
	}
}

// Whatever is read, nothing that a sink is given leads out.
func FuzzRead(f *testing.F) {
	f.Add(archiveOf(f, tar.Header{Name: "a/b", Typeflag: tar.TypeReg}, tar.Header{Name: "l", Linkname: "/x", Typeflag: tar.TypeSymlink}))
	f.Add(archiveOf(f, tar.Header{Name: "../x", Typeflag: tar.TypeDir}))
	f.Add(archiveOf(f, tar.Header{Name: "//", Typeflag: tar.TypeLink, Linkname: "/.."}))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got list
		archive.Read(t.Context(), bytes.NewReader(data), &got)
		for _, item := range got.items {
			paths := []string{item.Path}
			if item.Type == "link" {
				paths = append(paths, item.Target)
			}
			for _, p := range paths {
				if p == "" || strings.HasPrefix(p, "/") || strings.Contains("/"+p+"/", "/../") || p != "." && strings.Contains("/"+p+"/", "/./") || strings.Contains(p, "//") || strings.ContainsRune(p, 0) {
					t.Errorf("put %q", p)
				}
			}
		}
	})
}
