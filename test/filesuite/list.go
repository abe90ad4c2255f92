package filesuite

import (
	"strconv"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
)

func testList(e *env) {
	e.put("b.txt", "12345")
	e.put("a/x", "1")
	e.put("a/deep/y", "12")
	e.put(".hidden", "")
	e.sh("cd " + e.dir + "; chmod 640 b.txt; ln -s b.txt link; ln -s a linkdir; ln -s nowhere dangling; mkfifo fifo; mkdir empty")
	for _, c := range []struct {
		depth int
		want  string
	}{
		{1, ".hidden:file a:dir b.txt:file dangling:symlink empty:dir fifo:fifo link:symlink linkdir:symlink"},
		{0, ".hidden:file a:dir a/deep:dir a/x:file b.txt:file dangling:symlink empty:dir fifo:fifo link:symlink linkdir:symlink"},
		{3, ".hidden:file a:dir a/deep:dir a/deep/y:file a/x:file b.txt:file dangling:symlink empty:dir fifo:fifo link:symlink linkdir:symlink"},
	} {
		l, err := e.s.ListDir(e.ctx, e.dir, provider.ListOptions{Depth: c.depth})
		if err != nil {
			e.Errorf("depth %d: %v", c.depth, err)
			continue
		}
		if l.Truncated {
			e.Errorf("depth %d: truncated", c.depth)
		}
		var got []string
		for _, x := range l.Entries {
			got = append(got, strings.TrimPrefix(x.Path, e.dir+"/")+":"+x.Type)
		}
		if s := strings.Join(got, " "); s != c.want {
			e.Errorf("depth %d: want\n%s, got\n%s", c.depth, c.want, s)
		}
	}
	l, err := e.s.ListDir(e.ctx, e.dir+"/", provider.ListOptions{Depth: 1})
	if err != nil {
		e.Fatal(err)
	}
	mtime, err := strconv.ParseInt(strings.TrimSpace(e.sh("stat -c %Y "+e.path("b.txt"))), 10, 64)
	if err != nil {
		e.Fatal(err)
	}
	for _, x := range l.Entries {
		if x.Path == e.path("b.txt") && (x.Size != 5 || x.Mode != 0o640 || x.ModTime/1e9 != mtime) {
			e.Errorf("b.txt: want 5 bytes, mode 640, time %d, got %+v", mtime, x)
		}
	}
	l, err = e.s.ListDir(e.ctx, e.dir, provider.ListOptions{Depth: 3, MaxEntries: 4})
	if err != nil || len(l.Entries) != 4 || !l.Truncated {
		e.Errorf("bounded: want 4 entries and truncated, got %+v, %v", l, err)
	}
	if l, err = e.s.ListDir(e.ctx, e.path("linkdir"), provider.ListOptions{Depth: 1}); err != nil || len(l.Entries) != 2 {
		e.Errorf("a link to a directory: want its 2 entries, got %+v, %v", l, err)
	} else if l.Entries[0].Path != e.path("linkdir/deep") {
		e.Errorf("a link to a directory: the paths should be those asked for, got %s", l.Entries[0].Path)
	}
}

func testListRefuses(e *env) {
	e.put("file", "x")
	for p, kinds := range map[string][]provider.Kind{
		e.path("missing"): {provider.NotFound},
		e.path("file"):    {provider.Invalid},
		"/proc":           {provider.Denied, provider.NotFound},
		"/proc/self":      {provider.Denied, provider.NotFound},
		"":                {provider.Invalid},
		"relative":        {provider.Invalid},
	} {
		_, err := e.s.ListDir(e.ctx, p, provider.ListOptions{})
		e.wantKind("list "+p, err, kinds...)
	}
	if !e.f.Privileged {
		e.sh("cd " + e.dir + "; mkdir closed; chmod 0 closed")
		_, err := e.s.ListDir(e.ctx, e.path("closed"), provider.ListOptions{})
		e.wantKind("list a closed directory", err, provider.Denied)
	}
}
