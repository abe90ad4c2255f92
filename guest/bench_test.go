package guest_test

import (
	"io"
	"testing"

	"github.com/sandboxfs/sandboxfs/exec"
	"github.com/sandboxfs/sandboxfs/guest"
	"github.com/sandboxfs/sandboxfs/provider"
)

// BenchmarkExecute compares a one-shot through the client with the same one
// at the executor: the difference is what the wire costs.
func BenchmarkExecute(b *testing.B) {
	var e *exec.Executor
	g := startGuest(b, func(o *guest.ServerOptions) { e = o.Executor })
	argv := []string{"/bin/true"}
	b.Run("client", func(b *testing.B) {
		for b.Loop() {
			if _, err := g.Execute(b.Context(), provider.Command{Argv: argv}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("executor", func(b *testing.B) {
		for b.Loop() {
			p, err := e.Start(b.Context(), exec.Command{Argv: argv, Dir: g.dir, Env: []string{"PATH=/bin"}})
			if err != nil {
				b.Fatal(err)
			}
			go io.Copy(io.Discard, p.Stderr)
			io.Copy(io.Discard, p.Stdout)
			if _, err := p.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkReadFile is a small file call.
func BenchmarkReadFile(b *testing.B) {
	g := startGuest(b, nil)
	if err := g.WriteFile(b.Context(), g.dir+"/f", []byte("content\n"), provider.Replace); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := g.ReadFile(b.Context(), g.dir+"/f", provider.LineRange{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWriteFile is a small atomic write, disk included.
func BenchmarkWriteFile(b *testing.B) {
	g := startGuest(b, nil)
	for b.Loop() {
		if err := g.WriteFile(b.Context(), g.dir+"/f", []byte("content\n"), provider.Replace); err != nil {
			b.Fatal(err)
		}
	}
}
