package exec

import (
	"context"
	"io"
	"os"
	osexec "os/exec"
	"slices"
	"strconv"
	"strings"
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
	var cpu [2]int64
	for b.Loop() {
		begun, cpuBegun := time.Now(), cpuUsed(b)
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
		cpu[0] += cpuUsed(b) - cpuBegun

		begun, cpuBegun = time.Now(), cpuUsed(b)
		cmd := osexec.Command("/bin/bash", c.Argv[1:]...)
		cmd.Env, cmd.Dir = c.Env, c.Dir
		if _, err := cmd.Output(); err != nil {
			b.Fatal(err)
		}
		plain = append(plain, time.Since(begun))
		cpu[1] += cpuUsed(b) - cpuBegun
	}
	b.ReportMetric(micros(slots), "slot-us")
	b.ReportMetric(micros(plain), "plain-us")
	b.ReportMetric(micros(slots)/micros(plain), "slot/plain")
	if cpu[1] > 0 {
		b.ReportMetric(float64(cpu[0])/float64(cpu[1]), "cpu-slot/plain")
	}
}

// BenchmarkSandboxNewSlot is what a command costs when no warm slot is free.
func BenchmarkSandboxNewSlot(b *testing.B) {
	e := executor(b)
	var made []time.Duration
	var cpu int64
	for b.Loop() {
		begun, cpuBegun := time.Now(), cpuUsed(b)
		s, err := e.newSlot(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		made = append(made, time.Since(begun))
		cpu += cpuUsed(b) - cpuBegun
		s.discard()
		<-s.gone
	}
	b.ReportMetric(micros(made), "made-us")
	b.ReportMetric(float64(cpu)/1000/float64(len(made)), "made-cpu-us")
}

// cpuUsed reads the processor time, in nanoseconds, of the control group that
// the benchmark was started in, where SANDBOXFS_CPUACCT names its
// cpuacct.usage: on a busy machine that is far steadier than time by the clock.
func cpuUsed(b *testing.B) int64 {
	name := os.Getenv("SANDBOXFS_CPUACCT")
	if name == "" {
		return 0
	}
	text, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

func micros(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Nanoseconds()) / 1000
}
