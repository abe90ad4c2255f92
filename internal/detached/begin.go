// Runs in the process that was started.

package detached

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// Started is the process's side of its start.
type Started struct{ report, lock *os.File }

// Begin closes what whoever started the process forgot to keep to himself and
// reads the specification into a pointer. Call it first. One of
// [Started.Ready] and [Started.Fail] must follow.
func Begin(spec any) (*Started, error) {
	closeForeign()
	s := &Started{os.NewFile(reportFD, "report"), os.NewFile(lockFD, "lock")}
	if err := json.NewDecoder(io.LimitReader(os.Stdin, 1<<20)).Decode(spec); err != nil {
		return s, fmt.Errorf("read the specification: %w", err)
	}
	return s, nil
}

// Lock is the maker's lock, for a helper process that must hold it too.
func (s *Started) Lock() *os.File { return s.lock }

// Ready lets go of the maker's lock and tells the maker. It fails where the
// maker is gone.
func (s *Started) Ready() error {
	s.lock.Close()
	err := json.NewEncoder(s.report).Encode(report{})
	return errors.Join(err, s.report.Close())
}

// Fail lets go of the maker's lock and tells the maker why not. Nothing of what
// was begun may be left.
func (s *Started) Fail(err error) {
	s.lock.Close()
	rep := report{Kind: provider.KindOf(err), Reason: err.Error()}
	var e *provider.Error
	if errors.As(err, &e) {
		rep.Reason, rep.Next = e.Reason, e.Next
	}
	json.NewEncoder(s.report).Encode(rep)
	s.report.Close()
}

// closeForeign leaves what the Go runtime opened before main: its poller, its
// cgroup's CPU limit.
func closeForeign() {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return
	}
	for _, name := range names {
		var fd int
		if _, err := fmt.Sscan(name, &fd); err != nil || fd <= lockFD || fd == int(dir.Fd()) {
			continue
		}
		target, _ := os.Readlink("/proc/self/fd/" + name)
		if strings.HasPrefix(target, "anon_inode:[event") || strings.HasPrefix(target, "/sys/fs/cgroup/") || strings.HasPrefix(target, "/proc/") {
			continue
		}
		unix.Close(fd)
	}
	unix.CloseOnExec(reportFD)
	unix.CloseOnExec(lockFD)
}
