package mountinfo

import (
	"os"
	"strings"
)

// Mount is one line of the table.
type Mount struct {
	// ID is the mount's number; it is used again as soon as the mount is gone.
	ID string
	// Device is "major:minor" of the filesystem; it is used again too.
	Device string
	// Root is the directory of the filesystem that is seen at Point.
	Root  string
	Point string
	// Type is the filesystem's, such as "ext4", and Source what it says it was
	// made from.
	Type   string
	Source string
	// Options are those of the filesystem, not of this one mount, separated by
	// commas.
	Options string
}

// Table lists mounts as the kernel does: a mount stands behind those that it
// lies over.
type Table []Mount

// Read returns the table of this process's mount namespace.
func Read() (Table, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return Parse(string(b)), nil
}

// Parse reads the text of a mountinfo file. A line that is none is passed over.
func Parse(text string) Table {
	var t Table
	for line := range strings.Lines(text) {
		left, right, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		// The kernel escapes a blank in a field, and no other white space
		// separates fields: a name may hold a no-break space.
		l, r := strings.Split(left, " "), strings.Split(right, " ")
		if !ok || len(l) < 6 || len(r) < 3 {
			continue
		}
		t = append(t, Mount{
			ID: l[0], Device: l[2], Root: unescape(l[3]), Point: unescape(l[4]),
			Type: r[0], Source: unescape(r[1]), Options: r[2],
		})
	}
	return t
}

// unescape undoes the octal escapes of the table.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && octal(s[i+1]) && octal(s[i+2]) && octal(s[i+3]) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func octal(c byte) bool { return '0' <= c && c <= '7' }
