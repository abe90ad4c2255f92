package sessionsuite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
)

func testJobs(e *env) {
	began := time.Now()
	e.sh(marked(11) + " & (" + marked(12) + "; true) & setsid " + marked(13) + " & (setsid " + marked(14) + " >/dev/null 2>&1 &) ; true")
	if took := time.Since(began); took > e.f.Limit/4 {
		e.Errorf("jobs that hold the output: the command took %v", took)
	}
	var lines string
	e.eventually("four jobs", func() bool {
		lines = ""
		jobs := e.jobs(e.name)
		for _, j := range jobs {
			lines += j.Command + "\n"
			if j.ID != fmt.Sprintf("%s:%d", e.name, j.PID) || j.Processes < 1 {
				e.Fatalf("a job: got %+v", j)
			}
			if at, err := time.Parse(time.RFC3339, j.Started); err != nil || time.Since(at) > time.Minute || time.Until(at) > time.Minute {
				e.Fatalf("its start: got %q, %v", j.Started, err)
			}
		}
		for n := 11; n <= 14; n++ {
			if !strings.Contains(lines, marked(n)) {
				return false
			}
		}
		return len(jobs) == 4
	})
	e.sh("true")
	if n := len(e.jobs(e.name)); n != 4 {
		e.Errorf("after another command: want 4 jobs, got %d: %s", n, lines)
	}
	e.sh("sleep 0.01")
	if n := len(e.jobs(e.name + "-none")); n != 0 {
		e.Errorf("jobs of another session: %d", n)
	}
}

// testJobsLiveOn: they survive the shell that started them.
func testJobsLiveOn(e *env) {
	e.sh(marked(21) + " & true")
	e.eventually("the job", func() bool {
		jobs := e.jobs(e.name)
		return len(jobs) == 1 && strings.Contains(jobs[0].Command, marked(21))
	})
	for _, text := range []string{"exit 1", "kill -9 $$", "exec true", "set -e; false"} {
		e.wantChange(text, e.sh(text), "background job")
		if jobs := e.jobs(e.name); len(jobs) != 1 || !strings.Contains(jobs[0].Command, marked(21)) {
			e.Fatalf("%s: want the job to live on, got %+v", text, jobs)
		}
	}
	e.exec(provider.Command{Script: "sleep 1000", Timeout: 200 * time.Millisecond})
	jobs := e.jobs(e.name)
	if len(jobs) != 1 {
		e.Fatalf("after a timeout: got %+v", jobs)
	}
	// The session can still see and stop it by itself.
	e.sh(fmt.Sprintf("kill %d", jobs[0].PID))
	e.eventually("the job's end", func() bool { return len(e.jobs(e.name)) == 0 })
}

func testStopJob(e *env) {
	e.sh("(trap '' TERM; " + marked(31) + " & " + marked(32) + "; " + marked(33) + ") & " + marked(34) + " & true")
	var all []provider.Job
	e.eventually("the jobs", func() bool { all = e.jobs(e.name); return len(all) == 2 && all[0].Processes+all[1].Processes >= 4 })
	first := all[0]
	if first.Processes == 1 {
		first = all[1]
	}
	if err := e.s.StopJob(e.ctx, first.ID); err != nil {
		e.Fatalf("stop a job: %v", err)
	}
	left := e.jobs(e.name)
	if len(left) != 1 || left[0].ID == first.ID || !strings.Contains(left[0].Command, marked(34)) {
		e.Errorf("want the other job alone, got %+v", left)
	}
	for _, id := range []string{first.ID, e.name + ":1", e.name + ":x", "none:2", "", e.name + ":999999"} {
		e.wantKind("a job that is not there", e.s.StopJob(e.ctx, id), provider.NotFound)
	}
	e.want("echo ok", "ok\n")
}

