package posixsuite

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// entry is what can be seen of one name.
type entry struct {
	st   unix.Stat_t
	text string // of a symbolic link
}

// view is a directory and what is below it, by relative name; "." is itself.
type view map[string]entry

// glance looks at known names without listing a directory or reading a link,
// which would set their times of access.
func glance(dir string, names []string) (view, error) {
	v := view{}
	for _, name := range append(names, ".") {
		var e entry
		if err := unix.Lstat(dir+"/"+name, &e.st); err != nil {
			return nil, fmt.Errorf("lstat of %s, just made: %w", name, err)
		}
		v[name] = e
	}
	return v, nil
}

// observe looks at all that is there. Each attribute is read before the look
// itself could change it. Directories with fewer permissions for their owner
// than needed are not looked into.
func observe(dir string, needed uint32) (view, error) {
	v := view{}
	return v, v.add(dir, ".", needed)
}

func (v view) add(dir, name string, needed uint32) error {
	var e entry
	path := dir + "/" + name
	if err := unix.Lstat(path, &e.st); err != nil {
		return fmt.Errorf("lstat of the listed %s: %w", name, err)
	}
	kind := e.st.Mode & unix.S_IFMT
	if kind == unix.S_IFLNK {
		text, err := os.Readlink(path)
		if err != nil {
			return fmt.Errorf("reading the link %s: %w", name, err)
		}
		e.text = text
	}
	v[name] = e
	if kind != unix.S_IFDIR || e.st.Mode&needed != needed {
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("listing %s: %w", name, err)
	}
	for _, k := range entries {
		if err := v.add(dir, strings.TrimPrefix(name+"/"+k.Name(), "./"), needed); err != nil {
			return err
		}
	}
	return nil
}

// The times that everything built for a case has, and one that calls set:
// seconds of the years 2001 and 2004.
const (
	builtAccess = 1_000_000_000
	builtModify = 1_000_000_500
	givenTime   = 1_100_000_000
)

// lines describes a view, one line a name, in words that do not depend on
// where and when it was made. before says what was there, to tell which inode
// an entry is and whether its times have changed.
func (v view) lines(before view) []string {
	inodes := map[uint64]string{}
	for _, name := range sorted(before) {
		ino := before[name].st.Ino
		if inodes[ino] == "" {
			inodes[ino] = name
		}
	}
	var out []string
	for _, name := range sorted(v) {
		e := v[name]
		was := inodes[e.st.Ino]
		line := fmt.Sprintf("%q %s", name, described(&e.st))
		if e.st.Mode&unix.S_IFMT == unix.S_IFCHR || e.st.Mode&unix.S_IFMT == unix.S_IFBLK {
			line += fmt.Sprintf(" rdev %x", e.st.Rdev)
		}
		if e.text != "" {
			line += fmt.Sprintf(" -> %.40q", e.text)
		}
		changed := "new"
		if was == "" {
			was = "new"
		} else {
			changed = "kept"
			if e.st.Ctim != before[was].st.Ctim {
				changed = "set"
			}
		}
		line += fmt.Sprintf(" is %q atime %s mtime %s ctime %s", was, moment(e.st.Atim, before[was].st.Atim), moment(e.st.Mtim, before[was].st.Mtim), changed)
		out = append(out, line)
	}
	return out
}

// moment is a time in words: that which everything was built with, that which
// a call gave, or now.
func moment(t, before unix.Timespec) string {
	switch sec := t.Sec; {
	case t == before:
		return "kept"
	case sec >= builtAccess && sec < givenTime+1000:
		return fmt.Sprintf("%d.%09d", sec, t.Nsec)
	default:
		return "now"
	}
}

func sorted(v view) []string {
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
