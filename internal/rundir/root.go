package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/mapping"
	"golang.org/x/sys/unix"
)

// Root is the runtime directory of one host user. It is safe for concurrent
// use. [Root.Close] closes it.
type Root struct{ dir *os.File }

// Open opens the runtime directory and makes it, mode 0700, where it is
// missing. It refuses one that belongs to another user or that others can
// write to, since whoever can write there could pose as a sandbox.
func Open(path string) (*Root, error) {
	path = filepath.Clean(path) // a trailing slash would follow a symlink
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return nil, err
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	dir := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		dir.Close()
		return nil, os.NewSyscallError("fstat", err)
	}
	if int(st.Uid) != os.Geteuid() {
		dir.Close()
		return nil, fmt.Errorf("the runtime directory %s belongs to uid %d", path, st.Uid)
	}
	if st.Mode&0o022 != 0 {
		dir.Close()
		return nil, fmt.Errorf("others can write to the runtime directory %s", path)
	}
	return &Root{dir: dir}, nil
}

// Path returns the path that Open was given.
func (r *Root) Path() string { return r.dir.Name() }

// Close closes the directory.
func (r *Root) Close() error { return r.dir.Close() }

// prefix begins the name of every sandbox's directory.
const prefix = "sb-"

// Sandbox returns the directory of one sandbox; nothing is made. Its name is
// a hash of all that makes a sandbox another one. home is the real path of
// the data directory.
func (r *Root) Sandbox(home, provider string, key mapping.Key) *Dir {
	key = key.Normalize()
	h := sha256.Sum256([]byte(strings.Join([]string{home, provider, key.User, key.Thread}, "\x00")))
	return &Dir{root: r, name: prefix + hex.EncodeToString(h[:8])}
}

// mountPrefix begins the name of the directory of every mount on the host.
const mountPrefix = "mnt-"

// Mount returns the directory of a mount on the host; nothing is made. A path
// is another place in each mount namespace.
func (r *Root) Mount(namespace, point string) *Dir {
	h := sha256.Sum256([]byte(namespace + "\x00" + point))
	return &Dir{root: r, name: mountPrefix + hex.EncodeToString(h[:8])}
}

// Named returns the directory with a name that [Dir.Name] gave.
func (r *Root) Named(name string) (*Dir, error) {
	if err := hostpath.CheckName(name); err != nil || !strings.HasPrefix(name, prefix) && !strings.HasPrefix(name, mountPrefix) {
		return nil, fmt.Errorf("%q is not the name of a runtime directory of a sandbox or a mount", name)
	}
	return &Dir{root: r, name: name}, nil
}

// List returns the directories of all sandboxes, dead ones too, by name.
func (r *Root) List() ([]*Dir, error) { return r.list(prefix) }

// Mounts returns the directories of all mounts, dead ones too, by name.
func (r *Root) Mounts() ([]*Dir, error) { return r.list(mountPrefix) }

func (r *Root) list(prefix string) ([]*Dir, error) {
	names, err := r.names()
	if err != nil {
		return nil, err
	}
	var dirs []*Dir
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			dirs = append(dirs, &Dir{root: r, name: n})
		}
	}
	return dirs, nil
}

// names lists what lies in the runtime directory, in order.
func (r *Root) names() ([]string, error) {
	d, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", r.dir.Fd()))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	sort.Strings(names)
	return names, err
}
