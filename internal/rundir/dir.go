package rundir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// The files of a sandbox's runtime directory.
const (
	lockFile  = "lock"
	aliveFile = "alive"
	sockFile  = "sock"
	stateFile = "state.json"
	logFile   = "log"
)

// Dir is the runtime directory of one sandbox or one mount. It holds no descriptor; its
// methods may be called whether or not it exists.
type Dir struct {
	root *Root
	name string
}

// Name is the directory's name, stable and fit for a file's name.
func (d *Dir) Name() string { return d.name }

// Path is where the directory is, for a log or a person at the host.
func (d *Dir) Path() string { return d.root.Path() + "/" + d.name }

// State is what a keeper records about its sandbox.
type State struct {
	ID       string `json:"id"`
	User     string `json:"user"`
	Thread   string `json:"thread"`
	Provider string `json:"provider"`
	// Home is the real path of the data directory.
	Home string `json:"home"`
	// Tier and Net are as in provider.LocalConfig.
	Tier string `json:"tier"`
	Net  string `json:"net"`
	// SkillsDir, Mounts, Ownership and Quota are what its tree was made with.
	SkillsDir string               `json:"skills_dir"`
	Mounts    []provider.Mount     `json:"mounts,omitempty"`
	Ownership string               `json:"ownership"`
	Quota     provider.QuotaConfig `json:"quota"`
	// Cgroup is the name of its control group. It is another one each time the
	// sandbox is made, so that what is left of one never is taken for another.
	Cgroup string `json:"cgroup"`
	// Created is in RFC 3339 with a zone.
	Created string `json:"created"`
	// Isolation is what the jail and the tree said of themselves.
	Isolation map[string]string `json:"isolation"`
}

func (d *Dir) open() (*os.File, error) { return hostpath.Walk(d.root.dir, d.name) }

func (d *Dir) make() (*os.File, error) { return hostpath.MakeDirs(d.root.dir, 0o700, d.name) }

// ReadState reads the recorded state.
func (d *Dir) ReadState() (State, error) {
	var s State
	err := d.ReadRecord(&s)
	return s, err
}

// ReadRecord reads what the directory's owner recorded, into a pointer.
func (d *Dir) ReadRecord(into any) error {
	f, err := d.openFile(stateFile, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

// WriteState records the state atomically.
func (d *Dir) WriteState(s State) error { return d.WriteRecord(s) }

// WriteRecord records what [Dir.ReadRecord] reads, atomically.
func (d *Dir) WriteRecord(record any) error {
	b, err := json.Marshal(record)
	if err != nil {
		return err
	}
	dir, err := d.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	return hostpath.WriteFile(dir, stateFile, b, 0o600)
}

// Dial connects to the sandbox's socket. The address can be longer than
// sun_path, so it is named through the descriptor of its directory.
func (d *Dir) Dial(ctx context.Context) (net.Conn, error) {
	dir, err := d.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", sockAddr(dir))
}

// Listen makes the sandbox's socket, in place of a dead one, and returns the
// listening descriptor, which the caller closes.
func (d *Dir) Listen() (*os.File, error) {
	dir, err := d.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := unix.Unlinkat(int(dir.Fd()), sockFile, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: sockAddr(dir), Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false)
	defer ln.Close()
	return ln.File()
}

func sockAddr(dir *os.File) string { return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), sockFile) }

// Log opens the sandbox's log for appending. The caller closes it.
func (d *Dir) Log() (*os.File, error) {
	return d.openFile(logFile, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND)
}

// ReadLog returns the end of the sandbox's log, for an error message.
func (d *Dir) ReadLog() string {
	f, err := d.openFile(logFile, unix.O_RDONLY)
	if err != nil {
		return ""
	}
	defer f.Close()
	if end, err := f.Seek(0, io.SeekEnd); err == nil {
		f.Seek(max(0, end-2000), io.SeekStart)
	}
	b, _ := io.ReadAll(io.LimitReader(f, 2000))
	return string(b)
}

func (d *Dir) openFile(name string, flags int) (*os.File, error) {
	dir, err := d.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := unix.Openat(int(dir.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}
