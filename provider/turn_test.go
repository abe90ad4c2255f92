package provider

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/mapping"
)

var threadT = mapping.Key{Thread: "t"}

func TestTurnIsLazyUnlessEager(t *testing.T) {
	for _, eager := range []bool{false, true} {
		p := &fakeProvider{}
		turn := NewTurn(p, threadT, TurnOptions{Eager: eager})
		if err := turn.Before(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := int32(0)
		if eager {
			want = 1
		}
		if p.acquired.Load() != want {
			t.Errorf("eager %v: Before acquired %d times, want %d", eager, p.acquired.Load(), want)
		}
		s, err := turn.Ensure(t.Context())
		if err != nil || s.ID() != "t" || turn.ID() != "t" {
			t.Errorf("eager %v: Ensure = %v, %v, id %q", eager, s, err, turn.ID())
		}
		if p.acquired.Load() != 1 {
			t.Errorf("eager %v: acquired %d times, want 1", eager, p.acquired.Load())
		}
	}
}

func TestTurnUsesAStoredIDThatIsKnown(t *testing.T) {
	p := &fakeProvider{}
	id, _ := p.Acquire(t.Context(), threadT)
	if _, err := NewTurn(p, threadT, TurnOptions{StoredID: id}).Ensure(t.Context()); err != nil || p.acquired.Load() != 1 {
		t.Errorf("Ensure: %v, acquired %d times; want the stored one", err, p.acquired.Load())
	}
}

func TestTurnSurvivesALostID(t *testing.T) {
	p := &fakeProvider{}
	turn := NewTurn(p, threadT, TurnOptions{StoredID: "from another process"})
	if _, err := turn.Ensure(t.Context()); err != nil || turn.ID() != "t" {
		t.Fatalf("Ensure with an unknown id: %v, id %q", err, turn.ID())
	}
	p.forget()
	if _, err := turn.Ensure(t.Context()); err != nil || p.acquired.Load() != 2 {
		t.Errorf("Ensure after the provider forgot: %v, acquired %d times", err, p.acquired.Load())
	}
}

func TestTurnAcquiresOnce(t *testing.T) {
	const callers = 20
	inside := make(chan struct{}, callers)
	release := make(chan struct{})
	p := &fakeProvider{acquire: func(context.Context, mapping.Key) (string, error) {
		inside <- struct{}{}
		<-release
		return "t", nil
	}}
	turn := NewTurn(p, threadT, TurnOptions{})
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			if _, err := turn.Ensure(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	<-inside
	close(release)
	wg.Wait()
	if n := p.acquired.Load(); n != 1 {
		t.Errorf("acquired %d times, want 1", n)
	}
}

func TestTurnWaiterCanGiveUp(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	p := &fakeProvider{acquire: func(context.Context, mapping.Key) (string, error) {
		close(inside)
		<-release
		return "t", nil
	}}
	turn := NewTurn(p, threadT, TurnOptions{})
	done := make(chan error, 1)
	go func() {
		_, err := turn.Ensure(context.WithoutCancel(t.Context()))
		done <- err
	}()
	<-inside
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := turn.Ensure(ctx); !errors.Is(err, Timeout) {
		t.Errorf("a waiter with an ended context: %v, want timeout", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTurnRefusesTwoIDs(t *testing.T) {
	turn := NewTurn(&fakeProvider{}, threadT, TurnOptions{StoredID: "a"})
	if err := turn.Adopt("b"); !errors.Is(err, Conflict) {
		t.Errorf("Adopt of another id: %v, want conflict", err)
	}
	if err := errors.Join(turn.Adopt("a"), turn.Adopt("")); err != nil || turn.ID() != "a" {
		t.Errorf("Adopt of the same and of none: %v, id %q", err, turn.ID())
	}
	turn = NewTurn(&fakeProvider{}, threadT, TurnOptions{})
	if err := turn.Adopt("b"); err != nil || turn.ID() != "b" {
		t.Errorf("Adopt into an empty turn: %v, id %q", err, turn.ID())
	}

	// An id that is adopted while another is being acquired.
	p := &fakeProvider{}
	turn = NewTurn(p, threadT, TurnOptions{})
	p.acquire = func(context.Context, mapping.Key) (string, error) { return "mine", turn.Adopt("theirs") }
	if _, err := turn.Ensure(t.Context()); !errors.Is(err, Conflict) {
		t.Errorf("Ensure beside an Adopt of another id: %v, want conflict", err)
	}
}

func TestMergeIDs(t *testing.T) {
	for _, c := range []struct{ current, update, want string }{{"", "", ""}, {"a", "", "a"}, {"", "a", "a"}, {"a", "a", "a"}} {
		if got, err := MergeIDs(c.current, c.update); err != nil || got != c.want {
			t.Errorf("MergeIDs(%q, %q) = %q, %v; want %q", c.current, c.update, got, err, c.want)
		}
	}
	if _, err := MergeIDs("a", "b"); !errors.Is(err, Conflict) {
		t.Errorf("MergeIDs of two: %v, want conflict", err)
	}
}

func TestTurnReleasesOnceAndNothingThatIsNotItsOwn(t *testing.T) {
	p := &fakeProvider{}
	turn := NewTurn(p, threadT, TurnOptions{})
	if err := turn.After(t.Context()); err != nil || p.released.Load() != 0 {
		t.Errorf("After of an unused turn: %v, released %d", err, p.released.Load())
	}
	if _, err := turn.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := turn.After(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if p.released.Load() != 1 || turn.ID() != "t" {
		t.Errorf("released %d times, id %q; want 1, and the id for the next turn", p.released.Load(), turn.ID())
	}
	if _, err := turn.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := turn.After(t.Context()); err != nil || p.released.Load() != 2 {
		t.Errorf("used again and released: %v, %d times", err, p.released.Load())
	}

	borrowed := NewTurn(p, threadT, TurnOptions{StoredID: "t", Borrowed: true})
	if _, err := borrowed.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := borrowed.After(t.Context()); err != nil || p.released.Load() != 2 {
		t.Errorf("After of a borrowed one: %v, released %d times", err, p.released.Load())
	}
}

func TestTurnPassesErrorsOn(t *testing.T) {
	p := &fakeProvider{acquire: func(context.Context, mapping.Key) (string, error) {
		return "", &Error{Kind: Unavailable, Op: "acquire"}
	}}
	turn := NewTurn(p, threadT, TurnOptions{Eager: true})
	if err := turn.Before(t.Context()); !errors.Is(err, Unavailable) || turn.ID() != "" {
		t.Errorf("Before: %v, id %q", err, turn.ID())
	}
	p.acquire = nil
	if _, err := turn.Ensure(t.Context()); err != nil {
		t.Errorf("Ensure after a failure: %v", err)
	}
}
