package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func twoByTwo() plan {
	return plan{
		groups:   []group{{"g", []string{rowRead}, dropNothing}, {"h", []string{rowWrite}, dropNothing}},
		subjects: []subject{{name: "a"}, {name: "b"}},
		rounds:   2, began: time.Now(), progress: io.Discard,
	}
}

// takes is an outcome for all rows of a group.
func takes(g group, d time.Duration) outcome {
	out := outcome{Times: map[string]time.Duration{}}
	for _, row := range g.rows {
		out.Times[row] = d
	}
	return out
}

func TestMeasureTakesTurns(t *testing.T) {
	var order []string
	p := twoByTwo()
	p.warmUps = 1
	f, err := p.measure(t.Context(), func(_ context.Context, s subject, g group) (outcome, error) {
		order = append(order, g.name+s.name)
		return takes(g, time.Duration(len(order))), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(order, " "), "ga gb hb ha gb ga ha hb ga gb hb ha"; got != want {
		t.Errorf("want the order %q, got %q", want, got)
	}
	// The first round warms up: of it no time is kept.
	if got, want := f.times[rowRead]["a"], []time.Duration{6, 9}; !slices.Equal(got, want) || f.rounds != 2 {
		t.Errorf("want %v of 2 rounds, got %v of %d", want, got, f.rounds)
	}
}

// A subject that fails in a group is left out of that alone, for good, and
// keeps none of the times that it had.
func TestMeasureGoesOnAfterAFailure(t *testing.T) {
	calls := map[string]int{}
	f, err := twoByTwo().measure(t.Context(), func(_ context.Context, s subject, g group) (outcome, error) {
		calls[g.name+s.name]++
		if g.name == "g" && s.name == "b" && calls["gb"] == 2 {
			return outcome{}, errors.New("the server is gone")
		}
		return takes(g, 1), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := f.times[rowRead]["b"]; ok || len(f.times[rowRead]["a"]) != 2 || len(f.times[rowWrite]["b"]) != 2 {
		t.Errorf("got %v", f.times)
	}
	if want := []gap{{"b", rowRead, "the server is gone"}}; !slices.Equal(f.missing, want) {
		t.Errorf("want %v, got %v", want, f.missing)
	}
}

func TestMeasureNamesWhatIsMissingOnce(t *testing.T) {
	f, err := twoByTwo().measure(t.Context(), func(_ context.Context, _ subject, g group) (outcome, error) {
		return outcome{Missing: map[string]string{g.rows[0]: "no git"}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(f.missing, func(a, b gap) int { return strings.Compare(a.subject, b.subject) })
	both := rowRead + ", " + rowWrite
	if want := []gap{{"a", both, "no git"}, {"b", both, "no git"}}; !slices.Equal(f.missing, want) || len(f.times) != 0 {
		t.Errorf("want %v and no times, got %v, %v", want, f.missing, f.times)
	}
}

func TestMeasureStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err := twoByTwo().measure(ctx, func(_ context.Context, _ subject, g group) (outcome, error) {
		calls++
		cancel()
		return outcome{}, errors.New("killed")
	})
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("interrupted: got %v after %d calls", err, calls)
	}
}

// Each call takes ten seconds, so a round takes forty.
func TestMeasureKeepsToItsTime(t *testing.T) {
	for limit, want := range map[time.Duration]struct{ calls, rounds, gaps int }{
		0:                {8, 2, 0},
		85 * time.Second: {8, 2, 0},
		75 * time.Second: {4, 1, 0}, // a second round would end after eighty
		15 * time.Second: {2, 1, 1}, // the second group would begin after twenty
	} {
		synctest.Test(t, func(t *testing.T) {
			p, calls := twoByTwo(), 0
			p.limit, p.began = limit, time.Now()
			f, err := p.measure(t.Context(), func(_ context.Context, _ subject, g group) (outcome, error) {
				calls++
				time.Sleep(10 * time.Second) // of the test's own clock
				return takes(g, 1), nil
			})
			if err != nil || calls != want.calls || f.rounds != want.rounds || len(f.missing) != want.gaps {
				t.Errorf("%s: want %v, got %d calls, %d rounds, gaps %v, %v", limit, want, calls, f.rounds, f.missing, err)
			}
		})
	}
}

func TestFeasible(t *testing.T) {
	if got, missing := feasible(groups(), nil); len(got) != len(groups()) || len(missing) > 0 {
		t.Errorf("root lacks %v", missing)
	}
	got, missing := feasible(groups(), errors.New("only root"))
	if len(got) == len(groups()) || len(missing) != 1 || !strings.Contains(missing[0].what, rowFindCold) {
		t.Errorf("%d groups, %v", len(got), missing)
	}
	for _, g := range got {
		if g.drop != dropNothing {
			t.Errorf("%s is measured", g.name)
		}
	}
}
