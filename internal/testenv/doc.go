// Package testenv is what the tests of this module share: what a machine can
// do ([RequireRoot], [RequireFUSE], [AsUser]), the built programs
// ([Binaries]), a small file system to fill ([SmallStore]), and the proof
// that a test left nothing behind ([NoLeaks]).
//
// A test that cannot run says so through [Skip], never through t.Skip, so
// that nothing is left out silently: in CI such a skip is a failure, and
// elsewhere `make test` collects the reasons and prints them at the end.
//
// It must never be imported by anything but tests, and it ends only processes
// that it started itself. Several packages' tests run at once, so it never
// judges a machine as a whole: only what can be traced to the calling test.
//
// Start with [NoLeaks] and [Skip].
package testenv
