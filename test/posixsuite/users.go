package posixsuite

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// The users of a suite with real owners. What the cases act on belongs to the
// owner; the member has the owner's group as a supplementary one.
var (
	root   = Account{0, 0}
	owner  = Account{4321, 4321}
	other  = Account{4322, 4322}
	member = Account{4323, 4323}
)

// handedDown is the group of set-group-id directories.
const handedDown = 4999

// user is a thread that acts with one user's rights, with a umask and a
// working directory of its own.
type user struct {
	name string
	Account
	work chan func()
}

// startUser starts a user's thread for the time of the test. An ordinary user
// can only be himself.
func startUser(t testing.TB, name string, who Account, groups ...uint32) *user {
	t.Helper()
	u := &user{name: name, Account: who, work: make(chan func())}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with us
		err := become(who, groups)
		started <- err
		if err != nil {
			return
		}
		for f := range u.work {
			f()
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("becoming user %d: %v", who.UID, err)
	}
	t.Cleanup(func() { close(u.work) })
	return u
}

// become changes the calling thread alone.
func become(who Account, groups []uint32) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	unix.Umask(0)
	if os.Geteuid() != 0 || who == root && len(groups) == 0 {
		return nil
	}
	if err := setGroups(groups); err != nil {
		return err
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(who.GID), uintptr(who.GID), uintptr(who.GID)); e != 0 {
		return e
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(who.UID), uintptr(who.UID), uintptr(who.UID)); e != 0 {
		return e
	}
	return nil
}

// do runs f on the user's thread and waits for it.
func (u *user) do(f func()) {
	done := make(chan struct{})
	u.work <- func() { defer close(done); f() }
	<-done
}

// cast starts the users that a subject allows.
func cast(t testing.TB, s Subject) []*user {
	if s.Single != nil {
		return []*user{startUser(t, "user", *s.Single)}
	}
	return []*user{
		startUser(t, "owner", owner), startUser(t, "other", other),
		startUser(t, "member", member, uint32(owner.GID)), startUser(t, "root", root),
	}
}
