package lifecycle

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

func acquireTwice(s *suite) {
	p := s.provider()
	k := s.key(p, "", "t")
	first := s.live(p, k)
	s.write(first, "kept")
	second := s.live(p, k)
	if first.ID() != second.ID() {
		s.Errorf("one key has the ids %q and %q", first.ID(), second.ID())
	}
	s.wantNote(second, "kept")
	named := s.live(p, mapping.Key{User: mapping.DefaultUser, Thread: k.Thread})
	if named.ID() != first.ID() {
		s.Errorf("the default user, named, has the id %q, and %q without the name", named.ID(), first.ID())
	}
}

func threadsDiffer(s *suite) {
	p := s.provider()
	a, b := s.live(p, s.key(p, "", "a")), s.live(p, s.key(p, "", "b"))
	if a.ID() == b.ID() {
		s.Fatalf("two threads have one id %q", a.ID())
	}
	s.write(a, "a")
	s.wantNoNote(b)
}

func usersDiffer(s *suite) {
	p := s.provider()
	keys := []mapping.Key{s.key(p, "", "t"), s.key(p, "alice", "t"), s.key(p, "bob", "t")}
	seen := map[string]mapping.Key{}
	for _, k := range keys {
		sb := s.live(p, k)
		if other, ok := seen[sb.ID()]; ok {
			s.Fatalf("%q and %q have one id %q", other, k, sb.ID())
		}
		seen[sb.ID()] = k
		s.wantNoNote(sb)
		s.write(sb, k.String())
	}
	for _, k := range keys {
		s.wantNote(s.live(p, k), k.String())
	}
}

func genericKey(s *suite) {
	p := s.provider()
	generic := s.live(p, mapping.Key{})
	k := s.key(p, "", "t")
	if thread := s.live(p, k); thread.ID() == generic.ID() {
		s.Errorf("the generic sandbox and the thread %q have one id %q", k, thread.ID())
	}
	_, err := generic.ListDir(s.ctx, mapping.UserData, provider.ListOptions{})
	s.wantKind(err, "list "+mapping.UserData+" in the generic sandbox, which has no user data", provider.NotFound)
	if stopper, ok := p.(provider.Stopper); ok {
		if err := stopper.Stop(s.ctx, mapping.Key{}); err != nil {
			s.Errorf("stop the generic sandbox: %v", err)
		}
	}
}

// invalidKeys are refused before any path is made from them.
func invalidKeys() []mapping.Key {
	return []mapping.Key{
		{Thread: "../x"}, {Thread: ".."}, {Thread: "a/b"}, {Thread: "/abs"}, {Thread: "a\n"}, {Thread: "a\x00b"},
		{Thread: "a:b"}, {Thread: "a b"}, {Thread: "é"}, {Thread: strings.Repeat("x", mapping.MaxIDLength+1)},
		{User: "../x", Thread: "t"}, {User: "a\n", Thread: "t"}, {User: strings.Repeat("x", mapping.MaxIDLength+1), Thread: "t"},
	}
}

func invalidKey(s *suite) {
	p := s.provider()
	before, known := s.traces()
	for _, k := range invalidKeys() {
		id, err := p.Acquire(s.ctx, k)
		s.wantKind(err, "acquire an invalid key", provider.Invalid)
		if id != "" {
			s.Errorf("acquire of the invalid key %+v returned the id %q", k, id)
		}
		if stopper, ok := p.(provider.Stopper); ok {
			s.wantKind(stopper.Stop(s.ctx, k), "stop an invalid key", provider.Invalid)
		}
	}
	if known {
		if after, _ := s.traces(); !slices.Equal(before, after) {
			s.Errorf("invalid keys changed the host: before %q, after %q", before, after)
		}
	}
}

func unknownID(s *suite) {
	p := s.provider()
	for _, id := range []string{"", "nothing", "lc-" + s.run + "-never", "../x", "local:lc-" + s.run, "a\nb", strings.Repeat("x", 5000)} {
		sb, err := p.Get(id)
		s.wantKind(err, "get an unknown id", provider.NotFound)
		if err == nil || sb != nil {
			s.Errorf("get %.40q returned a sandbox", id)
		}
	}
}

