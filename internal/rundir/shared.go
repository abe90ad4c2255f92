package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"

	"github.com/sandboxfs/sandboxfs/mapping"
	"golang.org/x/sys/unix"
)

// ledgerPrefix begins the name of every thread's ledger.
const ledgerPrefix = "quota-"

// Ledger names the file in which all processes that write for one thread
// count together (package quota). It is no part of a sandbox's directory,
// because it lives as long as any of them does.
type Ledger struct {
	root *Root
	name string
}

// Ledger returns the ledger of a thread; nothing is made. home is the real
// path of the data directory.
func (r *Root) Ledger(home string, key mapping.Key) *Ledger {
	key = key.Normalize()
	h := sha256.Sum256([]byte(strings.Join([]string{home, key.User, key.Thread}, "\x00")))
	return &Ledger{root: r, name: ledgerPrefix + hex.EncodeToString(h[:8])}
}

// Ledgers returns every ledger there is, those that nobody uses too.
func (r *Root) Ledgers() ([]*Ledger, error) {
	names, err := r.names()
	if err != nil {
		return nil, err
	}
	var all []*Ledger
	for _, n := range names {
		if strings.HasPrefix(n, ledgerPrefix) {
			all = append(all, &Ledger{root: r, name: n})
		}
	}
	return all, nil
}

// Open opens the file and makes it, mode 0600, where it is missing. The caller
// closes it. It may have lost its name before the caller has locked it: see
// [Ledger.Named].
func (g *Ledger) Open() (*os.File, error) {
	fd, err := unix.Openat(int(g.root.dir.Fd()), g.name, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: g.name, Err: err}
	}
	return os.NewFile(uintptr(fd), g.name), nil
}

// Named reports whether an open ledger still is the file that others find.
func (g *Ledger) Named(f *os.File) bool {
	var held, named unix.Stat_t
	return unix.Fstat(int(f.Fd()), &held) == nil &&
		unix.Fstatat(int(g.root.dir.Fd()), g.name, &named, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		held.Dev == named.Dev && held.Ino == named.Ino
}

// Remove takes the file's name away.
func (g *Ledger) Remove() error {
	err := unix.Unlinkat(int(g.root.dir.Fd()), g.name, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
