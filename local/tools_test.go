package local_test

import (
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/toolsuite"
)

func TestTools(t *testing.T) { runTools(t) }

func TestToolsAsUser(t *testing.T) {
	if testenv.AsUser(t) {
		return
	}
	runTools(t)
}

func runTools(t *testing.T) {
	h := newHost(t)
	p := h.open(t)
	toolsuite.Run(t, toolsuite.Options{
		New:    func(testing.TB) provider.Provider { return p },
		Hidden: []string{h.cfg.Home, h.cfg.RuntimeDir},
	})
}
