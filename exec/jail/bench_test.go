package jail

import (
	osexec "os/exec"
	"testing"
)

// BenchmarkStart is a cold start to the first output of a command, beside
// BenchmarkPlainBash. The guest here is the test binary; its Go runtime starts
// a little slower than sandboxfsd's.
func BenchmarkStart(b *testing.B) {
	needFuse(b)
	for _, net := range []Net{NetHost, NetNone} {
		b.Run("net="+string(net), func(b *testing.B) {
			for b.Loop() {
				x := startBox(b, func(s *Spec) { s.Net = net; s.Name = "bench" })
				x.sh(b, "echo hi")
				b.StopTimer()
				x.Close()
				b.StartTimer()
			}
		})
	}
}

func BenchmarkReady(b *testing.B) {
	needFuse(b)
	for b.Loop() {
		x := startBox(b, func(s *Spec) { s.Net = NetHost })
		b.StopTimer()
		x.Close()
		b.StartTimer()
	}
}

func BenchmarkPlainBash(b *testing.B) {
	for b.Loop() {
		if err := osexec.Command("bash", "--norc", "-c", "echo hi").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
