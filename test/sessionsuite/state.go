package sessionsuite

import (
	"path"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
)

func testState(e *env) {
	first := e.want("pwd; echo $?", e.f.Workdir+"\n0\n")
	e.wantChange("the first command", first, "new")
	e.wantWhole("a second", e.sh("mkdir -p sub && cd sub && export X=exported && y=plain && umask 027 && f() { echo F$1; } && set -o noglob"))
	e.want(`pwd; echo $X $y; f 1; umask; echo *; env | grep -c '^X='`, path.Join(e.f.Workdir, "sub")+"\nexported plain\nF1\n0027\n*\n1\n")
	if res := e.sh("exit_code() { return 7; }; exit_code"); res.ExitCode != 7 {
		e.Errorf("status: want 7, got %d", res.ExitCode)
	}
	e.want("echo $?; set +o noglob; cd ..; rmdir sub", "0\n")
	e.want("env | grep -ci '^_sandboxfs'", "0\n")
}

func testStateOfBash(e *env) {
	e.sh(`alias g='echo aliased'; shopt -s extglob nullglob; set -o pipefail; declare -A m=([k]="v w"); a=(1 "2 3"); trap 'echo usr' USR1; set -- p1 'p 2'; declare -i n=3; declare -r ro=x; export -f g2 2>/dev/null; g2() { echo g2 $LINENO >/dev/null; echo g2; }; export -f g2`)
	const look = `g; shopt -q extglob && shopt -q nullglob && echo shopt; shopt -qo pipefail && echo pipefail; echo "${m[k]}" "${a[1]}"; echo "$2"; n=n+4; echo $n; (ro=y) 2>/dev/null || echo ro; bash -c g2; kill -USR1 $$`
	want := "aliased\nshopt\npipefail\nv w 2 3\np 2\n7\nro\ng2\nusr\n"
	e.wantWhole("state", e.want(look, want))
	// A new shell has all of it but what only the old one can have.
	e.sh("n=3")
	res := e.sh("kill -9 $$")
	e.wantChange("a killed shell", res, "signal 9")
	e.want(look, want)
}

func testStreams(e *env) {
	res := e.sh("echo out; echo err >&2; printf 'no newline'; exit_status=3; (exit 3)")
	if whole(res.Stdout) != "out\nno newline" || whole(res.Stderr) != "err\n" || res.ExitCode != 3 {
		e.Errorf("want both streams and 3, got %q, %q, %d", whole(res.Stdout), whole(res.Stderr), res.ExitCode)
	}
	res = e.exec(provider.Command{Script: "i=0; while [ $i -lt 20000 ]; do echo line$i; i=$((i+1)); done", MaxOutput: 1000})
	if res.Stdout.Omitted == 0 || len(res.Stdout.Head)+len(res.Stdout.Tail) > 1000 || !strings.HasSuffix(string(res.Stdout.Tail), "line19999\n") {
		e.Errorf("bounded output: got %d+%d bytes, %d omitted", len(res.Stdout.Head), len(res.Stdout.Tail), res.Stdout.Omitted)
	}
	e.want("echo $i", "20000\n")
	e.wantWhole("large output", e.sh("head -c 3000000 /dev/zero"))
	for _, redirect := range []string{"exec >/dev/null", "exec 2>&1 >/dev/null", "exec 2>&-", "exec <&-", "exec >&-", "exec </dev/zero"} {
		e.sh(redirect)
		e.want("echo ok", "ok\n")
	}
}

func testStdin(e *env) {
	e.want("cat; echo end", "end\n")
	res := e.exec(provider.Command{Script: "read a; read b; echo $b-$a", Stdin: strings.NewReader("1\n2\n3\n")})
	if whole(res.Stdout) != "2-1\n" {
		e.Errorf("stdin: got %q", whole(res.Stdout))
	}
	big := strings.Repeat("0123456789abcdef", 100_000)
	res = e.exec(provider.Command{Script: "wc -c", Stdin: strings.NewReader(big)})
	if strings.TrimSpace(whole(res.Stdout)) != "1600000" {
		e.Errorf("large stdin: got %q", whole(res.Stdout))
	}
	e.exec(provider.Command{Script: "true", Stdin: strings.NewReader(big)})
	e.want("echo $a$b; cat", "12\n")
}

func testEnvironment(e *env) {
	e.sh("X=kept; export Y=kept")
	res := e.exec(provider.Command{Script: `echo "$X" "$Y"; env | grep '^X='`, Env: map[string]string{"X": "it's $HOME\n2", "Y": "once"}})
	if want := "it's $HOME\n2 once\nX=it's $HOME\n"; whole(res.Stdout) != want {
		e.Errorf("variables of one command: want %q, got %q, %q", want, whole(res.Stdout), whole(res.Stderr))
	}
	e.want("echo $X $Y; env | grep -c '^X='", "kept kept\n0\n")
}

func testDirectory(e *env) {
	dir := path.Join(e.f.Workdir, "it's a 'dir'")
	e.sh(`mkdir -p "it's a 'dir'"`)
	res := e.exec(provider.Command{Script: "pwd", Dir: dir})
	if whole(res.Stdout) != dir+"\n" {
		e.Errorf("directory: want %q, got %q, %q", dir, whole(res.Stdout), whole(res.Stderr))
	}
	e.want("pwd; cd ..; rmdir \"it's a 'dir'\"", dir+"\n")
	_, err := e.s.Execute(e.ctx, provider.Command{Script: "echo ran >&2", Session: e.name, Dir: dir})
	e.wantKind("a directory that is not there", err, provider.Invalid)
	e.want("pwd", e.f.Workdir+"\n")
}

// testTexts: nothing in a text reaches what the shell reads next.
func testTexts(e *env) {
	e.sh("export keep=kept")
	for _, text := range []string{
		"echo 'unterminated", `echo "unterminated`, "echo `unterminated", "echo $(unterminated", "echo ${unterminated", "cat <<EOF\nno end", "cat <<'EOF'\n$(", "if true", "for i in 1 2", "{ echo", "( echo",
		"f() {", "case x in", "echo \\", "#", "\n\n", ";;", "&&", ")", "}", "done", "\x01\x02\xff\xfe", "!!", "!x", "echo $((1/0))", "break; continue; return 3", "echo '\x1b]0;title'", "-x", "+x", "--",
	} {
		e.sh(text)
		res := e.want("echo $keep", "kept\n")
		e.wantWhole(text, res)
	}
	long := "x='" + strings.Repeat("0123456789\n", 50_000) + "'; echo ${#x}"
	e.want(long, "550000\n")
	e.want("echo $keep; unset x", "kept\n")
}

func testRefused(e *env) {
	for what, c := range map[string]provider.Command{
		"a program":            {Argv: []string{"true"}, Session: e.name},
		"a terminal":           {Script: "true", Session: e.name, TTY: &provider.TTY{}},
		"a name with a slash":  {Script: "true", Session: "a/b"},
		"a name with a space":  {Script: "true", Session: "a b"},
		"a name that is long":  {Script: "true", Session: strings.Repeat("x", 65)},
		"a NUL byte in a text": {Script: "echo \x00", Session: e.name},
	} {
		_, err := e.s.Execute(e.ctx, c)
		e.wantKind(what, err, provider.Invalid)
	}
}
