package lifecycle

import (
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

func getAfterRelease(s *suite) {
	p := s.provider()
	k := s.key(p, "", "t")
	sb := s.live(p, k)
	s.write(sb, "kept")
	if err := p.Release(s.ctx, sb.ID()); err != nil {
		s.Fatalf("release: %v", err)
	}
	// A parked sandbox may or may not be known still; nothing else.
	if again, err := p.Get(sb.ID()); err == nil {
		s.wantNote(again, "kept")
	} else {
		s.wantKind(err, "get after release", provider.NotFound)
	}
	again := s.live(p, k)
	if again.ID() != sb.ID() {
		s.Errorf("acquired again after a release the id is %q, before %q", again.ID(), sb.ID())
	}
	s.wantNote(again, "kept")
}

func releaseIsIdempotent(s *suite) {
	p := s.provider()
	k := s.key(p, "", "t")
	id := s.acquire(p, k)
	for range 2 {
		if err := p.Release(s.ctx, id); err != nil {
			s.Errorf("release %q: %v", id, err)
		}
	}
	if stopper, ok := p.(provider.Stopper); ok {
		if err := stopper.Stop(s.ctx, k); err != nil {
			s.Fatalf("stop: %v", err)
		}
		if err := p.Release(s.ctx, id); err != nil {
			s.Errorf("release of one that is gone: %v", err)
		}
	}
}

func stopThenAcquire(s *suite) {
	p := s.provider()
	stopper, ok := p.(provider.Stopper)
	if !ok {
		s.lacks("the provider is no provider.Stopper")
	}
	k := s.key(p, "", "t")
	sb := s.live(p, k)
	s.write(sb, "kept")
	if err := stopper.Stop(s.ctx, k); err != nil {
		s.Fatalf("stop: %v", err)
	}
	if _, err := sb.ReadFile(s.ctx, note, provider.LineRange{}); err != nil {
		// A handle may bring its sandbox back, or say that it is gone.
		s.wantKind(err, "use of a stopped sandbox", provider.Unavailable, provider.NotFound, provider.Timeout)
	}
	s.wantNote(s.live(p, k), "kept")
}

func stopIsIdempotent(s *suite) {
	p := s.provider()
	stopper, ok := p.(provider.Stopper)
	if !ok {
		s.lacks("the provider is no provider.Stopper")
	}
	k, other := s.key(p, "", "t"), s.key(p, "", "other")
	if err := stopper.Stop(s.ctx, k); err != nil {
		s.Errorf("stop of one that never was: %v", err)
	}
	s.acquire(p, k)
	bystander := s.live(p, other)
	s.write(bystander, "unharmed")
	for range 2 {
		if err := stopper.Stop(s.ctx, k); err != nil {
			s.Errorf("stop: %v", err)
		}
	}
	s.wantNote(bystander, "unharmed")
}

// rounds is how often stop and acquire meet: a race that is lost one time in
// ten is seen most times.
const rounds = 10

func stopDuringAcquire(s *suite) {
	programs := []provider.Provider{s.provider(), s.provider()}
	stopper, ok := programs[1].(provider.Stopper)
	if !ok {
		s.lacks("the provider is no provider.Stopper")
	}
	k := s.key(programs[0], "", "t")
	s.write(s.live(programs[0], k), "kept")
	for range rounds {
		acquired := make(chan error, 1)
		go func() {
			_, err := programs[0].Acquire(s.ctx, k)
			acquired <- err
		}()
		stopErr := stopper.Stop(s.ctx, k)
		if err := <-acquired; err != nil {
			s.wantKind(err, "acquire while another program stops it", provider.Unavailable, provider.Conflict)
		}
		if stopErr != nil {
			s.wantKind(stopErr, "stop while another program acquires it", provider.Unavailable, provider.Conflict)
		}
	}
	s.wantNote(s.live(programs[0], k), "kept")
}

// count returns how many of the listed sandboxes are a key's.
func count(infos []provider.Info, k mapping.Key) int {
	k = k.Normalize()
	n := 0
	for _, info := range infos {
		if info.User == k.User && info.Thread == k.Thread && info.State != "dead" {
			n++
		}
	}
	return n
}

func list(s *suite) {
	p := s.provider()
	l, ok := p.(provider.Lister)
	if !ok {
		s.lacks("the provider is no provider.Lister")
	}
	k := s.key(p, "alice", "t")
	if n := count(s.infos(l), k); n != 0 {
		s.Errorf("%d sandboxes are listed before there is one", n)
	}
	id := s.acquire(p, k)
	infos := s.infos(l)
	if n := count(infos, k); n != 1 {
		s.Fatalf("the sandbox is listed %d times, want once: %+v", n, infos)
	}
	for _, info := range infos {
		if info.Thread != k.Thread {
			continue
		}
		if info.ID != id || info.Provider == "" || info.State != "idle" && info.State != "running" {
			s.Errorf("listed as %+v; want the id %q, a provider's name and the state idle or running", info, id)
		}
	}
	if other, ok := s.provider().(provider.Lister); ok && count(s.infos(other), k) != 1 {
		s.Error("another program does not list it once")
	}
	if stopper, ok := p.(provider.Stopper); ok {
		if err := stopper.Stop(s.ctx, k); err != nil {
			s.Fatalf("stop: %v", err)
		}
		if n := count(s.infos(l), k); n != 0 {
			s.Errorf("a stopped sandbox is listed %d times", n)
		}
	}
}

func reset(s *suite) {
	p := s.provider()
	r, ok := p.(provider.Resetter)
	if !ok {
		s.lacks("the provider is no provider.Resetter")
	}
	k := s.key(p, "", "t")
	sb := s.live(p, k)
	s.write(sb, "kept")
	for range 2 {
		if err := r.Reset(s.ctx); err != nil {
			s.Fatalf("reset: %v", err)
		}
	}
	_, err := p.Get(sb.ID())
	s.wantKind(err, "get after a reset, which forgets the handles", provider.NotFound)
	again := s.live(p, k)
	if again.ID() != sb.ID() {
		s.Errorf("after a reset the id is %q, before %q", again.ID(), sb.ID())
	}
	s.wantNote(again, "kept")
}

func shutdown(s *suite) {
	// Not s.provider, since that shuts it down once more.
	p := s.options.New(s.TB)
	sd, ok := p.(provider.Shutdowner)
	if !ok {
		s.lacks("the provider is no provider.Shutdowner")
	}
	keeper := s.provider()
	k := s.key(keeper, "", "t")
	s.write(s.live(p, k), "kept")
	for range 2 {
		if err := sd.Shutdown(s.ctx); err != nil {
			s.Fatalf("shutdown: %v", err)
		}
	}
	s.wantNote(s.live(keeper, k), "kept")
}

func crash(s *suite) {
	if s.options.Crash == nil {
		s.lacks("the provider's test gives no way to crash a sandbox")
	}
	p := s.provider()
	k := s.key(p, "", "t")
	sb := s.live(p, k)
	s.write(sb, "kept")
	if err := s.options.Crash(s.ctx, k); err != nil {
		s.Fatalf("Options.Crash: %v", err)
	}
	again := s.live(p, k)
	s.wantNote(again, "kept")
	if l, ok := p.(provider.Lister); ok {
		if n := count(s.infos(l), k); n != 1 {
			s.Errorf("%d live sandboxes are listed after a crash and an acquire, want 1", n)
		}
	}
}

func turn(s *suite) {
	p := s.provider()
	k := s.key(p, "", "t")
	first := provider.NewTurn(p, k, provider.TurnOptions{Eager: true})
	if err := first.Before(s.ctx); err != nil {
		s.Fatalf("before: %v", err)
	}
	sb, err := first.Ensure(s.ctx)
	if err != nil {
		s.Fatalf("ensure: %v", err)
	}
	s.write(sb, "kept")
	if err := first.After(s.ctx); err != nil {
		s.Fatalf("after: %v", err)
	}
	// The next turn is another program's, which knows only the stored id.
	next := provider.NewTurn(s.provider(), k, provider.TurnOptions{StoredID: first.ID()})
	sb, err = next.Ensure(s.ctx)
	if err != nil {
		s.Fatalf("ensure in another program with the stored id: %v", err)
	}
	s.wantNote(sb, "kept")
	if next.ID() != first.ID() {
		s.Errorf("the next turn has the id %q, the first %q", next.ID(), first.ID())
	}
}
