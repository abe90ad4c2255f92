package execsuite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

// marker is a command line that ps and grep would find: a sleep of a length
// that nobody else uses.
func marker(n int) string { return fmt.Sprintf("3141592.%d", n) }

// runs counts the processes that sleep for a marker's time, as files that
// they hold: other commands' processes need not be visible.
func (e *env) alive(file string) bool {
	res := e.sh("a=$(wc -c < " + file + " 2>/dev/null || echo 0); sleep 0.3; b=$(wc -c < " + file + " 2>/dev/null || echo 0); [ \"$a\" != \"$b\" ]")
	return res.ExitCode == 0
}

// ticker is a script that writes to a file for as long as it lives.
func ticker(file string) string {
	return "while :; do echo x >> " + file + "; sleep 0.05; done"
}

func testTimeout(e *env) {
	file := e.f.Dir + "/execsuite-timeout"
	start := time.Now()
	res := e.exec(provider.Command{Script: "echo before; (" + ticker(file) + ") & " + ticker(file), Timeout: 500 * time.Millisecond})
	if !res.TimedOut || res.ExitCode != provider.ExitTimeout || whole(res.Stdout) != "before\n" {
		e.Errorf("want 124, timed out, and what was written before, got %+v", res)
	}
	if d := time.Since(start); d < 450*time.Millisecond || d > 10*time.Second {
		e.Errorf("a timeout of 0.5 s took %v", d)
	}
	if e.alive(file) {
		e.Error("something runs after the timeout")
	}
	res = e.exec(provider.Command{Script: "trap 'echo cleaned; exit 3' TERM; while :; do sleep 0.1; done", Timeout: 500 * time.Millisecond})
	if !res.TimedOut || res.ExitCode != provider.ExitTimeout || whole(res.Stdout) != "cleaned\n" {
		e.Errorf("a command that cleans up: got %+v, %q", res, whole(res.Stdout))
	}
	e.want("one that is fast enough", e.exec(provider.Command{Script: "exit 5", Timeout: e.f.Limit}), 5, "")
	e.want("none", e.exec(provider.Command{Script: "exit 6", Timeout: -1}), 6, "")
}

// testTimeoutIgnored has to go further than SIGTERM.
func testTimeoutIgnored(e *env) {
	file := e.f.Dir + "/execsuite-ignored"
	start := time.Now()
	res := e.exec(provider.Command{Script: "trap '' TERM HUP INT; (setsid sh -c \"trap '' TERM; " + ticker(file) + "\") & " + ticker(file), Timeout: 300 * time.Millisecond})
	if !res.TimedOut || res.ExitCode != provider.ExitTimeout {
		e.Errorf("want 124, timed out, got %+v", res)
	}
	if d := time.Since(start); d > 10*time.Second {
		e.Errorf("it took %v", d)
	}
	if e.alive(file) {
		e.Error("something runs after the timeout")
	}
}

func testCancel(e *env) {
	file := e.f.Dir + "/execsuite-cancel"
	ctx, cancel := context.WithCancel(e.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := e.s.Execute(ctx, provider.Command{Script: "(setsid sh -c '" + ticker(file) + "') & " + ticker(file)})
		done <- err
	}()
	e.eventually("the command runs", func() bool { return e.sh("test -s "+file).ExitCode == 0 })
	cancel()
	select {
	case err := <-done:
		e.wantKind("cancelled", err, provider.Unavailable, provider.Timeout)
		if !errors.Is(err, context.Canceled) {
			e.Errorf("want context.Canceled in it, got %v", err)
		}
	case <-time.After(e.f.Limit):
		e.Fatal("it did not return")
	}
	if e.alive(file) {
		e.Error("something runs after the cancellation")
	}
}

// testLeftBehind demands that a one-shot takes with it what it started.
func testLeftBehind(e *env) {
	for name, script := range map[string]string{
		"background": "(%s) &",
		"setsid":     "setsid sh -c '%s' &",
		"nohup":      "nohup sh -c '%s' >/dev/null 2>&1 &",
		"double":     "(setsid sh -c '(%s) & exit 0' &) ; wait",
		"ignoring":   "sh -c 'trap \"\" TERM HUP INT QUIT; %s' &",
		"stopped":    "(%s) & kill -STOP $!",
	} {
		file := e.f.Dir + "/execsuite-left-" + name
		res := e.sh(fmt.Sprintf(script, ticker(file)) + "\n while [ " + map[bool]string{true: "-e /nonexistent", false: "! -s " + file}[name == "stopped"] + " ]; do sleep 0.05; done; echo end")
		e.want(name, res, 0, "end\n")
		if res.LeftRunning < 1 {
			e.Errorf("%s: want what was left running counted, got %d", name, res.LeftRunning)
		}
		if e.alive(file) {
			e.Errorf("%s: it runs on", name)
		}
	}
}

// testPipeHolder demands that a background process which holds the output
// delays nobody.
func testPipeHolder(e *env) {
	start := time.Now()
	e.want("a holder of the pipes", e.sh("sleep "+marker(1)+" & echo started"), 0, "started\n")
	e.want("a daemon that holds them", e.sh("setsid sleep "+marker(2)+" & exit 7"), 7, "")
	if d := time.Since(start); d > e.f.Limit/2 {
		e.Errorf("it took %v", d)
	}
}

// testConcurrent runs ten at once; each ends by itself.
func testConcurrent(e *env) {
	const n = 10
	ctx, cancel := context.WithTimeout(e.ctx, e.f.Limit)
	defer cancel()
	var wg sync.WaitGroup
	start := time.Now()
	for i := range n {
		wg.Go(func() {
			res, err := e.s.Execute(ctx, provider.Command{Script: fmt.Sprintf("sleep %d; echo %d; exit %d", n-i%3, i, i), Timeout: time.Duration(1+i%2) * 700 * time.Millisecond})
			if err != nil || !res.TimedOut {
				e.Errorf("%d: want a timeout, got %+v, %v", i, res, err)
			}
		})
		wg.Go(func() {
			res, err := e.s.Execute(ctx, provider.Command{Script: fmt.Sprintf("sleep 0.%d; echo %d; exit %d", i, i, i)})
			if err != nil || res.ExitCode != i || strings.TrimSpace(whole(res.Stdout)) != fmt.Sprint(i) {
				e.Errorf("%d: got %+v, %v", i, res, err)
			}
		})
	}
	wg.Wait()
	if d := time.Since(start); d > e.f.Limit {
		e.Errorf("it took %v", d)
	}
}
