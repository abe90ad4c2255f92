package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestMeasureTakesTurns(t *testing.T) {
	var order []string
	named := func(name string) subject {
		return subject{name: name, run: func(context.Context) error { order = append(order, name); return nil }}
	}
	const rounds = 4
	times, err := measure(t.Context(), []subject{named("a"), named("b")}, rounds, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if got := len(times[name]); got != rounds {
			t.Errorf("%s: want %d times, got %d", name, rounds, got)
		}
	}
	if want, got := "ab ba ab ba", order[0]+order[1]+" "+order[2]+order[3]+" "+order[4]+order[5]+" "+order[6]+order[7]; got != want {
		t.Errorf("want the order %q, got %q", want, got)
	}
}

func TestMeasureStopsAtAFailure(t *testing.T) {
	bad := errors.New("bad")
	_, err := measure(t.Context(), []subject{{name: "x", run: func(context.Context) error { return bad }}}, 1, io.Discard)
	if !errors.Is(err, bad) {
		t.Errorf("want %v, got %v", bad, err)
	}
}

func TestMarkdown(t *testing.T) {
	r := result{
		times: map[string][]time.Duration{
			plainBash: {2 * time.Millisecond}, libraryLive: {3 * time.Millisecond}, cliLive: {20 * time.Millisecond},
			coldLibrary: {10 * time.Millisecond}, emptyProgram: {time.Millisecond}, daemonStart: {5 * time.Millisecond},
		},
		memory: idle{keeper: 5 * mib, guest: 4 * mib, slots: 1, slotBytes: mib},
	}
	text := r.markdown()
	for _, want := range []string{
		"| " + libraryLive + " | 2 x plain | 1.5 x | kept |",
		"| " + cliLive + " | 8 x plain | 10.0 x | **missed** |",
		"| 3.00 ms | 4.00 ms | **missed** |",
		"| 12 MiB | 10.0 MiB | kept |",
		bubblewrap + " | not installed",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in:\n%s", want, text)
		}
	}
}
