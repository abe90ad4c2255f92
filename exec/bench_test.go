package exec

import (
	"context"
	"io"
	osexec "os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkSandboxCommand compares, turn by turn, a command in a warm slot with
// a plain fork and exec of the same one from this process, both with their
// output read to its end. It reports the medians and their ratio.
func BenchmarkSandboxCommand(b *testing.B) {
	e := executor(b)
	c := script("echo hi")
	run(b, e, c)
	var slots, plain []time.Duration
	for b.Loop() {
		begun := time.Now()
		p, err := e.Start(context.Background(), c)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, p.Stdout)
		io.Copy(io.Discard, p.Stderr)
		p.Wait()
		p.Stdout.Close()
		p.Stderr.Close()
		slots = append(slots, time.Since(begun))

		begun = time.Now()
		cmd := osexec.Command("/bin/bash", c.Argv[1:]...)
		cmd.Env, cmd.Dir = c.Env, c.Dir
		if _, err := cmd.Output(); err != nil {
			b.Fatal(err)
		}
		plain = append(plain, time.Since(begun))
	}
	b.ReportMetric(micros(slots), "slot-us")
	b.ReportMetric(micros(plain), "plain-us")
	b.ReportMetric(micros(slots)/micros(plain), "slot/plain")
}

// BenchmarkSandboxNewSlot is what a command costs when no warm slot is free.
func BenchmarkSandboxNewSlot(b *testing.B) {
	e := executor(b)
	for b.Loop() {
		s, err := e.newSlot(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		s.discard()
		<-s.gone
	}
}

func micros(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Nanoseconds()) / 1000
}
