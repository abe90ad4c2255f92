package posixsuite

import (
	"regexp"
	"testing"
)

// EnvCases names an environment variable with a regular expression: only the
// generated cases that it matches are wanted then, and all of those. Their
// names are "CALL on TARGET by USER".
const EnvCases = "SANDBOXFS_POSIX_CASES"

// Account is an owner by its numbers.
type Account struct{ UID, GID int }

// Subject is a directory under test and the facts about it.
type Subject struct {
	// Dir is the directory under test, and Plain one of the same filesystem
	// that no server stands before. Both are empty, and every user can search
	// their parents.
	Dir, Plain string
	// Host is the directory that stands behind Dir; Dir itself for a plain
	// directory.
	Host string
	// Single is the owner that everything in Dir is shown as, who is then the
	// only user of the suite; nil: owners are real, and four users act. Plain
	// belongs to him.
	Single *Account
	// Keeper owns on the host what Single makes. Ignored without Single.
	Keeper Account
	// Tree says that Dir is a tree of ours, which answers otherwise than a
	// plain directory in a few documented cases; Passthrough, that reads and
	// writes do not pass its server; Quota, that sizes count in it.
	Tree, Passthrough, Quota bool
	// Only runs just the generated cases whose names it matches; nil: all.
	Only *regexp.Regexp
	// Share makes one of so many of the generated cases run, a different one
	// for each Name. 0 and 1 run all.
	Share int
	// Entries is how many names the large directory has, if more than 3000.
	Entries int
	// Operations is how many random ones are made, if more than 1000.
	Operations int
	// Name is the form's, for Share and for the seeds of what is random.
	Name string
	// Through builds the cases in Dir itself; otherwise they are built in
	// Host, so that the server first meets them by name.
	Through bool
}

// RunCalls runs the generated comparison on one subject.
func RunCalls(t *testing.T, s Subject) {
	t.Run("calls", func(t *testing.T) { testCalls(t, s) })
}

// Run runs everything but the programs ([RunPrograms]) on one subject.
func Run(t *testing.T, s Subject) {
	RunCalls(t, s)
	t.Run("locks", func(t *testing.T) { testLocks(t, s) })
	t.Run("paths", func(t *testing.T) { testPaths(t, s) })
	t.Run("listing", func(t *testing.T) { testListing(t, s) })
	t.Run("random operations", func(t *testing.T) { testRandom(t, s) })
}