// callers is how many acquire at once: more than a machine has cores.
const callers = 8

func concurrentAcquire(s *suite) {
	programs := []provider.Provider{s.provider(), s.provider()}
	k := s.key(programs[0], "", "t")
	ids := make([]string, callers*len(programs))
	errs := make([]error, len(ids))
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			<-begin
			ids[i], errs[i] = programs[i%len(programs)].Acquire(s.ctx, k)
		})
	}
	close(begin)
	wg.Wait()
	for i, id := range ids {
		if errs[i] != nil {
			s.Fatalf("one of %d callers at once: %v", len(ids), errs[i])
		}
		if id != ids[0] {
			s.Fatalf("callers at once got the ids %q and %q", ids[0], id)
		}
	}
	s.write(s.live(programs[0], k), "one")
	s.wantNote(s.live(programs[1], k), "one")
	if l, ok := programs[0].(provider.Lister); ok {
		if n := count(s.infos(l), k); n != 1 {
			s.Errorf("%d sandboxes of one key are listed after %d callers, want 1", n, len(ids))
		}
	}
}

func concurrentThreads(s *suite) {
	p := s.provider()
	sandboxes := make([]provider.Sandbox, callers)
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		k := s.key(p, "", string(rune('a'+i)))
		wg.Go(func() {
			id, err := p.Acquire(s.ctx, k)
			if err == nil {
				sandboxes[i], err = p.Get(id)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for i, sb := range sandboxes {
		if errs[i] != nil {
			s.Fatalf("one of %d threads acquired at once: %v", callers, errs[i])
		}
		if seen[sb.ID()] {
			s.Fatalf("two threads acquired at once have one id %q", sb.ID())
		}
		seen[sb.ID()] = true
		s.wantNoNote(sb)
		s.write(sb, sb.ID())
	}
	for _, sb := range sandboxes {
		s.wantNote(sb, sb.ID())
	}
}

func anotherProgram(s *suite) {
	a, b := s.provider(), s.provider()
	k := s.key(a, "", "t")
	first := s.live(a, k)
	s.write(first, "from a")
	_, err := b.Get(first.ID())
	s.wantKind(err, "get what only another program acquired", provider.NotFound)
	second := s.live(b, k)
	if second.ID() != first.ID() {
		s.Errorf("two programs have the ids %q and %q for one key", first.ID(), second.ID())
	}
	s.wantNote(second, "from a")
}

func anotherProcess(s *suite) {
	if s.options.AcquireElsewhere == nil {
		s.lacks("the provider's test gives no way to acquire in another process")
	}
	p := s.provider()
	k := s.key(p, "", "t")
	type answer struct {
		id  string
		err error
	}
	elsewhere := make(chan answer, 1)
	go func() {
		id, err := s.options.AcquireElsewhere(s.ctx, k)
		elsewhere <- answer{id, err}
	}()
	here := s.live(p, k)
	s.write(here, "here")
	got := <-elsewhere
	if got.err != nil {
		s.Fatalf("acquire in another process: %v", got.err)
	}
	if got.id != here.ID() {
		s.Errorf("another process has the id %q, this one %q", got.id, here.ID())
	}
	s.wantNote(s.live(p, k), "here")
	if l, ok := p.(provider.Lister); ok {
		if n := count(s.infos(l), k); n != 1 {
			s.Errorf("%d sandboxes of one key are listed after two processes, want 1", n)
		}
	}
}

func cancelledContext(s *suite) {
	p := s.provider()
	k := s.key(p, "", "t")
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err := p.Acquire(ctx, k)
	s.wantKind(err, "acquire with a cancelled context", provider.Timeout, provider.Unavailable)
	if l, ok := p.(provider.Lister); ok && count(s.infos(l), k) != 0 {
		s.Error("a sandbox was made although the context was cancelled before")
	}
	// Given up on in the middle, it must not stand in the way of the next.
	ctx, cancel = context.WithCancel(s.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := p.Acquire(ctx, k)
		done <- err
	}()
	cancel()
	if err := <-done; err != nil {
		s.wantKind(err, "acquire that is cancelled on its way", provider.Timeout, provider.Unavailable)
	}
	s.write(s.live(p, k), "after all")
}
