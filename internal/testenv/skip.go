package testenv

import (
	"fmt"
	"os"
	"testing"
)

// Environment variables that steer the tests.
const (
	// EnvCI, set to "true", turns every [Skip] into a failure.
	EnvCI = "CI"
	// EnvSkipLog names a file to which every skip appends one line, of the
	// form "skipped: TEST: reason". Whoever wants them in one
	// place sets it.
	EnvSkipLog = "SANDBOXFS_SKIP_LOG"
	// EnvBin names a directory with the built programs; see [Binaries].
	EnvBin = "SANDBOXFS_BIN"
)

// Skip ends a test that this machine cannot run, with the reason and, in it,
// what to install or allow. With CI=true it fails the test instead: a machine
// that is meant to run everything must not leave anything out.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(EnvCI) == "true" {
		t.Fatalf("must not be skipped in CI: %s", reason)
	}
	skip(t, reason)
}

// SkipArchitectural ends a test that makes no sense here whatever is
// installed: another CPU, an older kernel without the feature, a build with
// the race detector. It is a skip in CI too.
func SkipArchitectural(t testing.TB, reason string) {
	t.Helper()
	skip(t, reason)
}

func skip(t testing.TB, reason string) {
	t.Helper()
	line := fmt.Sprintf("skipped: %s: %s", t.Name(), reason)
	if name := os.Getenv(EnvSkipLog); name != "" {
		if err := appendLine(name, line); err != nil {
			t.Errorf("cannot record a skip in $%s: %v", EnvSkipLog, err)
		}
	}
	t.Skip(line)
}

// appendLine adds one line with one write, so that the lines of concurrent
// test programs do not mix.
func appendLine(name, line string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// RunsElsewhere ends a test whose body a child of this same test program runs,
// in a world that the child needs from its start. It is no skip and is not
// recorded as one: the child's failure fails the program.
func RunsElsewhere(t testing.TB, where string) {
	t.Helper()
	t.Skip("runs again in " + where)
}
