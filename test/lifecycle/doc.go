// Package lifecycle is the conformance suite of provider.Provider: acquiring,
// finding, parking and ending sandboxes. A provider's test calls [Run] with a
// constructor:
//
//	func TestLifecycle(t *testing.T) {
//		lifecycle.Run(t, lifecycle.Options{New: func(t testing.TB) provider.Provider { ... }})
//	}
//
// It asks for nothing that a provider of somebody else's could not have: what
// is optional is tested where the provider has the interface, and skipped with
// the reason where not. It must never know how a provider works; what it
// needs to see of the host comes in through [Options].
//
// It makes sandboxes of threads with random names and ends them. What they
// can do is the matter of other suites.
//
// Read next: [Cases].
package lifecycle
