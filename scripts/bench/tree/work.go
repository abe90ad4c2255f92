package main

// What runs in the process that measures.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// workVerb is the first argument of the process that measures.
const workVerb = "work"

// A job is its second, as JSON.
type job struct {
	Group string
	// Namespace is the file of the mount namespace to enter; empty: stay.
	Namespace string
	// Dir is the subject's directory and ReadOnly its read-only one, as seen
	// there.
	Dir, ReadOnly string
	// GoRoot is Go's own directory, empty without Go.
	GoRoot string
	Sizes  sizes
	Data   expected
}

// outcome is what it prints: the time of each row, or why it has none.
type outcome struct {
	Times map[string]time.Duration
	// Missing has, by row, what this machine or this view of it lacks.
	Missing map[string]string
}

// worker does a job. All of it stays on the main thread, which alone is in the
// namespace.
type worker struct {
	job
	out outcome
}

// errMissing is wrapped by the error of a workload for which a program is
// missing.
var errMissing = errors.New("not found")

func work(argument string) error {
	runtime.LockOSThread()
	w := worker{out: outcome{Times: map[string]time.Duration{}, Missing: map[string]string{}}}
	if err := json.Unmarshal([]byte(argument), &w.job); err != nil {
		return err
	}
	if err := w.enter(); err != nil {
		return err
	}
	if err := w.do(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(w.out)
}

// do does the workloads of the group, in the working directory.
func (w *worker) do() error {
	do, ok := map[string]func() error{
		groupBulk: w.bulk, groupRandomCold: w.randomCold, groupFiles: w.files, groupWalk: w.walk,
		groupStatCold: w.statCold, groupFindCold: w.findCold, groupGit: w.git, groupGitCold: w.gitCold,
		groupTar: w.tar, groupBuild: w.build, groupSearch: w.search, groupSearchCold: w.searchCold,
		groupSync: w.sync, groupOpen: w.open, groupReadOnly: w.readOnly,
	}[w.Group]
	if !ok {
		return fmt.Errorf("no group is called %q", w.Group)
	}
	return do()
}

// enter goes to the subject's directory, first into its mount namespace.
func (w *worker) enter() error {
	if w.Namespace != "" {
		ns, err := os.Open(w.Namespace)
		if err != nil {
			return err
		}
		defer ns.Close()
		// A thread that shares its working directory with others may not
		// change its mount namespace.
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("setns: %w", err)
		}
	}
	return os.Chdir(w.Dir)
}

// timed does a workload once and records its time.
func (w *worker) timed(row string, do func() error) error {
	began := time.Now()
	err := do()
	return w.record(row, time.Since(began), err)
}

// warm does a workload once to fill the caches, then several times, and
// records the middle time.
func (w *worker) warm(row string, do func() error) error {
	if err := do(); err != nil {
		return w.record(row, 0, err)
	}
	times := make([]time.Duration, 0, w.Sizes.Passes)
	for range w.Sizes.Passes {
		began := time.Now()
		if err := do(); err != nil {
			return w.record(row, 0, err)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return w.record(row, times[len(times)/2], nil)
}

func (w *worker) record(row string, took time.Duration, err error) error {
	switch {
	case errors.Is(err, errMissing):
		w.out.Missing[row] = err.Error()
	case err != nil:
		return fmt.Errorf("%s: %w", row, err)
	default:
		w.out.Times[row] = took
	}
	return nil
}
