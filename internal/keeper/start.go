package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"strings"
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/regions"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Spec is all that a keeper needs to know. It travels as JSON on its
// standard input.
type Spec struct {
	// RuntimeDir and Name find the sandbox's runtime directory, which the
	// caller has made and locked.
	RuntimeDir string `json:"runtime_dir"`
	Name       string `json:"name"`
	// ID is the sandbox's.
	ID string `json:"id"`
	// Source says which directories it shows.
	regions.Source
	// Tier, Net and Ownership are as in provider.LocalConfig, resolved.
	Tier      string `json:"tier"`
	Net       string `json:"net"`
	Ownership string `json:"ownership"`
	// Quota bounds what the thread may hold.
	Quota provider.QuotaConfig `json:"quota"`
	// IdleSeconds ends the idle sandbox; 0 means never.
	IdleSeconds int `json:"idle_seconds"`
}

// report is what a keeper says of its start, as JSON on descriptor 3.
type report struct {
	Kind   provider.Kind `json:"kind,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Next   string        `json:"next,omitempty"`
}

// The descriptors that a keeper is started with.
const (
	reportFD = 3
	// lockFD is the maker's lock on the sandbox: while the keeper begins
	// nobody else makes the same sandbox, even if the maker is killed.
	lockFD = 4
)

// Start starts a keeper and returns when its sandbox is ready. daemon is the
// path of sandboxfsd; lock is the sandbox's, and stays the caller's. The keeper outlives the caller and its session. Where
// the sandbox cannot be made nothing of it is left, and the error, an
// [*provider.Error], says which call failed and what to do. Kinds: denied,
// unavailable, internal.
func Start(ctx context.Context, daemon string, dir *rundir.Dir, lock *rundir.Lock, spec Spec) error {
	body, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	log, err := dir.Log()
	if err != nil {
		return err
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := osexec.Command(daemon, "keep")
	// Its start is one step after the other: more threads would only cost time.
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "GOMAXPROCS=1"}
	cmd.Dir = "/"
	cmd.Stdin = strings.NewReader(string(body))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{w, lock.File()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return &provider.Error{Kind: provider.Unavailable, Reason: "sandboxfsd cannot be started: " + errText(err),
			Next: "set SANDBOXFSD to the path of an executable sandboxfsd", Err: err}
	}
	// The keeper lives on; this goroutine only reaps it should it end while
	// the caller's process still lives.
	go cmd.Wait()

	stop := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	defer stop()
	var rep report
	err = json.NewDecoder(io.LimitReader(r, 1<<20)).Decode(&rep)
	switch {
	case ctx.Err() != nil:
		return &provider.Error{Kind: provider.Timeout, Reason: "the sandbox was not ready in time", Err: context.Cause(ctx)}
	case err != nil:
		return &provider.Error{Kind: provider.Unavailable, Reason: "the sandbox's keeper ended while it started" + logHint(dir), Err: err}
	case rep.Kind != "":
		return &provider.Error{Kind: rep.Kind, Reason: rep.Reason, Next: rep.Next}
	}
	return nil
}

func logHint(dir *rundir.Dir) string {
	lines := strings.Split(strings.TrimSpace(dir.ReadLog()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return fmt.Sprintf(" (its log ends: %s)", last)
	}
	return ""
}

// errText leaves out the path that os/exec puts before the cause.
func errText(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
