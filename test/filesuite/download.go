package filesuite

import (
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
)

func testDownload(e *env) {
	for name, content := range map[string]string{
		"empty": "", "binary\xff": "\x00\xff\r\n", "large": strings.Repeat("0123456789abcdef", 300_000),
	} {
		got, err := e.download(e.put(name, content))
		if err != nil || got != content {
			e.Errorf("%q: want %d bytes, got %d, %v", name, len(content), len(got), err)
		}
	}
}

func testDownloadRefuses(e *env) {
	e.put("f", "x")
	big := e.path("big")
	e.sh("cd " + e.dir + "; mkdir dir; mkfifo fifo; ln -s /proc/self/environ toproc; ln -s " + e.f.Undownloadable + " out; ln -s f link; truncate -s 101M " + big + " || dd if=/dev/zero of=" + big + " bs=1 count=0 seek=101M")
	for p, kinds := range map[string][]provider.Kind{
		e.path("dir/../f"): {provider.Denied},
		e.path("../x"):     {provider.Denied},
		e.dir + "/..":      {provider.Denied},
		e.f.Undownloadable: {provider.Denied},
		e.f.Dir + "x/f":    {provider.Denied, provider.NotFound},
		"/":                {provider.Denied},
		"relative":         {provider.Invalid, provider.Denied},
		e.path("missing"):  {provider.NotFound},
		e.path("dir"):      {provider.Invalid},
		e.path("fifo"):     {provider.Invalid},
		e.path("out"):      {provider.Denied},
		e.path("toproc"):   {provider.Denied, provider.Invalid},
		big:                {provider.TooLarge},
	} {
		_, err := e.download(p)
		e.wantKind("download "+p, err, kinds...)
	}
	if got, err := e.download(e.path("link")); err != nil || got != "x" {
		e.Errorf("a link that stays: got %q, %v", got, err)
	}
}
