package toolsuite

import (
	"testing"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/plainbox"
)

func TestSuiteOverPlainDirectories(t *testing.T) {
	dir := t.TempDir()
	p := plainbox.New(dir)
	Run(t, Options{New: func(testing.TB) provider.Provider { return p }, Hidden: []string{dir}})
}
