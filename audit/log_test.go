package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func openLog(t testing.TB, o LogOptions) *Log {
	t.Helper()
	l, err := OpenLog(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func appendN(t testing.TB, l *Log, n int) {
	t.Helper()
	for i := range n {
		if err := l.Append(t.Context(), Record{Type: TypeStart, Command: fmt.Sprintf("echo %d", i)}); err != nil {
			t.Fatal(err)
		}
	}
}

func verified(t testing.TB, dir string) Report {
	t.Helper()
	r, err := Verify(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantWhole(t testing.TB, dir string, records uint64) {
	t.Helper()
	if r := verified(t, dir); len(r.Problems) > 0 || records > 0 && r.Records != records {
		t.Fatalf("got %d records, problems %v; want %d and none", r.Records, r.Problems, records)
	}
}

func TestAppendAndVerify(t *testing.T) {
	for _, sync := range []Sync{Grouped, Always} {
		dir := t.TempDir()
		l := openLog(t, LogOptions{Dir: dir, Sync: sync})
		appendN(t, l, 10)
		wantWhole(t, dir, 11)
		l.Close()
		appendN(t, openLog(t, LogOptions{Dir: dir, Sync: sync}), 5)
		wantWhole(t, dir, 16)
	}
}

func TestManyWritersAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 { // logs of their own stand for processes: flock is per open file
		l := openLog(t, LogOptions{Dir: dir, MaxSegment: 4 << 10})
		for range 8 {
			wg.Go(func() {
				for range 10 {
					if err := l.Append(context.Background(), Record{Type: TypeStart, Call: NewCall()}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	r := verified(t, dir)
	if len(r.Problems) > 0 || r.Records != 320+uint64(r.Segments) {
		t.Fatalf("got %d records in %d files, problems %v; want 320 and one a file", r.Records, r.Segments, r.Problems)
	}
}

// TestTampering does to a log of three files what somebody without the key
// could do.
func TestTampering(t *testing.T) {
	lines := func(t *testing.T, dir, name string) [][]byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	}
	write := func(t *testing.T, dir, name string, lines [][]byte) {
		text := bytes.Join(lines, nil)
		if !bytes.HasSuffix(text, []byte("\n")) && len(text) > 0 {
			text = append(text, '\n')
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edit := func(name string, change func([][]byte) [][]byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) { write(t, dir, name, change(lines(t, dir, name))) }
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tamper := range map[string]func(*testing.T, string){
		"changed": edit("00000002.jsonl", func(l [][]byte) [][]byte {
			l[1] = bytes.Replace(l[1], []byte("echo"), []byte("true"), 1)
			return l
		}),
		"changed number": edit("00000002.jsonl", func(l [][]byte) [][]byte {
			l[1] = bytes.Replace(l[1], []byte(`"seq":`), []byte(`"seq":1`), 1)
			return l
		}),
		"removed":       edit("00000002.jsonl", func(l [][]byte) [][]byte { return append(l[:1:1], l[2:]...) }),
		"removed first": edit("00000002.jsonl", func(l [][]byte) [][]byte { return l[1:] }),
		"swapped":       edit("00000002.jsonl", func(l [][]byte) [][]byte { l[1], l[2] = l[2], l[1]; return l }),
		"repeated":      edit("00000002.jsonl", func(l [][]byte) [][]byte { return append(l, l[len(l)-1]) }),
		"put in":        edit("00000002.jsonl", func(l [][]byte) [][]byte { return append(l[:2:2], append([][]byte{[]byte("{}\n")}, l[2:]...)...) }),
		"cut at a line": edit("00000003.jsonl", func(l [][]byte) [][]byte { return l[:len(l)-1] }),
		"cut in a line": edit("00000003.jsonl", func(l [][]byte) [][]byte { l[len(l)-1] = l[len(l)-1][:10]; return l }),
		"emptied":       edit("00000003.jsonl", func([][]byte) [][]byte { return nil }),
		"first file":    remove("00000001.jsonl"),
		"middle file":   remove("00000002.jsonl"),
		"last file":     remove("00000003.jsonl"),
		"head":          remove(headFile),
		"head changed": edit(headFile, func(l [][]byte) [][]byte {
			l[0] = bytes.Replace(l[0], []byte(`"seq":`), []byte(`"seq":9`), 1)
			return l
		}),
		"files exchange": func(t *testing.T, dir string) {
			a, b := lines(t, dir, "00000001.jsonl"), lines(t, dir, "00000002.jsonl")
			write(t, dir, "00000001.jsonl", b)
			write(t, dir, "00000002.jsonl", a)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := openLog(t, LogOptions{Dir: dir, MaxSegment: 1 << 10})
			for number := 0; number < 3; {
				appendN(t, l, 1)
				names, err := segments(l.root)
				if err != nil {
					t.Fatal(err)
				}
				number = len(names)
			}
			appendN(t, l, 2)
			wantWhole(t, dir, 0)
			tamper(t, dir)
			before := verified(t, dir)
			if len(before.Problems) == 0 {
				t.Fatal("nothing was found")
			}
			// What is appended afterwards does not heal it, and is whole itself.
			appendN(t, openLog(t, LogOptions{Dir: dir}), 2)
			after := verified(t, dir)
			if len(after.Problems) == 0 {
				t.Errorf("found before: %v; after another record: nothing", before.Problems)
			}
		})
	}
}

// TestKilledWriter leaves what a writer that was killed at any moment leaves.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, LogOptions{Dir: dir})
	appendN(t, l, 3)
	old, err := os.ReadFile(filepath.Join(dir, headFile))
	if err != nil {
		t.Fatal(err)
	}
	appendN(t, l, 2)
	segment := filepath.Join(dir, "00000001.jsonl")
	for name, leave := range map[string]func() error{
		"between record and head": func() error { return os.WriteFile(filepath.Join(dir, headFile), old, 0o600) },
		"within a record": func() error {
			f, err := os.OpenFile(segment, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString(`{"seq":`)
			return errors.Join(err, f.Close())
		},
	} {
		if err := leave(); err != nil {
			t.Fatal(err)
		}
		appendN(t, openLog(t, LogOptions{Dir: dir}), 1)
		if r := verified(t, dir); len(r.Problems) > 0 {
			t.Errorf("%s: %v", name, r.Problems)
		}
	}
	// In the moment in which another file is begun.
	for name, text := range map[string]string{"an empty file": "", "a part of its first record": `{"seq":`} {
		names, err := segments(l.root)
		if err != nil {
			t.Fatal(err)
		}
		next := filepath.Join(dir, segmentName(numberOf(names[len(names)-1])+1))
		if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		appendN(t, openLog(t, LogOptions{Dir: dir}), 1)
		if r := verified(t, dir); len(r.Problems) > 0 {
			t.Errorf("%s: %v", name, r.Problems)
		}
	}
	// And the first of all, before there is a head.
	for name, keep := range map[string]int{"nothing": 0, "a part": 20, "a record": 1 << 20} {
		dir := t.TempDir()
		first := openLog(t, LogOptions{Dir: dir})
		appendN(t, first, 1)
		file := filepath.Join(dir, "00000001.jsonl")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = text[:bytes.IndexByte(text, '\n')+1]
		if err := os.WriteFile(file, text[:min(keep, len(text))], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, headFile), 0); err != nil {
			t.Fatal(err)
		}
		appendN(t, openLog(t, LogOptions{Dir: dir}), 2)
		if r := verified(t, dir); len(r.Problems) > 0 {
			t.Errorf("%s of the first file: %v", name, r.Problems)
		}
	}
}

func TestRetention(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	l := openLog(t, LogOptions{Dir: dir, MaxSegment: 2 << 10, MaxBytes: 8 << 10, Now: func() time.Time { return now }})
	appendN(t, l, 200)
	r := verified(t, dir)
	if len(r.Problems) > 0 || r.Removed == 0 || r.First != r.Removed+1 {
		t.Fatalf("by size: got %+v", r)
	}
	now = now.Add(2 * DefaultMaxAge)
	appendN(t, l, 40)
	if r := verified(t, dir); len(r.Problems) > 0 || r.Segments > 5 {
		t.Fatalf("by age: got %+v", r)
	}
	if err := os.Remove(filepath.Join(dir, firstSegment(t, l))); err != nil {
		t.Fatal(err)
	}
	if r := verified(t, dir); len(r.Problems) == 0 {
		t.Error("a file that was taken away is taken for one that was removed by age")
	}
}

func firstSegment(t *testing.T, l *Log) string {
	t.Helper()
	names, err := segments(l.root)
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	return names[0]
}

func TestKeyIsForItsOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	openLog(t, LogOptions{Dir: filepath.Join(dir, "audit")})
	for name, want := range map[string]os.FileMode{"": 0o700, keyFile: 0o600, headFile: 0o600, lockFile: 0o600} {
		st, err := os.Stat(filepath.Join(dir, "audit", name))
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != want {
			t.Errorf("%q has mode %v, want %v", name, st.Mode().Perm(), want)
		}
	}
}

func TestErrorsShowNoHostPath(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenLog(LogOptions{Dir: filepath.Join(file, "audit")})
	if err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want an error without %s", err, dir)
	}
}
