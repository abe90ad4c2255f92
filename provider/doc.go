// Package provider is the contract of sandboxfs: what a sandbox can do, how
// one is acquired, found and released, and which errors come back.
//
// It is what a Go program imports, beside the one provider it uses. It knows
// no provider: a provider registers a constructor by name ([Register]) and a
// configuration chooses one ([New], [GetDefault]). It imports package mapping
// for keys and paths and nothing heavier; the guest (package guest) speaks in
// its types too, so that an answer has one form on both sides of the wire.
//
// Start with [Sandbox] and [Provider], then [Error] for the error kinds and
// [Turn] for an agent's loop.
package provider
