package posixsuite

import (
	"fmt"
	"hash/fnv"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// job is one call on one target by one user.
type job struct {
	name     string // "CALL on TARGET by USER"
	call     call
	user     *user
	unlinked bool
	locked   bool
	onFD     bool
	build    func(b *builder) (one, two string)
}

// side is one of the two directories with what a case has made there.
type side struct {
	seen, made string // of the case: as the client sees it, and as it is built
	x          act
	fds        []int
	before     view
	answer     string
	after      []string
	// shown and behind are what the tree shows in the end, and what is there.
	shown, behind []string
	failed        error
	// needed are the permissions without which a directory cannot be looked
	// into: none, where the server is root.
	needed uint32
}

// testCalls runs all tables. Each batch, one call on everything, is built as
// a whole before it runs, so that the clock moves on between.
func testCalls(t *testing.T, s Subject) {
	found := &findings{listed: deviations(s)}
	work := make(chan func(*worker))
	var workers sync.WaitGroup
	for i := range runtime.NumCPU() {
		w := &worker{t: t, s: s, found: found, users: cast(t, s), top: fmt.Sprintf("w%d", i)}
		workers.Add(1)
		go func() {
			defer workers.Done()
			for f := range work {
				f(w)
			}
		}()
	}
	for _, c := range append(append(openCalls(), nameCalls()...), attributeCalls()...) {
		work <- func(w *worker) { w.batch(c.name, w.onTargets(c)) }
	}
	for _, c := range descriptorCalls() {
		work <- func(w *worker) { w.batch(c.name, w.onOpen(c)) }
	}
	for _, c := range pairCalls() {
		work <- func(w *worker) { w.batch(c.name, w.onPairs(c)) }
	}
	close(work)
	workers.Wait()
	found.report(t)
}

// worker runs batches, with users of its own.
type worker struct {
	t     *testing.T
	s     Subject
	found *findings
	users []*user
	top   string
	count int
}

func (w *worker) onTargets(c call) []job {
	var jobs []job
	for _, target := range targets() {
		jobs = append(jobs, w.jobs(job{name: c.name + " on " + target.name, call: c, unlinked: target.unlinked, build: single(target)}, target.needs)...)
	}
	return jobs
}

func (w *worker) onOpen(c call) []job {
	var jobs []job
	for _, target := range openTargets() {
		jobs = append(jobs, w.jobs(job{name: c.name + " on " + target.name, call: c, unlinked: target.unlinked, locked: target.locked, onFD: true, build: single(target)}, target.needs)...)
	}
	return jobs
}

func (w *worker) onPairs(c call) []job {
	var jobs []job
	for _, p := range pairs() {
		jobs = append(jobs, w.jobs(job{name: c.name + " on " + p.name, call: c, unlinked: p.unlinked, build: p.build}, p.needs)...)
	}
	return jobs
}

func single(target target) func(*builder) (string, string) {
	return func(b *builder) (string, string) { return target.build(b), "" }
}

// jobs are one job for each user, as far as the subject allows and the share
// holds it.
func (w *worker) jobs(j job, needs need) []job {
	if w.s.Single != nil && (needs == owners || needs == devices) || needs == strong && w.s.Keeper != (Account{}) {
		return nil
	}
	var jobs []job
	for _, u := range w.users {
		one := j
		one.name, one.user = j.name+" by "+u.name, u
		if w.s.Only != nil && !w.s.Only.MatchString(one.name) {
			continue
		}
		if w.s.Share > 1 {
			h := fnv.New32()
			fmt.Fprint(h, one.name, w.s.Name)
			proves := func(d deviation) bool { return d.proves(one.name) }
			if h.Sum32()%uint32(w.s.Share) != 0 && !slices.ContainsFunc(w.found.listed, proves) {
				continue
			}
		}
		jobs = append(jobs, one)
	}
	return jobs
}

// batch builds all jobs on both sides, runs them, looks, and compares.
func (w *worker) batch(name string, jobs []job) {
	if len(jobs) == 0 {
		return
	}
	w.count++
	top := fmt.Sprintf("%s-%d", w.top, w.count)
	tree := w.s.Host
	if w.s.Through {
		tree = w.s.Dir
	}
	for _, dir := range []string{w.s.Plain, tree} {
		if err := unix.Mkdir(dir+"/"+top, 0o755); err != nil {
			w.found.broken(name, err)
			return
		}
	}
	plain, tested := make([]*side, len(jobs)), make([]*side, len(jobs))
	for i, j := range jobs {
		at := fmt.Sprintf("/%s/%d", top, i)
		plain[i] = w.prepare(j, w.s.Plain+at, w.s.Plain+at, w.owners(w.s.Plain))
		tested[i] = w.prepare(j, w.s.Dir+at, tree+at, w.owners(tree))
	}
	tick(w.s.Plain + "/" + top + "/clock")
	for i, j := range jobs {
		for _, s := range []*side{plain[i], tested[i]} {
			s.run(j)
		}
		if w.s.Host != w.s.Dir {
			tested[i].lookBehind(fmt.Sprintf("%s/%s/%d", w.s.Host, top, i), w.s)
		}
		w.found.compare(j, plain[i], tested[i])
		for _, s := range []*side{plain[i], tested[i]} {
			s.close()
		}
	}
	for _, dir := range []string{w.s.Plain, w.s.Host} {
		clear(dir + "/" + top)
	}
}

// owners says whose things are whose on one side.
func (w *worker) owners(dir string) func(Account) Account {
	switch {
	case w.s.Single == nil:
		return func(a Account) Account { return a }
	case dir == w.s.Host && dir != w.s.Dir:
		return func(Account) Account { return w.s.Keeper }
	}
	return func(Account) Account { return *w.s.Single }
}

// prepare builds a job's target and opens it where that is wanted.
func (w *worker) prepare(j job, seen, made string, to func(Account) Account) *side {
	s := &side{seen: seen, made: made, x: act{dir: seen, fd: -1}}
	if w.s.Keeper != (Account{}) {
		s.needed = 0o500
	}
	b := &builder{dir: made, to: to}
	if s.failed = unix.Mkdir(made, 0o755); s.failed != nil {
		return s
	}
	if who := to(owner); os.Geteuid() == 0 {
		s.failed = unix.Chown(made, who.UID, who.GID)
	}
	one, two := j.build(b)
	if err := b.finish(); err != nil {
		s.failed = err
		return s
	}
	s.x.path, s.x.other = at(seen, one), at(seen, two)
	if j.onFD {
		w.users[0].do(func() {
			fd, err := unix.Open(s.x.path, j.call.flags, 0)
			if err != nil {
				s.answer = "opening it: " + outcome("", err)
				return
			}
			s.x.fd, s.fds = fd, append(s.fds, fd)
		})
	}
	if j.locked {
		if s.failed = unix.Chmod(s.x.path, 0); s.failed != nil {
			return s
		}
	}
	if s.before, s.failed = glance(seen, b.names); s.failed != nil {
		return s
	}
	if j.unlinked {
		if s.failed = s.unlink(one, j.onFD); s.failed != nil {
			return s
		}
		left, err := glance(seen, slices.DeleteFunc(b.names, func(name string) bool { return name == one }))
		if s.failed = err; err == nil {
			left[one] = s.before[one]
			s.before = left
		}
	}
	return s
}

// at is the path of a name below a directory; no name is no path.
func at(dir, name string) string {
	if name == "" {
		return ""
	}
	return dir + "/" + name
}

// unlink takes the name of a target away while it is open.
func (s *side) unlink(name string, onFD bool) error {
	path := at(s.seen, name)
	if !onFD {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		s.fds = append(s.fds, fd)
		s.x.path = procFD(fd)
	}
	if err := unix.Unlink(path); err != unix.EISDIR {
		return err
	}
	return unix.Rmdir(path)
}

// run makes the call as the job's user.
func (s *side) run(j job) {
	if s.failed != nil || s.answer != "" {
		return
	}
	j.user.do(func() { s.answer = outcome(j.call.do(s.x)) })
	for _, fd := range s.fds { // what an open file looks like afterwards
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			s.failed = err
			return
		}
		s.after = append(s.after, "open: "+described(&st))
	}
	after, err := observe(s.seen, s.needed)
	if err != nil {
		s.failed = fmt.Errorf("after the call (%s): %w", s.answer, err)
		return
	}
	s.shown = after.lines(s.before)
	s.after = append(s.after, s.shown...)
}

