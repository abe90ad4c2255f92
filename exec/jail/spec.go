package jail

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/sandboxfs/sandboxfs/exec/cgroup"
)

// Tier is how much of the host a sandbox shows.
type Tier string

const (
	// Isolated shows the host's programs read-only, a generated /etc, private
	// /tmp, /proc and /dev, and the tree; nothing else of the host.
	Isolated Tier = "isolated"
	// Host shows the host's own root with the tree at its place, with the
	// caller's rights. It is a convenience, not a boundary.
	Host Tier = "host"
)

// Net is what a sandbox sees of the network.
type Net string

const (
	// NetHost shares the host's interfaces, its loopback services and the
	// names of its abstract sockets included.
	NetHost Net = "host"
	// NetNone has a loopback interface of its own and nothing else.
	NetNone Net = "none"
)

// The inside ids of an isolated sandbox's one user.
const (
	InsideUID = 1000
	InsideGID = 1000
)

// Defaults of a Spec.
const (
	DefaultHostname = "sandbox"
	DefaultHome     = "/mnt/user-data/workspace"
	// DefaultTmpBytes bounds /tmp, /var/tmp, /run and /dev/shm together.
	DefaultTmpBytes = 512 << 20
	// MaxExtra is the most bytes Spec.Extra may have.
	MaxExtra = 96 << 10
)

// Spec says what world to build. It is not changed by Start and may be used
// again.
type Spec struct {
	Tier Tier
	Net  Net
	// Name names the sandbox's cgroup: 1 to 64 letters, digits, '_' and '-'.
	// The same name again ends what is left of the former sandbox, so the
	// caller holds the sandbox's lock. Empty means no cgroup at all.
	Name string
	// Hostname is the host name inside; empty means DefaultHostname.
	Hostname string
	// Home is the home directory in the generated /etc/passwd; empty means
	// DefaultHome.
	Home string
	// HostUID and HostGID are the host's ids that the inside ids 1000 stand
	// for. An ordinary user can give only its own. In tier Isolated 0 is
	// refused: with the host's uid 0 a private /proc opens the host's kernel
	// settings for writing, whatever the capabilities.
	HostUID, HostGID uint32
	// TreeDirs are the directories of the tree that appear in the root, such
	// as "/mnt", none below another. In tier Isolated they are top-level ones;
	// in tier Host they must exist on the host, and what the host has there is
	// hidden.
	TreeDirs []string
	// Mounts are paths of the tree that are mounts of their own: so that a
	// program that asks whether the tree is there (mountpoint(1)) finds it where
	// it expects it, or since they are writable and lie below one of ReadOnly.
	// They must exist.
	Mounts []string
	// ReadOnly are paths of the tree that are read-only mounts besides what
	// the tree itself refuses, such as "/mnt/skills". They must exist.
	ReadOnly []string
	// ServeReadOnly, unless nil, is as Serve for a second mount of the same
	// tree, whose superblock is read-only: what is then mounted at the paths of
	// ReadOnly is its, and else the tree's own. Where the mount cannot be made
	// or is not served the latter holds, and Isolation says why ("read_only").
	ServeReadOnly func(fuse *os.File) error
	// Listener is a listening unix socket for the guest. Start duplicates it;
	// the caller closes its own copy.
	Listener *os.File
	// Serve is called once, on the host side, with the /dev/fuse descriptor
	// of the mounted tree, and owns it whatever it answers. It must begin to
	// serve in the background and not block. TreeOwner says which ids the
	// tree must show. If Start fails after the call, the caller ends its server.
	Serve func(fuse *os.File) error
	// Extra is handed to the guest unread; at most MaxExtra bytes.
	Extra []byte
	// Limits bound tasks, memory and processor share.
	Limits cgroup.Limits
	// TmpBytes bounds /tmp, /var/tmp, /run and /dev/shm together; 0 means
	// DefaultTmpBytes. It is never more than half of Limits.Memory: files
	// there are memory that ending processes does not give back.
	TmpBytes int64
	// Log receives the guest's standard error; nil means /dev/null. The guest
	// can find out nothing about the file but can fill it.
	Log *os.File
	// Program is what is executed as pid 1; empty means this very program
	// (/proc/self/exe). It must be executable for HostUID.
	Program string
	// Argv is its constant argument vector, readable by every command inside;
	// empty means {"sandboxfsd", "guest"}.
	Argv []string
}

