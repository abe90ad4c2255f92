package filesuite

import (
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
)

func testRead(e *env) {
	for name, content := range map[string]string{
		"empty":        "",
		"text":         "one\ntwo\n",
		"no-end":       "one\ntwo",
		"binary":       "a\x00b\xff\xfe\r\n\x80",
		"bom-crlf":     "\ufeffa\r\nb\r\n",
		"large":        strings.Repeat("0123456789abcdef", 100_000),
		"sp ace-ü-\"'": "name",
		"new\nline":    "name",
		"-dash":        "name",
		"percent%2F+&": "name",
	} {
		e.wantFile(e.put(name, content), content)
	}
	name := "latin\xe9"
	if err := e.s.WriteFile(e.ctx, e.path(name), []byte("x"), provider.Replace); err != nil {
		e.Errorf("a name that is not UTF-8: %v", err)
	} else {
		e.wantFile(e.path(name), "x")
	}
}

func testReadRange(e *env) {
	p := e.put("f", "1\n2\r\n3\n4\n5")
	for _, c := range []struct {
		start, end int
		want       string
	}{
		{1, 1, "1\n"}, {2, 2, "2\r\n"}, {0, 2, "1\n2\r\n"}, {4, 0, "4\n5"}, {5, 5, "5"}, {5, 99, "5"}, {6, 0, ""}, {99, 100, ""}, {1, 0, "1\n2\r\n3\n4\n5"}, {0, 0, "1\n2\r\n3\n4\n5"},
	} {
		got, err := e.s.ReadFile(e.ctx, p, provider.LineRange{Start: c.start, End: c.end})
		if err != nil || string(got) != c.want {
			e.Errorf("lines %d to %d: want %q, got %q, %v", c.start, c.end, c.want, got, err)
		}
	}
	for _, r := range []provider.LineRange{{Start: -1}, {End: -1}, {Start: 3, End: 2}} {
		e.wantKind("a range that is none", e.read(p, r), provider.Invalid)
	}
	// A range of a file that is too large as a whole; it has holes, so that
	// it costs no space, and NUL bytes, which are bytes like others.
	big := e.path("big")
	e.sh("echo first > " + big + "; truncate -s 40M " + big + " 2>/dev/null || dd if=/dev/zero of=" + big + " bs=1 count=0 seek=40M; printf '\\nlast\\n' >> " + big)
	e.wantKind("a large file as a whole", e.read(big, provider.LineRange{}), provider.TooLarge)
	for start, want := range map[int]string{1: "first\n", 3: "last\n"} {
		got, err := e.s.ReadFile(e.ctx, big, provider.LineRange{Start: start, End: start})
		if err != nil || string(got) != want {
			e.Errorf("line %d of a large file: want %q, got %q, %v", start, want, clip(string(got)), err)
		}
	}
	e.wantKind("a line that is too long", e.read(big, provider.LineRange{Start: 2, End: 2}), provider.TooLarge)
}

func testReadRefuses(e *env) {
	e.put("file", "x")
	e.sh("mkdir " + e.path("dir") + "; cd " + e.dir + "; ln -s loopb loopa; ln -s loopa loopb; ln -s nowhere dangling")
	long := strings.Repeat("n", 300)
	for p, kinds := range map[string][]provider.Kind{
		e.path("missing"):          {provider.NotFound},
		e.path("missing/deeper"):   {provider.NotFound},
		e.path("dangling"):         {provider.NotFound},
		e.path("dir"):              {provider.Invalid},
		e.path("file/x"):           {provider.Invalid, provider.NotFound},
		e.path("loopa"):            {provider.Invalid},
		e.path(long):               {provider.Invalid},
		"":                         {provider.Invalid},
		"relative":                 {provider.Invalid},
		e.path("nul\x00x"):         {provider.Invalid},
		strings.Repeat("/a", 4096): {provider.Invalid},
	} {
		e.wantKind("read "+clip(p), e.read(p, provider.LineRange{}), kinds...)
	}
	if !e.f.Privileged {
		e.put("secret", "x")
		e.sh("chmod 0 " + e.path("secret"))
		e.wantKind("read without permission", e.read(e.path("secret"), provider.LineRange{}), provider.Denied)
	}
}

// testReadSpecial demands that nothing is opened that could block, act, or
// tell about the guest in place of the command.
func testReadSpecial(e *env) {
	e.put("file", "content")
	e.sh("cd " + e.dir + "; mkfifo fifo; ln -s fifo tofifo; ln -s /dev/zero tozero; ln -s file link; ln -s /proc/self/environ toproc; ln -s /proc/self/root/etc toroot")
	e.wantFile(e.path("link"), "content")
	for _, p := range []string{e.path("fifo"), e.path("tofifo"), "/dev/zero", e.path("tozero"), "/dev/null", "/dev/tty"} {
		e.wantKind("read "+p, e.read(p, provider.LineRange{}), provider.Invalid, provider.Denied, provider.NotFound)
	}
	for _, p := range []string{"/proc/self/environ", "/proc/1/environ", "/proc/self/mountinfo", e.path("toproc")} {
		e.wantKind("read "+p, e.read(p, provider.LineRange{}), provider.Denied, provider.Invalid, provider.NotFound)
	}
	for _, p := range []string{"/proc/self/root" + e.path("file"), "/proc/self/cwd/etc/passwd", "/proc/self/fd/0", "/dev/stdin", "/dev/fd/0", e.path("toroot/passwd")} {
		e.wantKind("read "+p, e.read(p, provider.LineRange{}), provider.Denied, provider.Invalid, provider.NotFound)
	}
}
