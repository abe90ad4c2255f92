package file

import (
	"context"
	"errors"
	"path"
	"runtime"
	"sort"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// Defaults and bounds of a grep.
const (
	defaultGrep = 100
	// searchAhead is how many files may be searched before the result of the
	// first of them is taken: it bounds what an early end wastes.
	searchAhead = 64
)

// Grep finds lines in the regular files below a directory, or in one file, in
// the order of paths. One goroutine walks, several search, and the results
// are put together in the order of the walk: the same files give the same
// answer, and it ends as soon as the first matches in that order are known.
// Symbolic links below the root are not followed. Kinds: not found, denied,
// invalid (the expression).
func (f *Files) Grep(ctx context.Context, p, pattern string, o provider.GrepOptions) (*provider.GrepResult, error) {
	const op = "grep"
	if err := CheckPath(op, p); err != nil {
		return nil, err
	}
	s, err := newSearcher(op, p, pattern, o)
	if err != nil {
		return nil, err
	}
	filter, err := newFileFilter(op, p, o.Glob)
	if err != nil {
		return nil, err
	}
	most := within(o.MaxResults, defaultGrep, maxResults)
	place, st, err := openPlace(op, p)
	if err != nil {
		return nil, err
	}
	unix.Close(place)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return f.grepFile(ctx, op, p, s, most)
	}
	root, err := openRoot(op, p)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)

	caller := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g := &grep{searcher: s, most: most, root: root, jobs: make(chan *job, searchAhead), order: make(chan *job, searchAhead)}
	w := &walker{root: root}
	w.enter = func(_, name string) bool { return o.NoIgnore || !provider.IsIgnoredDir(name) }
	w.visit = func(_ int, rel string, e dirent) error {
		if e.kind != unix.DT_REG || isTemp(e.name) || !filter.match(rel, e.name) {
			return nil
		}
		return g.add(ctx, rel)
	}
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) {
		workers.Go(func() { g.work(ctx) })
	}
	var walkErr error
	workers.Go(func() {
		defer close(g.order)
		defer close(g.jobs)
		walkErr = w.walk(ctx)
	})
	res := g.collect(path.Clean(p), cancel)
	cancel()
	workers.Wait()
	if err := caller.Err(); err != nil {
		return nil, fail(op, p, err)
	}
	if walkErr != nil && !res.Truncated {
		return nil, fail(op, p, walkErr)
	}
	res.Truncated = res.Truncated || w.incomplete
	sort.SliceStable(res.Matches, func(i, j int) bool { return res.Matches[i].Path < res.Matches[j].Path })
	return res, nil
}

// grepFile searches one file, which the caller named himself.
func (f *Files) grepFile(ctx context.Context, op, p string, s *searcher, most int) (*provider.GrepResult, error) {
	file, _, err := f.Open(op, p)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	found, err := s.search(ctx, file, most+1, make([]byte, searchBlock))
	if err != nil {
		return nil, fail(op, p, err)
	}
	res := &provider.GrepResult{FilesSearched: 1}
	if found.binary {
		res.BinarySkipped = 1
		return res, nil
	}
	res.Matches = found.lines
	if len(res.Matches) > most {
		res.Matches, res.Truncated = res.Matches[:most], true
	}
	for i := range res.Matches {
		res.Matches[i].Path = path.Clean(p)
	}
	return res, nil
}

// grep is one search below a directory.
type grep struct {
	searcher *searcher
	most     int
	root     int
	jobs     chan *job // to the workers
	order    chan *job // to the collector, in the order of the walk
}

// job is one file to search. Its result is valid when done is closed.
type job struct {
	rel   string
	done  chan struct{}
	found found
	err   error
}

// add hands a file to the workers and to the collector.
func (g *grep) add(ctx context.Context, rel string) error {
	j := &job{rel: rel, done: make(chan struct{})}
	for _, to := range []chan *job{g.jobs, g.order} {
		select {
		case to <- j:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (g *grep) work(ctx context.Context) {
	buf := make([]byte, searchBlock)
	for j := range g.jobs {
		if ctx.Err() == nil {
			j.found, j.err = g.searchFile(ctx, j.rel, buf)
		} else {
			j.err = ctx.Err()
		}
		close(j.done)
	}
}

// searchFile opens below the root, without following a link: what the walk
// saw as a file may be something else by now, and O_NONBLOCK keeps a FIFO
// from stopping us.
func (g *grep) searchFile(ctx context.Context, rel string, buf []byte) (found, error) {
	fd, err := openBelow(g.root, rel, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return found{}, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return found{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return found{}, errSkip
	}
	return g.searcher.search(ctx, &fileReader{fd: fd, size: st.Size}, g.most+1, buf)
}

// errSkip reports something that is not a file to search.
var errSkip = errors.New("not a regular file")

// collect puts the results together in order until there are enough. A file
// that cannot be read makes the answer truncated, so that it never looks as
// if all had been searched.
func (g *grep) collect(base string, enough func()) *provider.GrepResult {
	res := &provider.GrepResult{}
	full := false
	for j := range g.order {
		if full {
			continue
		}
		<-j.done
		switch {
		case errors.Is(j.err, errSkip), errors.Is(j.err, unix.ENOENT), errors.Is(j.err, unix.ELOOP):
			continue
		case j.err != nil:
			res.Truncated = true
			continue
		}
		res.FilesSearched++
		if j.found.binary {
			res.BinarySkipped++
			continue
		}
		for _, m := range j.found.lines {
			if len(res.Matches) == g.most {
				res.Truncated, full = true, true
				enough()
				break
			}
			m.Path = path.Join(base, j.rel)
			res.Matches = append(res.Matches, m)
		}
	}
	return res
}

// fileFilter chooses files by a glob; a pattern without "/" is one for names
// at any depth.
type fileFilter struct{ pattern string }

func newFileFilter(op, p, pattern string) (fileFilter, error) {
	if pattern == "" {
		return fileFilter{}, nil
	}
	plan, err := planGlob(op, p, pattern)
	if err != nil {
		return fileFilter{}, err
	}
	return fileFilter{plan.pattern}, nil
}

func (f fileFilter) match(rel, name string) bool {
	if f.pattern == "" {
		return true
	}
	if !strings.Contains(f.pattern, "/") {
		rel = name
	}
	ok, err := doublestar.Match(f.pattern, rel)
	return ok && err == nil
}
