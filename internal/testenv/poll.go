package testenv

import (
	"testing"
	"time"
)

// pollInterval is how often a condition without an event of its own is looked
// at: short beside any deadline, long beside the look itself.
const pollInterval = 10 * time.Millisecond

// Poll waits until done returns true and fails the test at the deadline. What
// completes the sentence "timed out waiting for". It is for state that offers
// no event to wait for, such as a process that another program ends.
func Poll(t testing.TB, deadline time.Duration, what string, done func() bool) {
	t.Helper()
	if !poll(deadline, done) {
		t.Fatalf("timed out after %v waiting for %s", deadline, what)
	}
}

func poll(deadline time.Duration, done func() bool) bool {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	end := time.Now().Add(deadline)
	for {
		if done() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		<-tick.C
	}
}
