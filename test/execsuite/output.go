package execsuite

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/provider"
)

func testOutput(e *env) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	res := e.exec(provider.Command{Argv: []string{"cat"}, Stdin: bytes.NewReader(all)})
	e.want("every byte", res, 0, string(all))
	res = e.sh("printf 'no newline'; printf 'é' >&2")
	e.want("no newline", res, 0, "no newline")
	if whole(res.Stderr) != "é" {
		e.Errorf("stderr: got %q", whole(res.Stderr))
	}
	res = e.sh("head -c 900000 /dev/zero | tr '\\0' x")
	e.want("below the bound", res, 0, strings.Repeat("x", 900_000))
	if res.Stdout.Omitted != 0 {
		e.Errorf("below the bound: %d left out", res.Stdout.Omitted)
	}
}

// testOutputBound floods both streams.
func testOutputBound(e *env) {
	for _, most := range []int64{1, 7, 1000, 0} {
		bound := most
		if bound == 0 {
			bound = provider.DefaultMaxOutput
		}
		res := e.exec(provider.Command{Script: "(echo begin; head -c 60000000 /dev/zero | tr '\\0' y; echo; echo end) | tee /dev/stderr", MaxOutput: most})
		for name, o := range map[string]provider.Output{"stdout": res.Stdout, "stderr": res.Stderr} {
			kept := int64(len(o.Head) + len(o.Tail))
			if kept > bound || kept+o.Omitted != 60_000_000+int64(len("begin\n\nend\n")) {
				e.Errorf("%s of %d: kept %d, left out %d", name, bound, kept, o.Omitted)
			}
			if bound >= 1000 && (!bytes.HasPrefix(o.Head, []byte("begin\n")) || !bytes.HasSuffix(o.Tail, []byte("end\n"))) {
				e.Errorf("%s: head %q, tail %q", name, clip(string(o.Head)), clip(string(o.Tail)))
			}
		}
	}
	res := e.exec(provider.Command{Script: "i=0; while [ $i -lt 2000 ]; do printf 'aéñ€😀'; i=$((i+1)); done", MaxOutput: 101})
	if !utf8.Valid(res.Stdout.Head) || !utf8.Valid(res.Stdout.Tail) || res.Stdout.Omitted == 0 {
		e.Errorf("cut inside a rune: %q, %q", res.Stdout.Head, res.Stdout.Tail)
	}
}

func testOutputUnbounded(e *env) {
	res := e.exec(provider.Command{Script: "head -c 5000000 /dev/zero; head -c 3000000 /dev/zero >&2", MaxOutput: -1})
	if len(res.Stdout.Head) != 5_000_000 || len(res.Stderr.Head) != 3_000_000 || res.Stdout.Omitted+res.Stderr.Omitted != 0 {
		e.Errorf("without a bound: got %d and %d bytes", len(res.Stdout.Head), len(res.Stderr.Head))
	}
}

func testStdin(e *env) {
	e.want("none", e.sh("cat; echo $?; [ -t 0 ] || echo no terminal"), 0, "0\nno terminal\n")
	e.want("empty", e.exec(provider.Command{Script: "cat; echo done", Stdin: strings.NewReader("")}), 0, "done\n")
	large := strings.Repeat("0123456789abcdef", 400_000)
	e.want("large", e.exec(provider.Command{Argv: []string{"cat"}, Stdin: strings.NewReader(large), MaxOutput: -1}), 0, large)
	e.want("slow", e.exec(provider.Command{Script: "sleep 0.2; wc -c | tr -d ' '", Stdin: strings.NewReader(large)}), 0, "6400000\n")
}

// testStdinUnread ends while its input goes on, for ever even.
func testStdinUnread(e *env) {
	e.want("not read", e.exec(provider.Command{Script: "echo done", Stdin: endless{}}), 0, "done\n")
	e.want("read in part", e.exec(provider.Command{Script: "head -c 3", Stdin: endless{}}), 0, "zzz")
	e.want("closed", e.exec(provider.Command{Script: "exec <&-; sleep 0.3; echo done", Stdin: endless{}}), 0, "done\n")
}

// endless is an input without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'z'
	}
	return len(p), nil
}
