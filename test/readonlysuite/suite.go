package readonlysuite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Form is how a read-only region is shown.
type Form string

const (
	// Mounted is a read-only mount over the region, or a read-only file
	// system: the kernel's answers are exact.
	Mounted Form = "mounted"
	// Served is a part of a writable mount whose server refuses writes. The
	// kernel then tells root and the shown owner that they may write, and
	// says nothing of ST_RDONLY.
	Served Form = "served"
)

// Outcome is what one call answered.
type Outcome struct {
	Call string   `json:"call"`
	Got  string   `json:"got"`
	Want []string `json:"want"`
}

// OK reports whether the answer is one of those wanted.
func (o Outcome) OK() bool { return slices.Contains(o.Want, o.Got) }

// Prepare makes in a region's directory on the host what the calls need. Each
// path that it makes is handed to own, which may give it to another user.
func Prepare(host string, own func(path string) error) error {
	for _, d := range []string{dir, empty} {
		if err := os.Mkdir(filepath.Join(host, d), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(host, file), []byte("text"), 0o644); err != nil {
		return err
	}
	if err := os.Symlink(file, filepath.Join(host, link)); err != nil {
		return err
	}
	for _, name := range []string{dir, empty, file, link} {
		if err := own(filepath.Join(host, name)); err != nil {
			return err
		}
	}
	return nil
}

// Try makes the calls in a region for which Prepare was called, and in a
// writable directory, in which it makes one file. It changes nothing else
// unless a call succeeds that must not. It returns an error where it cannot
// begin.
func Try(region, writable string, form Form) ([]Outcome, error) {
	if form != Mounted && form != Served {
		return nil, fmt.Errorf("the form %q is neither %q nor %q", form, Mounted, Served)
	}
	p := places{region, writable}
	if err := os.WriteFile(p.mine(own), []byte("mine"), 0o644); err != nil {
		return nil, err
	}
	if b, err := os.ReadFile(p.in(file)); err != nil || string(b) != "text" {
		return nil, fmt.Errorf("the region's file reads %q, %w", b, err)
	}
	var all []Outcome
	for _, c := range calls() {
		want := c.mounted
		if form == Served {
			want = c.served
		}
		o := Outcome{Call: c.name, Got: name(c.make(p))}
		for _, e := range want {
			o.Want = append(o.Want, name(e))
		}
		all = append(all, o)
	}
	return all, nil
}

// name names an error: "ok", "EROFS", "ST_RDONLY is not set".
func name(err error) string {
	var e unix.Errno
	switch {
	case err == nil:
		return "ok"
	case !errors.As(err, &e):
		return err.Error()
	case e == 0:
		return "ok"
	case e == notReadOnly:
		return "ST_RDONLY is not set"
	}
	return unix.ErrnoName(e)
}

// Check fails a test for each outcome that is not as wanted, and where the
// region's directory on the host is not as Prepare has left it.
func Check(t *testing.T, host string, outcomes []Outcome) {
	t.Helper()
	if len(outcomes) != len(calls()) {
		t.Errorf("%d calls were made, want %d", len(outcomes), len(calls()))
	}
	for _, o := range outcomes {
		if !o.OK() {
			t.Errorf("%s: got %s, want %s", o.Call, o.Got, strings.Join(o.Want, " or "))
		}
	}
	var names []string
	err := filepath.WalkDir(host, func(path string, _ fs.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(path, host))
		return err
	})
	if want := []string{"", "/" + dir, "/" + empty, "/" + file, "/" + link}; err != nil || !slices.Equal(names, want) {
		t.Errorf("the host's directory holds %q, %v, want %q", names, err, want)
	}
	info, err := os.Stat(filepath.Join(host, file))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(host, file)); err != nil || string(b) != "text" || info.Mode() != 0o644 || info.ModTime().Unix() < 10 {
		t.Errorf("the host's file is %q, %v, %v, %v", b, info.Mode(), info.ModTime(), err)
	}
}
