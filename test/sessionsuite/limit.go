package sessionsuite

import (
	"context"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
)

func testTimeout(e *env) {
	e.sh("export keep=kept; " + marked(1) + " & true")
	for _, text := range []string{"sleep 1000", "sleep 1000; touch after", "while :; do :; done", "while :; do sleep 0.01; done; touch after", "trap '' TERM; sleep 1000", "(trap '' TERM; sleep 1000)", "sleep 1000 | cat; touch after"} {
		began := time.Now()
		res := e.exec(provider.Command{Script: text, Timeout: 300 * time.Millisecond})
		if !res.TimedOut || res.ExitCode != provider.ExitTimeout {
			e.Errorf("%s: want a timeout, got exit %d, %v", text, res.ExitCode, res.TimedOut)
		}
		if took := time.Since(began); took > 6*time.Second {
			e.Errorf("%s: took %v", text, took)
		}
		e.want("echo $keep; ls after 2>/dev/null", "kept\n")
		if jobs := e.jobs(e.name); len(jobs) != 1 {
			e.Errorf("%s: want the one job to live on and nothing else, got %+v", text, jobs)
		}
	}
}

func testTimeoutKeepsState(e *env) {
	e.sh("a=1")
	res := e.exec(provider.Command{Script: "b=2; cd /; sleep 1000", Timeout: 300 * time.Millisecond})
	e.wantChange("a timeout", res, "ended with its command")
	e.wantWhole("afterwards", e.want("echo $a$b; pwd", "12\n/\n"))
}

func testCancel(e *env) {
	e.sh("export keep=kept")
	ctx, cancel := context.WithCancel(e.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := e.s.Execute(ctx, provider.Command{Script: "touch began; sleep 1000", Session: e.name})
		done <- err
	}()
	e.eventually("the command", func() bool {
		_, err := e.s.ListDir(e.ctx, e.f.Workdir+"/began", provider.ListOptions{})
		return err == nil || !strings.Contains(err.Error(), "no such")
	})
	cancel()
	if err := <-done; err == nil {
		e.Error("a cancelled command: want an error")
	}
	// Its caller could not be told what became of the shell; the next one is.
	e.wantChange("the command after a cancelled one", e.want("echo $keep; rm -f began", "kept\n"), "the shell was ended")
}

func testSignal(e *env) {
	e.sh("export keep=kept; " + marked(2) + " & true")
	p, err := e.s.Start(e.ctx, provider.Command{Script: "echo began; sleep 1000; echo after", Session: e.name, Stdout: &testenv.Buffer{}, Stderr: &testenv.Buffer{}})
	if err != nil {
		e.Fatal(err)
	}
	e.eventually("the signal's effect", func() bool {
		_ = p.Signal(2)
		infos, err := e.s.Sessions(e.ctx)
		for _, i := range infos {
			if i.Name == e.name && i.State == "busy" {
				return false
			}
		}
		return err == nil
	})
	res, err := p.Wait()
	if err != nil || res.ExitCode == 0 {
		e.Errorf("an interrupted command: got %+v, %v", res, err)
	}
	e.want("echo $keep", "kept\n")
	if n := len(e.jobs(e.name)); n != 1 {
		e.Errorf("the job: want it to live, got %d jobs", n)
	}
}

func testQueue(e *env) {
	e.sh("n=0")
	const many = 8
	done := make(chan string, many)
	for range many {
		go func() {
			res, err := e.s.Execute(e.ctx, provider.Command{Script: "n=$((n+1)); echo a$n; sleep 0.02; echo b$n", Session: e.name, Timeout: 5 * time.Second})
			if err != nil {
				done <- err.Error()
				return
			}
			done <- whole(res.Stdout)
		}()
	}
	seen := map[string]bool{}
	for range many {
		out := <-done
		seen[out] = true
		if len(out) != 6 || out[1] != out[4] {
			e.Errorf("a command's output: got %q", out)
		}
	}
	if len(seen) != many {
		e.Errorf("want %d commands one after the other, got %v", many, seen)
	}
}

func testUnqueue(e *env) {
	p, err := e.s.Start(e.ctx, provider.Command{Script: "sleep 1000", Session: e.name, Stdout: &testenv.Buffer{}, Stderr: &testenv.Buffer{}})
	if err != nil {
		e.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(e.ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := e.s.Execute(ctx, provider.Command{Script: "touch queued", Session: e.name}); err == nil {
		e.Error("a queued command whose caller gives up: want an error")
	}
	go func() { _ = p.Signal(15) }()
	if _, err := p.Wait(); err != nil {
		e.Fatal(err)
	}
	e.want("ls queued 2>/dev/null; echo $?", "2\n")
}

func testApart(e *env) {
	other := e.name + "-2"
	e.Cleanup(func() { _ = e.s.CloseSession(context.WithoutCancel(e.ctx), other) })
	e.sh("x=1; export s=" + "one")
	res := e.exec(provider.Command{Script: "echo \"$x$s\"; x=2", Session: other})
	if whole(res.Stdout) != "\n" {
		e.Errorf("another session: got %q", whole(res.Stdout))
	}
	e.want("echo $x", "1\n")
	// Both run at once.
	p, err := e.s.Start(e.ctx, provider.Command{Script: "sleep 1000", Session: other, Stdout: &testenv.Buffer{}, Stderr: &testenv.Buffer{}})
	if err != nil {
		e.Fatal(err)
	}
	e.want("echo beside", "beside\n")
	_ = p.Signal(9)
	if _, err := p.Wait(); err != nil {
		e.Fatal(err)
	}
}
