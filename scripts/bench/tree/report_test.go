package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/scripts/bench/record"
)

// every is a time for each round.
func every(milliseconds ...int) (t []time.Duration) {
	for _, n := range milliseconds {
		t = append(t, time.Duration(n)*time.Millisecond)
	}
	return t
}

func TestRatio(t *testing.T) {
	took := times{rowRead: {plain: every(10, 20, 40), oursSandbox: every(20, 20, 20), peerBindfs: every(30)}}
	for subject, want := range map[string]ratios{
		oursSandbox: {1, 0.5, 2},
		peerBindfs:  {1.5, 3, 3}, // of one round, beside the median of all
		plain:       {1, 1, 1},
	} {
		if got, ok := took.ratio(rowRead, subject); !ok || got != want {
			t.Errorf("%s: want %v, got %v, %v", subject, want, got, ok)
		}
	}
	if _, ok := took.ratio(rowRead, oursMount); ok {
		t.Error("a subject that was not measured has a ratio")
	}
	if _, ok := took.ratio(rowWrite, plain); ok {
		t.Error("a row that was not measured has a ratio")
	}
}

// A row whose rounds disagree about the target says so.
func TestUnsure(t *testing.T) {
	r := example()
	r.rounds = 3
	r.times[rowRead] = map[string][]time.Duration{plain: every(10, 10, 10), oursSandbox: every(9, 10, 12)}
	if text := r.markdown(); !strings.Contains(text, "| 1 | met? |") || !strings.Contains(text, "(1 not decided") {
		t.Errorf("got\n%s", text)
	}
}

func TestMet(t *testing.T) {
	for _, c := range []struct {
		ratio, goal float64
		want        bool
	}{{1, 1, true}, {1.004, 1, true}, {1.006, 1, false}, {0.5, 1, true}, {10, 8.5, false}, {2.3, 2.3, true}} {
		if got := met(c.ratio, c.goal); got != c.want {
			t.Errorf("%v of %v: want %v, got %v", c.ratio, c.goal, c.want, got)
		}
	}
}

func example() result {
	return result{
		findings: findings{rounds: 1, times: times{
			rowRead:   {plain: every(10), oursSandbox: every(10), oursMount: every(30), peerBindfs: every(60), peerLoopback: every(9)},
			rowWrite:  {plain: every(10), oursSandbox: every(20), oursMount: every(10), peerBindfs: every(60), peerLoopback: every(25)},
			rowUnlink: {plain: every(10), oursSandbox: every(20), oursMount: every(20), peerBindfs: every(20)},
			rowBuild:  {plain: every(100), oursMount: every(100), peerBindfs: every(100)},
			rowOpen:   {oursSandbox: every(1)},
		}, missing: []gap{{oursSandbox, rowBuild, "go not found"}}},
		subjects: []string{plain, oursSandbox, oursMount, peerBindfs, peerLoopback},
		leftOut:  map[string]string{peerOverlayfs: "not installed"},
		search:   "rg", backing: "ext4",
	}
}

func TestMarkdown(t *testing.T) {
	text := example().markdown()
	for _, want := range []string{
		"| workload | plain ms | sandbox | mount | bindfs | loopback | target | | best peer | to it |\n|---|--:|--:|--:|--:|--:|--:|---|---|--:|\n",
		"| sequential read | 10 (10-10) | 1.00 (1.00-1.00) | 3.00 (3.00-3.00) | 6.00 (6.00-6.00) | 0.90 (0.90-0.90) | 1 | met | loopback 0.90 | 1.11 |\n",
		"| sequential write | 10 (10-10) | 2.00 (2.00-2.00) | 1.00 (1.00-1.00) | 6.00 (6.00-6.00) | 2.50 (2.50-2.50) | 1.1 | **missed** | loopback 2.50 | 0.80 |\n",
		"| unlink | 10 (10-10) | 2.00 (2.00-2.00) | 2.00 (2.00-2.00) | 2.00 (2.00-2.00) | - | | | bindfs 2.00 | 1.00 |\n",
		"| go build | 100 (100-100) | - | 1.00 (1.00-1.00) | 1.00 (1.00-1.00) | - | 1.05 | | | |\n",
		"Of *sandbox*, targets met: 1 of 2 (0 not decided by every round: ?); at least as quick as every peer: 2 of 3 rows.\n",
		"- fuse-overlayfs is left out: not installed\n",
		"- sandbox has no number for go build: go not found\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "| "+rowOpen) {
		t.Errorf("a row without a plain time is shown:\n%s", text)
	}
}

// An ordinary user has targets of his own, and the mount to be judged by.
func TestMarkdownOfAnOrdinaryUser(t *testing.T) {
	r := example()
	r.machine = record.Machine{UID: 1000}
	r.subjects = slices.DeleteFunc(r.subjects, func(s string) bool { return s == oursSandbox })
	text := r.markdown()
	for _, want := range []string{
		"| 3.00 (3.00-3.00) | 6.00 (6.00-6.00) | 0.90 (0.90-0.90) | 1.5 | **missed** | loopback 0.90 | 3.33 |",
		"| 1.00 (1.00-1.00) | 6.00 (6.00-6.00) | 2.50 (2.50-2.50) | 3 | met | loopback 2.50 | 0.40 |",
		"Of *mount*, targets met: 2 of 3 (0 not",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in:\n%s", want, text)
		}
	}
}

// With the plain directory alone there is a table, and nothing to judge.
func TestMarkdownWithoutOthers(t *testing.T) {
	r := example()
	r.subjects = []string{plain}
	if text := r.markdown(); !strings.Contains(text, "| sequential read | 10 (10-10) | 1 | | | |\n") || strings.Contains(text, "targets met") {
		t.Errorf("got:\n%s", text)
	}
}

// Each row is measured by one group and stands in the table once.
func TestEveryRowHasAPlace(t *testing.T) {
	measured := map[string]int{}
	for _, g := range groups() {
		for _, row := range g.rows {
			measured[row]++
		}
	}
	for _, target := range targets() {
		if measured[target.row] != 1 {
			t.Errorf("%s is measured by %d groups", target.row, measured[target.row])
		}
		delete(measured, target.row)
	}
	for row := range measured {
		t.Errorf("%s is not in the table", row)
	}
}
