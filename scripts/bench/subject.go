package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// The names of the subjects, as the tables show them.
const (
	plainBash    = "plain `bash -c 'echo hi'`"
	libraryLive  = "the same in a live sandbox, by the library"
	cliLive      = "the same in a live sandbox, by the command line"
	coldLibrary  = "cold start to first output, by the library"
	coldCLI      = "cold start to first output, by the command line"
	bubblewrap   = "bubblewrap, comparable mounts"
	emptyProgram = "an empty Go program"
	daemonStart  = "sandboxfsd (its verb version)"
)

// A subject is something measured once a round.
type subject struct {
	name string
	run  func(context.Context) error
	// after is not part of the time; may be nil.
	after func(context.Context) error
}

// warmUps are rounds that are not counted.
const warmUps = 3

// measure lets the subjects take turns, beginning each round with another,
// and returns their times, sorted.
func measure(ctx context.Context, subjects []subject, rounds int, progress io.Writer) (map[string][]time.Duration, error) {
	times := map[string][]time.Duration{}
	for round := range warmUps + rounds {
		for i := range subjects {
			s := subjects[(round+i)%len(subjects)]
			began := time.Now()
			err := s.run(ctx)
			took := time.Since(began)
			if err == nil && s.after != nil {
				err = s.after(ctx)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			if round >= warmUps {
				times[s.name] = append(times[s.name], took)
			}
		}
		fmt.Fprintf(progress, "\rround %d of %d ", round+1, warmUps+rounds)
	}
	fmt.Fprintln(progress)
	for _, t := range times {
		slices.Sort(t)
	}
	return times, nil
}
