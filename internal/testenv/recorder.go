package testenv

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Recording is how a recorded test went.
type Recording struct {
	// Failed and Skipped are as of a test.
	Failed, Skipped bool
	// Messages are what it reported, failures and the reason of a skip, in
	// order.
	Messages []string
}

// Text returns all messages, one a line.
func (r Recording) Text() string { return strings.Join(r.Messages, "\n") }

// Record runs body as a test named name that fails, or is skipped, without
// the calling test doing so; it is how a suite proves that it can fail. Body
// uses its argument as any test does, with its own cleanups, context and
// temporary directories, except for Setenv, Chdir and what only *testing.T
// has.
func Record(name string, body func(t testing.TB)) Recording {
	ctx, cancel := context.WithCancel(context.Background())
	r := &recorder{name: name, ctx: ctx}
	done := make(chan struct{})
	go func() { // FailNow and Skip end the goroutine
		defer close(done)
		defer r.cleanUp()
		defer cancel()
		body(r)
	}()
	<-done
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result
}

type recorder struct {
	testing.TB // nil: what is not overridden here panics
	name       string
	ctx        context.Context

	mu       sync.Mutex
	result   Recording
	cleanups []func()
}

func (r *recorder) note(failed bool, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Failed = r.result.Failed || failed
	if failed || r.result.Skipped {
		r.result.Messages = append(r.result.Messages, message)
	}
}

// cleanUp runs the cleanups, the last first, those that they add included. One
// that ends the goroutine does not keep the others from running.
func (r *recorder) cleanUp() {
	r.mu.Lock()
	n := len(r.cleanups)
	if n == 0 {
		r.mu.Unlock()
		return
	}
	f := r.cleanups[n-1]
	r.cleanups = r.cleanups[:n-1]
	r.mu.Unlock()
	defer r.cleanUp()
	f()
}

func (r *recorder) Helper()                  {}
func (r *recorder) Name() string             { return r.name }
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Log(...any)               {}
func (r *recorder) Logf(string, ...any)      {}
func (r *recorder) Error(args ...any)        { r.note(true, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) {
	r.note(true, fmt.Sprintf(f, args...))
}
func (r *recorder) Fail() { r.note(true, "failed") }
func (r *recorder) FailNow() {
	r.Fail()
	runtime.Goexit()
}
func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}
func (r *recorder) Fatalf(f string, args ...any) {
	r.Errorf(f, args...)
	runtime.Goexit()
}

func (r *recorder) SkipNow() {
	r.Skip()
}
func (r *recorder) Skipf(f string, args ...any) { r.Skip(fmt.Sprintf(f, args...)) }
func (r *recorder) Skip(args ...any) {
	r.mu.Lock()
	r.result.Skipped = true
	r.mu.Unlock()
	r.note(false, fmt.Sprint(args...))
	runtime.Goexit()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result.Failed
}

func (r *recorder) Skipped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result.Skipped
}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

func (r *recorder) TempDir() string {
	dir, err := os.MkdirTemp("", "recorded-")
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = removeUnmounted(dir) })
	return dir
}