// lookBehind sees what the call has left on the host. Where one owner is
// shown, the host's owners are another's and set-id bits nobody's.
func (s *side) lookBehind(host string, subject Subject) {
	if s.failed != nil || s.shown == nil {
		return
	}
	behind, err := observe(host, s.needed)
	if err != nil {
		s.failed = fmt.Errorf("on the host: %w", err)
		return
	}
	s.behind = behind.lines(s.before)
	apart := ` atime \S+` // of what the look itself has read
	if subject.Single != nil {
		apart += `| owner \d+:\d+`
	}
	cut := regexp.MustCompile(apart)
	s.shown = slices.Clone(s.shown)
	for _, lines := range [][]string{s.shown, s.behind} {
		for i := range lines {
			lines[i] = cut.ReplaceAllString(lines[i], "")
		}
	}
}

func (s *side) close() {
	for _, fd := range s.fds {
		unix.Close(fd)
	}
}

// tick waits until the filesystem's clock has moved on, so that what is
// changed now has other times than what was built.
func tick(name string) {
	os.WriteFile(name, nil, 0o600)
	var first, now unix.Stat_t
	unix.Stat(name, &first)
	for now = first; now.Ctim == first.Ctim && unix.Stat(name, &now) == nil; {
		unix.Chmod(name, 0o600)
	}
}

// clear removes a tree whose directories may be locked.
func clear(dir string) {
	if os.Geteuid() != 0 {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if e.IsDir() {
				os.Chmod(dir+"/"+e.Name(), 0o700)
				clear(dir + "/" + e.Name())
			}
		}
	}
	os.RemoveAll(dir)
}

// difference is a case whose answers are not equal.
type difference struct{ job, plain, tree string }

// String prints the answers side by side, and of what was seen afterwards
// the lines that differ.
func (d difference) String() string {
	return fmt.Sprintf("%s\n  plain: %s\n  tree:  %s", d.job, d.plain, d.tree)
}

// differing are two texts without the lines that they share.
func differing(a, b []string) (string, string) {
	only := func(a, b []string) string {
		var out []string
		for _, line := range a {
			if !slices.Contains(b, line) {
				out = append(out, line)
			}
		}
		return strings.Join(out, "\n         ")
	}
	return only(a, b), only(b, a)
}
