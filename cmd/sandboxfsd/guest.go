// Runs as pid 1 of a sandbox, in its namespaces.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
	"github.com/sandboxfs/sandboxfs/exec/jail"
	"github.com/sandboxfs/sandboxfs/guest"
	"github.com/sandboxfs/sandboxfs/internal/keeper"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sirupsen/logrus"
)

// quietAfter is when the start's memory is given back.
const quietAfter = time.Second

func guestMain() int {
	if err := runGuest(); err != nil {
		fmt.Fprintln(os.Stderr, "sandboxfsd guest:", err)
		return 1
	}
	return 0
}

func runGuest() error {
	inside, err := jail.EnterWith(func() (int, *os.File, error) { return exec.StartEarly(exec.Config{}) })
	if err != nil {
		return err
	}
	var spec keeper.GuestSpec
	if err := json.Unmarshal(inside.Extra, &spec); err != nil {
		return inside.Fail(err)
	}
	var config exec.Config
	if e := inside.Early; e != nil {
		config.Early = &exec.Early{Pid: e.Pid, Socket: e.Socket}
	}
	if inside.Tier == jail.Host {
		config.Confinement = exec.Unconfined
	}
	executor, err := exec.New(config)
	if err != nil {
		return inside.Fail(err)
	}
	defer executor.Close()
	maps.Copy(inside.Isolation, executor.Isolation())
	if err := inside.Ready(); err != nil {
		return err
	}
	// The start's garbage is given back when the first command, which waits for
	// us to serve, has most likely been started.
	free := time.AfterFunc(quietAfter, debug.FreeOSMemory)
	defer free.Stop()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-inside.Done() // the keeper is gone, and with it the tree
		cancel()
	}()
	workdir := mapping.Workspace
	if spec.Identity.Thread == "" {
		workdir = "/tmp"
	}
	identity := spec.Identity
	identity.Isolation = inside.Isolation
	return guest.Serve(ctx, inside.Listener, guest.ServerOptions{
		Executor:    executor,
		Identity:    identity,
		Workdir:     workdir,
		Home:        workdir,
		IdleTimeout: time.Duration(spec.IdleSeconds) * time.Second,
		Log:         logrus.New(),
	})
}
