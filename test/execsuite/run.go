package execsuite

import (
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

func testResults(e *env) {
	plain := e.f.Dir + "/execsuite-plain"
	for _, c := range []struct {
		name string
		cmd  provider.Command
		code int
		out  string
	}{
		{"nothing", provider.Command{Script: ":"}, 0, ""},
		{"exit status", provider.Command{Script: "echo x; exit 42"}, 42, "x\n"},
		{"syntax error", provider.Command{Script: "if"}, 2, ""},
		{"killed", provider.Command{Script: "kill -KILL $$"}, 137, ""},
		{"terminated", provider.Command{Script: "kill -TERM $$"}, 143, ""},
		{"not found in a script", provider.Command{Script: "no-such-program"}, 127, ""},
		{"not found", provider.Command{Argv: []string{"no-such-program"}}, 127, ""},
		{"not found by path", provider.Command{Argv: []string{"/no/such/program"}}, 127, ""},
		{"not executable", provider.Command{Argv: []string{plain}}, 126, ""},
		{"a directory", provider.Command{Argv: []string{"/"}}, 126, ""},
		{"program", provider.Command{Argv: []string{"echo", "a  b", "", "*", "$HOME"}}, 0, "a  b  * $HOME\n"},
		{"here-document", provider.Command{Script: "cat <<'END'\na $b `c`\nEND\n"}, 0, "a $b `c`\n"},
		{"several lines", provider.Command{Script: "x=1\nfor i in 1 2; do\n echo $i$x\ndone\n"}, 0, "11\n21\n"},
		{"comment at the end", provider.Command{Script: "echo a # no newline"}, 0, "a\n"},
		{"leading dash", provider.Command{Script: "-x 2>/dev/null || echo dash"}, 0, "dash\n"},
	} {
		if c.name == "not executable" {
			e.sh("echo text > " + plain + "; chmod 644 " + plain)
		}
		res := e.exec(c.cmd)
		e.want(c.name, res, c.code, c.out)
		if (c.code == 126 || c.code == 127) && whole(res.Stderr) == "" {
			e.Errorf("%s: nothing on stderr says why", c.name)
		}
		if signal := c.code - 128; c.code > 128 && res.Signal != signal {
			e.Errorf("%s: want signal %d, got %d", c.name, signal, res.Signal)
		}
	}
	res := e.sh("echo out; echo err >&2")
	if whole(res.Stdout) != "out\n" || whole(res.Stderr) != "err\n" {
		e.Errorf("the streams are mixed: %q, %q", whole(res.Stdout), whole(res.Stderr))
	}
	if res := e.sh("sleep 0.3"); res.Duration < 250*time.Millisecond || res.Duration > e.f.Limit {
		e.Errorf("a command of 0.3 s took %v", res.Duration)
	}
	if res.TimedOut || res.LeftRunning != 0 {
		e.Errorf("a plain command: got %+v", res)
	}
}

func testArguments(e *env) {
	args := []string{"printf", "%s\\n", "", " ", "a b", "'\"\\", "$(id)", "`id`", "ünï", "\xff\xfe", "new\nline", strings.Repeat("x", 100_000)}
	res := e.exec(provider.Command{Argv: args})
	e.want("arguments", res, 0, strings.Join(args[2:], "\n")+"\n")
}

// testLongScript runs one that is longer than one argument can be.
func testLongScript(e *env) {
	for _, size := range []int{131_000, 131_072, 140_000, 1_000_000} {
		script := "echo begin\n: '" + strings.Repeat("x", size) + "'\necho end $# $0 | sed 's/ [^ ]*sh$/ sh/'\nread x || echo eof"
		e.want("a long script", e.sh(script), 0, "begin\nend 0 sh\neof\n")
	}
	res := e.exec(provider.Command{Script: ": '" + strings.Repeat("x", 200_000) + "'\ncat", Stdin: strings.NewReader("input")})
	e.want("a long script with stdin", res, 0, "input")
}

func testRefused(e *env) {
	for name, c := range map[string]provider.Command{
		"nothing":              {},
		"both":                 {Argv: []string{"true"}, Script: "true"},
		"NUL in the script":    {Script: "echo a\x00b"},
		"NUL in an argument":   {Argv: []string{"echo", "a\x00b"}},
		"NUL in a variable":    {Script: ":", Env: map[string]string{"A": "\x00"}},
		"no name":              {Argv: []string{""}},
		"variable's name":      {Script: ":", Env: map[string]string{"A-B": "x"}},
		"empty name":           {Script: ":", Env: map[string]string{"": "x"}},
		"name with newline":    {Script: ":", Env: map[string]string{"A\n": "x"}},
		"name with digit":      {Script: ":", Env: map[string]string{"1A": "x"}},
		"relative directory":   {Script: ":", Dir: "x"},
		"missing directory":    {Script: ":", Dir: "/no/such/directory"},
		"file as directory":    {Script: ":", Dir: "/etc/passwd"},
		"program in a session": {Argv: []string{"true"}, Session: "s"},
	} {
		_, err := e.s.Execute(e.ctx, c)
		e.wantKind(name, err, provider.Invalid)
	}
}

func testEnvironment(e *env) {
	res := e.sh("env -0 | tr '\\0\\n' '\\n '")
	vars := map[string]string{}
	for _, line := range lines(res.Stdout) {
		k, v, _ := strings.Cut(line, "=")
		vars[k] = v
	}
	for _, k := range []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "PAGER", "GIT_PAGER"} {
		if vars[k] == "" {
			e.Errorf("$%s is not set", k)
		}
	}
	for k, want := range map[string]string{"LANG": "C.UTF-8", "TMPDIR": "/tmp", "BASH_ENV": "", "ENV": "", "HOME": e.f.Workdir} {
		if vars[k] != want {
			e.Errorf("$%s: want %q, got %q", k, want, vars[k])
		}
	}
	res = e.exec(provider.Command{
		Script: `printf '%s|' "$A" "$EMPTY" "${EMPTY-unset}" "$PATH" "$BIN"`,
		Env:    map[string]string{"A": "a b\n$x'\"", "EMPTY": "", "PATH": "/bin:/usr/bin", "BIN": "\xff"},
	})
	e.want("the caller's variables", res, 0, "a b\n$x'\"|||/bin:/usr/bin|\xff|")
	if !e.f.NoBash {
		e.sh("echo 'echo start-up file ran' > " + e.f.Dir + "/rc; cp " + e.f.Dir + "/rc $HOME/.bashrc; cp $HOME/.bashrc $HOME/.bash_profile")
		res = e.exec(provider.Command{Script: "echo ${BASH_VERSION:+bash}", Env: map[string]string{"BASH_ENV": e.f.Dir + "/rc", "ENV": e.f.Dir + "/rc"}})
		e.sh("rm -f $HOME/.bashrc $HOME/.bash_profile " + e.f.Dir + "/rc")
		e.want("no start-up files", res, 0, "bash\n")
	}
}

func testDirectory(e *env) {
	e.want("by default", e.sh("pwd"), 0, e.f.Workdir+"\n")
	e.want("given", e.exec(provider.Command{Script: "pwd", Dir: "/"}), 0, "/\n")
	e.want("a program's", e.exec(provider.Command{Argv: []string{"pwd"}, Dir: "/usr"}), 0, "/usr\n")
	e.want("one-shots keep nothing", e.sh("cd /; x=1; true"), 0, "")
	e.want("one-shots keep nothing", e.sh("pwd; echo $x"), 0, e.f.Workdir+"\n\n")
}
