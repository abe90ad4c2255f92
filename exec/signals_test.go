package exec

import (
	"bufio"
	"io"
	"os"
	osexec "os/exec"
	"syscall"
	"testing"
	"time"
)

// TestCatchSignals sends a process that is no pid 1, which the kernel would
// protect, every signal that it can catch. Left out are the two that Go's
// runtime leaves to the C library's threads.
func TestCatchSignals(t *testing.T) {
	if os.Getenv("CATCH_SIGNALS_TEST") != "" {
		CatchSignals()
		os.Stdout.WriteString("ready\n")
		io.Copy(os.Stdout, os.Stdin)
		return
	}
	cmd := osexec.Command("/proc/self/exe", "-test.run=^TestCatchSignals$")
	cmd.Env = append(os.Environ(), "CATCH_SIGNALS_TEST=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer deadline.Stop()
	out := bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	for n := syscall.Signal(1); n <= 64; n++ {
		if n == syscall.SIGKILL || n == syscall.SIGSTOP || n == 32 || n == 34 {
			continue
		}
		if err := cmd.Process.Signal(n); err != nil {
			t.Fatalf("signal %d: %v", int(n), err)
		}
		io.WriteString(in, "x\n")
		if line, err := out.ReadString('\n'); line != "x\n" {
			t.Fatalf("after signal %d (%v): %q, %v", int(n), n, line, err)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
