package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// controlFD is where pid 1 finds its socket: the first descriptor after the
// three standard ones.
const controlFD = 3

// Inside is the finished world, seen from pid 1.
type Inside struct {
	// Listener is the unix socket that the host handed in.
	Listener net.Listener
	// Extra is Spec.Extra.
	Extra []byte
	// Tier is Spec.Tier.
	Tier Tier
	// Early is what EnterWith's function has started, nil when nothing.
	Early *Early
	// Isolation says in short words what was built. The guest adds what it
	// puts on top (seccomp, landlock, how trees are ended) before Ready.
	Isolation map[string]string

	control *net.UnixConn
	done    chan struct{}
	ready   sync.Once
}

// Enter builds the sandbox around the calling process, which must be a pid 1
// started by Start, and locks the process down. It must be the first thing
// that the program does. On an error the host has been told; the program
// exits.
//
// The program executes itself once on the way, so what it did before Enter is
// done twice. Afterwards the process is not dumpable, every inherited
// descriptor is close-on-exec, no thread can gain rights by executing
// something, and all threads hold CAP_SYS_ADMIN of the sandbox's own user
// namespace and nothing else. Its bounding and ambient sets are empty and
// CAP_SYS_ADMIN is inheritable: that suffices to start a slot with
// SysProcAttr.AmbientCaps = {CAP_SYS_ADMIN}, while a process that has cleared
// its sets can never regain one. (As root in tier Host there is no user
// namespace, and the caller's rights are kept as they are. In a program built
// with cgo the ambient set keeps CAP_SYS_ADMIN.)
func Enter() (*Inside, error) { return EnterWith(nil) }

// EnterWith is Enter for a program that wants another process and does not want
// to wait for its start: start, unless nil, is called in the first execution
// when the world is built and the calling thread locked down, and what it
// returns is found in Inside.Early by the second. An error of its is ignored:
// the second execution tries again, and can say what went wrong.
func EnterWith(start func() (pid int, socket *os.File, err error)) (*Inside, error) {
	if err := unix.CloseRange(controlFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, failed("close_range", err)
	}
	if os.Getpid() != 1 {
		return nil, &Error{Op: "enter the sandbox", Err: errors.New("this verb is started by sandboxfs itself, as pid 1 of a sandbox")}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, failed("prctl(PR_SET_DUMPABLE)", err)
	}
	unix.Umask(0o022)
	fds, again, err := sealed()
	if err != nil {
		return nil, failed("find the first execution's descriptors", err)
	}
	if !again {
		fds[0] = controlFD
	}
	control, err := conn(os.NewFile(uintptr(fds[0]), "control"))
	if err != nil {
		return nil, failed("open the control socket", err)
	}
	var in *Inside
	if again {
		in, err = resume(control, os.NewFile(uintptr(fds[1]), "listener"), os.NewFile(uintptr(fds[2]), "state"), fds[3])
	} else {
		err = prepare(control, start) // returns only on an error
	}
	if err != nil {
		// The host ends us whether or not it reads this.
		_ = send(control, message{Kind: kindFailed, Failure: toFailure(err)})
		control.Close()
		return nil, err
	}
	go in.watch()
	return in, nil
}

// prepare builds the world, locks this thread down and executes the program
// once more. It returns only when that failed.
func prepare(control *net.UnixConn, start func() (int, *os.File, error)) error {
	m, files, err := receive(control)
	if err != nil {
		return failed("receive the specification", err)
	}
	raiseSoft()
	defer closeAll(files)
	w := m.World
	if m.Kind != kindWorld || w == nil || len(files) == 0 {
		return failed("receive the specification", fmt.Errorf("got %q with %d descriptors", m.Kind, len(files)))
	}
	mounts, err := takeTree(control, w, files[1:])
	if err != nil {
		return err
	}
	defer closeAll(mounts)
	if left := inherited(w); left != "" {
		w.Isolation["limits_inherited"] = left
	}
	if err := build(w, mounts); err != nil {
		return err
	}
	return seal(w, control, files[0], start)
}

// Ready tells the host that the sandbox can be used. Call it once, when the
// guest serves its listener or is about to. Until then its Go code runs on one
// processor.
func (in *Inside) Ready() error {
	var err error
	in.ready.Do(func() {
		err = send(in.control, message{Kind: kindReady, Isolation: in.Isolation})
	})
	if err != nil {
		return failed("report ready", err)
	}
	runtime.SetDefaultGOMAXPROCS()
	return nil
}

// Fail tells the host, instead of Ready, why the guest cannot do its work, and
// returns the error. The caller exits.
func (in *Inside) Fail(err error) error {
	in.ready.Do(func() {
		// The host ends us whether or not it reads this.
		_ = send(in.control, message{Kind: kindFailed, Failure: toFailure(err)})
	})
	return err
}

// Done is closed when the keeper is gone: nobody serves the tree any more and
// the guest should exit. (The kernel's parent-death signal usually comes
// first.)
func (in *Inside) Done() <-chan struct{} { return in.done }

// watch waits for the other end of the socket to be closed. The host sends
// nothing after the world is built.
func (in *Inside) watch() {
	defer close(in.done)
	b := make([]byte, 1)
	for {
		if _, err := in.control.Read(b); err != nil {
			return
		}
	}
}
