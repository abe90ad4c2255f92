package sessionsuite

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

// testEnds: a shell that ends, in whatever way, is noticed at once, and the
// session goes on.
func testEnds(e *env) {
	e.sh("export keep=kept; mkdir -p here; cd here")
	for text, code := range map[string]int{
		"exit 3": 3, "exit": 0, "exec sleep 0": 0, "exec /bin/false": 1, "kill -9 $$": 137, "set -e; false": 1, "trap 'exit 9' EXIT; exit 4": 9,
	} {
		began := time.Now()
		res := e.sh(text)
		if res.ExitCode != code {
			e.Errorf("%s: want %d, got %d", text, code, res.ExitCode)
		}
		if took := time.Since(began); took > e.f.Limit/4 {
			e.Errorf("%s: took %v", text, took)
		}
		e.wantChange(text, res, "shell")
		res = e.want("echo $keep; pwd; false; echo still", "kept\n"+path.Join(e.f.Workdir, "here")+"\nstill\n")
		e.wantWhole("after "+text, res)
	}
}

// testEndsOfBash: what the ending command itself has changed is kept too, where
// the shell was let end itself.
func testEndsOfBash(e *env) {
	e.sh("declare -a list=(1 2); f() { echo F; }")
	for i, text := range []string{"exit 3", "set -u; echo $nope", "set -e; false"} {
		res := e.sh(fmt.Sprintf("changed=%d; cd /; %s", i, text))
		e.wantChange(text, res, "shell")
		if strings.Contains(told(res), "what this command changed") {
			e.Errorf("%s: lost what it changed: %s", text, told(res))
		}
		e.want("set +u; echo $changed ${list[1]}; pwd; f; false; echo still", fmt.Sprintf("%d 2\n/\nF\nstill\n", i))
	}
}

// testSpoilt: what makes a shell useless for the next command.
func testSpoilt(e *env) {
	e.sh("keep=kept")
	for _, text := range []string{
		"set -n", "builtin() { :; }", "builtin() { return 0; }; eval() { echo fake; }", "enable -n eval", "enable -n builtin", "enable -n printf",
		"for f in /proc/self/fd/*; do n=${f##*/}; eval \"exec $n>&-\"; done 2>/dev/null", "for f in /proc/self/fd/*; do n=${f##*/}; [ $n -gt 2 ] && (echo 0 >&$n) 2>/dev/null; done",
		"for n in {3..255}; do eval \"exec $n</dev/null\"; done 2>/dev/null", "kill -STOP $$ & wait", "ulimit -n 3", "set -r 2>/dev/null", "set -t",
		"trap 'echo DBG' DEBUG; trap 'echo EX' EXIT; PROMPT_COMMAND='echo PC'; PS1=x; trap 'echo E' ERR; trap 'echo R' RETURN", "shopt -s extdebug; trap false DEBUG",
		"alias builtin=false eval=false command=false printf=false", "eval() { echo fake; }; command() { echo fake; }; printf() { echo fake; }; read() { :; }; exec() { :; }; trap() { :; }; declare() { :; }; shopt() { :; }; set() { :; }; cd() { :; }",
		"set -x", "set -v", "set -a", "set -k", "set -f", "set -C", "set -T", "set -E", "set -H", "set -o posix", "POSIXLY_CORRECT=1", "unset PATH", "PATH=", "IFS=1234567890abcdef", "LC_ALL=xx", "TMOUT=1", "PS4='$(sleep 0)'", "BASH_XTRACEFD=1; set -x", "readonly _sandboxfs", "declare -i _sandboxfs", "_sandboxfs() { :; }",
		"unset -f nothing; shopt -s failglob nullglob nocaseglob", "set -o history -o histexpand", "exec 97>&-", "exec 97<&-; exec 10<&-", "umask 777", "HOME=/nonexistent; unset HOME PWD OLDPWD", "trap '' TERM INT HUP", "printf '\\0%s\\0' 0123456789abcdef:0 >/proc/self/fd/97/s", "set -o noexec",
		"for d in /proc/self/fd/*; do if [ -e $d/z ]; then for i in {1..200}; do : >$d/junk$i; done; head -c 40000000 /dev/zero >$d/junk; fi; done 2>/dev/null", "for d in /proc/self/fd/*; do if [ -e $d/z ]; then rm -f $d/*; fi; done", "trap - EXIT; x=1; kill $$", "kill -9 -1; kill -9 $$",
	} {
		ctx, cancel := context.WithTimeout(e.ctx, e.f.Limit)
		began := time.Now()
		res, err := e.s.Execute(ctx, provider.Command{Script: text, Session: e.name, Timeout: 10 * time.Second})
		cancel()
		if err != nil {
			e.Fatalf("%s: %v", text, err)
		}
		first := told(res)
		if took := time.Since(began); took > 9*time.Second {
			e.Errorf("%s: took %v", text, took)
		}
		began = time.Now()
		res = e.sh(`\echo ok`)
		if !strings.Contains(whole(res.Stdout), "ok\n") {
			// A second chance: what spoils the next command only is noticed with it.
			if res.Session == nil {
				e.Errorf("%s: the next command: got %q, %q, exit %d, %s; before: %s", text, clip(whole(res.Stdout)), clip(whole(res.Stderr)), res.ExitCode, told(res), first)
			}
			res = e.sh(`\echo ok`)
			if !strings.Contains(whole(res.Stdout), "ok\n") {
				e.Errorf("%s: and after that: got %q, %q, exit %d, %s", text, clip(whole(res.Stdout)), clip(whole(res.Stderr)), res.ExitCode, told(res))
			}
		}
		if took := time.Since(began); took > 9*time.Second {
			e.Errorf("%s: the next took %v", text, took)
		}
		if err := e.s.CloseSession(e.ctx, e.name); err != nil {
			e.Fatal(err)
		}
		e.sh("keep=kept")
	}
}

func testReadonly(e *env) {
	res := e.sh("readonly PWD HOME PATH IFS; keep=kept; IFS=x")
	e.wantChange("readonly PWD", res, "PWD", "read-only")
	e.wantWhole("afterwards", e.want("cd /tmp && pwd; echo $keep", "/tmp\nkept\n"))
}

func testDirectoryGone(e *env) {
	e.sh("mkdir -p gone/sub; cd gone/sub")
	e.wantWhole("the removing command", e.sh("cd ../..; rm -r gone; mkdir -p gone2; cd gone2; rmdir ../gone2"))
	res := e.want("pwd", e.f.Workdir+"\n")
	e.wantChange("a directory that is gone", res, "gone2", e.f.Workdir)
	e.wantWhole("afterwards", e.want("pwd", e.f.Workdir+"\n"))
	e.sh("mkdir -p again; cd again; rmdir ../again; mkdir ../again")
	e.wantWhole("one that was made again", e.want("pwd; cd ..; rmdir again", path.Join(e.f.Workdir, "again")+"\n"))
}

func testKilledIdle(e *env) {
	e.sh("export keep=kept; (sleep 0.2; kill -9 $$) >/dev/null 2>&1 &")
	e.eventually("the shell's end", func() bool { return len(e.jobs(e.name)) == 0 })
	// It may die a moment later, under a command that it was just given.
	e.eventually("a told end", func() bool { return e.sh("true").Session != nil })
	e.want("echo $keep", "kept\n")
}
