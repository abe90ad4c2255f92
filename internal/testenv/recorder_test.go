package testenv

import (
	"fmt"
	"runtime"
	"testing"
)

// recorder is a test that records what happens to it.
type recorder struct {
	testing.TB
	name            string
	cleanups        []func()
	errors, logs    []string
	failed, skipped bool
}

func (r *recorder) Helper()          {}
func (r *recorder) Name() string     { return r.name }
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Log(args ...any)  { r.logs = append(r.logs, fmt.Sprint(args...)) }
func (r *recorder) Error(args ...any) {
	r.failed = true
	r.errors = append(r.errors, fmt.Sprint(args...))
}
func (r *recorder) Errorf(f string, args ...any) {
	r.Error(fmt.Sprintf(f, args...))
}
func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}
func (r *recorder) Fatalf(f string, args ...any) {
	r.Fatal(fmt.Sprintf(f, args...))
}
func (r *recorder) Skip(args ...any) {
	r.skipped = true
	r.Log(args...)
	runtime.Goexit()
}

// record runs body as a test of its own, with its cleanups.
func record(name string, body func(t testing.TB)) *recorder {
	r := &recorder{name: name}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for i := len(r.cleanups) - 1; i >= 0; i-- {
				r.cleanups[i]()
			}
		}()
		body(r)
	}()
	<-done
	return r
}
