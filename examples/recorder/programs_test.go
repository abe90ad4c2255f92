package recorder_test

import (
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// needPrograms says where sandboxfsd is, which these tests build. A test of
// yours finds an installed one in PATH, or sets SANDBOXFSD.
func needPrograms(t *testing.T) {
	t.Helper()
	testenv.RequireFUSE(t)
	t.Setenv("SANDBOXFSD", testenv.Binaries(t).Sandboxfsd)
}
