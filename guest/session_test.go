package guest_test

import (
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/sessionsuite"
)

func TestSessionSuite(t *testing.T) {
	g := startGuest(t, nil)
	sessionsuite.Run(t, func(testing.TB) provider.Sandbox { return g }, sessionsuite.Facts{Workdir: g.dir})
	_ = time.Second
}