// testJobOutput: what a job writes after its command's end goes nowhere, and
// does not stop the job.
func testJobOutput(e *env) {
	e.sh("(i=0; while [ $i -lt 3000 ]; do echo $i--------------------------------------------------; echo e >&2; i=$((i+1)); done; touch wrote; sleep 0.2) & true")
	for i := range 20 {
		if res := e.want(fmt.Sprintf("echo own%d", i), fmt.Sprintf("own%d\n", i)); len(whole(res.Stderr)) > 0 {
			e.Errorf("stderr: got %q", clip(whole(res.Stderr)))
		}
	}
	e.eventually("the job to write all", func() bool { return whole(e.sh("ls wrote 2>/dev/null").Stdout) == "wrote\n" })
	e.sh("rm -f wrote")
}

func testList(e *env) {
	e.sh("cd /tmp; true")
	find := func() *provider.SessionInfo {
		infos, err := e.s.Sessions(e.ctx)
		if err != nil {
			e.Fatal(err)
		}
		for _, i := range infos {
			if i.Name == e.name {
				return &i
			}
		}
		return nil
	}
	i := find()
	if i == nil || i.State != "ready" || i.Dir != "/tmp" || i.Commands != 1 || i.Jobs != 0 || i.IdleSeconds < 0 {
		e.Fatalf("a ready session: got %+v", i)
	}
	if _, err := time.Parse(time.RFC3339, i.Created); err != nil {
		e.Errorf("created: %v", err)
	}
	p, err := e.s.Start(e.ctx, provider.Command{Script: marked(41) + " & sleep 1000", Session: e.name, Stdout: &testenv.Buffer{}, Stderr: &testenv.Buffer{}})
	if err != nil {
		e.Fatal(err)
	}
	e.eventually("a busy session with a job", func() bool {
		i = find()
		return i != nil && i.State == "busy" && i.Commands == 2 && i.Jobs == 1 && i.IdleSeconds == 0
	})
	_ = p.Signal(15)
	if _, err := p.Wait(); err != nil {
		e.Fatal(err)
	}
}

func testClose(e *env) {
	e.sh("x=1; trap 'echo bye >closed' EXIT; " + marked(51) + " & true")
	if err := e.s.CloseSession(e.ctx, e.name); err != nil {
		e.Fatal(err)
	}
	if n := len(e.jobs(e.name)); n != 0 {
		e.Errorf("jobs of a closed session: %d", n)
	}
	if err := e.s.CloseSession(e.ctx, e.name); err != nil {
		e.Errorf("close it again: %v", err)
	}
	e.wantChange("its name used again", e.want("echo \"[$x]\"; cat closed; rm closed", "[]\nbye\n"), "new")
	// One that runs a command.
	p, err := e.s.Start(e.ctx, provider.Command{Script: "sleep 1000", Session: e.name, Stdout: &testenv.Buffer{}, Stderr: &testenv.Buffer{}})
	if err != nil {
		e.Fatal(err)
	}
	if err := e.s.CloseSession(e.ctx, e.name); err != nil {
		e.Fatal(err)
	}
	if res, err := p.Wait(); err == nil && res.ExitCode == 0 {
		e.Errorf("the command of a closed session: got %+v", res)
	}
}

// testCap: more sessions than there may be take the place of idle ones, never of
// one with a job.
func testCap(e *env) {
	e.sh("x=kept; " + marked(61) + " & true")
	name := func(i int) string { return fmt.Sprintf("%s-%d", e.name, i) }
	const many = 20
	e.Cleanup(func() {
		for i := range many {
			_ = e.s.CloseSession(context.WithoutCancel(e.ctx), name(i))
		}
	})
	for i := range many {
		e.exec(provider.Command{Script: "true", Session: name(i)})
	}
	infos, err := e.s.Sessions(e.ctx)
	if err != nil || len(infos) > 16 {
		e.Errorf("want at most 16 sessions, got %d, %v", len(infos), err)
	}
	e.wantWhole("the session with a job", e.want("echo $x", "kept\n"))
	for i := range many {
		_ = e.s.CloseSession(e.ctx, name(i))
	}
	var failed error
	for i := range many {
		if _, err := e.s.Execute(e.ctx, provider.Command{Script: marked(100+i) + " & true", Session: name(i)}); err != nil {
			failed = err
			break
		}
	}
	e.wantKind("one more than can be", failed, provider.Unavailable)
}