// resolved returns the spec with defaults, or an error naming the bad field.
func (s Spec) resolved() (Spec, error) {
	bad := func(format string, a ...any) (Spec, error) {
		return s, &Error{Op: "check the sandbox's specification", Err: fmt.Errorf(format, a...)}
	}
	switch s.Tier {
	case Isolated, Host:
	default:
		return bad("tier %q is neither %q nor %q", s.Tier, Isolated, Host)
	}
	switch s.Net {
	case NetHost, NetNone:
	default:
		return bad("network %q is neither %q nor %q", s.Net, NetHost, NetNone)
	}
	if s.Tier == Isolated && (s.HostUID == 0 || s.HostGID == 0) {
		return bad("an isolated sandbox may not be the host's uid or gid 0; give it ids of its own")
	}
	if s.Hostname == "" {
		s.Hostname = DefaultHostname
	}
	if !validHostname(s.Hostname) {
		return bad("host name %q is not 1 to 63 letters, digits, '-' and '.'", s.Hostname)
	}
	if s.Home == "" {
		s.Home = DefaultHome
	}
	if !cleanAbs(s.Home) || strings.ContainsAny(s.Home, ":\n") {
		return bad("home %q is not a clean absolute path", s.Home)
	}
	if len(s.TreeDirs) == 0 {
		return bad("no directory of the tree is to be shown; name at least one, such as /mnt")
	}
	for i, d := range s.TreeDirs {
		if !cleanAbs(d) || d == "/" || s.Tier == Isolated && strings.Count(d, "/") != 1 {
			return bad("tree directory %q is not a top-level directory", d)
		}
		for _, other := range s.TreeDirs[:i] {
			if underAny(d, []string{other}) || underAny(other, []string{d}) {
				return bad("the tree directories %q and %q lie in one another", other, d)
			}
		}
		if s.Tier == Isolated && reservedDirs[d[1:]] {
			return bad("tree directory %q is a place of the sandbox's own", d)
		}
	}
	for _, m := range s.Mounts {
		if !cleanAbs(m) || !underAny(m, s.TreeDirs) {
			return bad("mount %q is not in a directory of the tree", m)
		}
	}
	for _, r := range s.ReadOnly {
		if !cleanAbs(r) || !underAny(r, s.TreeDirs) {
			return bad("read-only path %q is not in a directory of the tree", r)
		}
	}
	if s.Listener == nil || s.Serve == nil {
		return bad("a listener and a server for the tree are needed")
	}
	if len(s.Extra) > MaxExtra {
		return bad("%d bytes for the guest are more than %d", len(s.Extra), MaxExtra)
	}
	if s.TmpBytes == 0 {
		s.TmpBytes = DefaultTmpBytes
	}
	if s.TmpBytes < 1<<20 {
		return bad("%d bytes for /tmp are fewer than 1 MiB", s.TmpBytes)
	}
	if s.Program == "" {
		s.Program = "/proc/self/exe"
	}
	if len(s.Argv) == 0 {
		s.Argv = []string{"sandboxfsd", "guest"}
	}
	if s.Name != "" && !cgroup.ValidName(s.Name) {
		return bad("name %q is not 1 to 64 letters, digits, '_' and '-'", s.Name)
	}
	var err error
	if s.Limits, err = s.Limits.Resolved(); err != nil {
		return bad("%w", err)
	}
	if s.Limits.Memory > 0 {
		s.TmpBytes = min(s.TmpBytes, s.Limits.Memory/2)
	}
	return s, nil
}

// reservedDirs are the names at the root of an isolated sandbox that the tree
// cannot take.
var reservedDirs = map[string]bool{
	"bin": true, "dev": true, "etc": true, "lib": true, "lib32": true, "lib64": true, "libx32": true,
	"opt": true, "proc": true, "run": true, "sbin": true, "sys": true, "tmp": true, "usr": true, "var": true,
}

func cleanAbs(p string) bool {
	return strings.HasPrefix(p, "/") && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}

// underAny reports whether a clean path is one of the directories or below it.
func underAny(p string, dirs []string) bool {
	for _, d := range dirs {
		if p == d || strings.HasPrefix(p, d+"/") {
			return true
		}
	}
	return false
}

func validHostname(h string) bool {
	if h == "" || len(h) > 63 {
		return false
	}
	for _, c := range []byte(h) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.':
		default:
			return false
		}
	}
	return true
}
