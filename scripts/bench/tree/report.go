package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/scripts/bench/record"
)

// result is all of one run.
type result struct {
	findings
	began                 time.Time
	took                  time.Duration
	machine               record.Machine
	loadBefore, loadAfter string
	backing               string // filesystem
	passthrough           string
	subjects              []string // that took part
	leftOut               map[string]string
	warmUps               int
	sizes                 sizes
	search                string // program
}

// ratios of a subject to plain: that of the medians, and the lowest and the
// highest of a round.
type ratios struct{ median, low, high float64 }

func (t times) ratio(row, subject string) (r ratios, ok bool) {
	base, own := t[row][plain], t[row][subject]
	n := min(len(base), len(own))
	if n == 0 {
		return r, false
	}
	each := make([]float64, n)
	for i := range n {
		each[i] = over(own[i], base[i])
	}
	return ratios{over(middle(own), middle(base)), slices.Min(each), slices.Max(each)}, true
}

func middle(t []time.Duration) time.Duration { return record.Median(slices.Sorted(slices.Values(t))) }

func over(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

// primary is the subject that the targets are for: what a command sees, or
// where that cannot be measured the mount; empty where there is neither.
func (r result) primary() string {
	for _, name := range []string{oursSandbox, oursMount} {
		if slices.Contains(r.subjects, name) {
			return name
		}
	}
	return ""
}

// goal is the target of a row for the user who ran it, 0: none.
func (r result) goal(t target) float64 {
	if r.machine.UID == 0 {
		return t.root
	}
	return t.user
}

// bestPeer returns the quickest of the others in a row.
func (r result) bestPeer(row string) (name string, best float64) {
	for _, s := range r.subjects {
		if s == plain || ours(s) {
			continue
		}
		if x, ok := r.times.ratio(row, s); ok && (name == "" || x.median < best) {
			name, best = s, x.median
		}
	}
	return name, best
}

// tally counts what the summary says.
type tally struct{ targets, met, unsure, compared, best int }

// met compares what the table shows, so that no row reads "2.00 of 2.00
// missed".
func met(ratio, goal float64) bool { return math.Round(ratio*100) <= math.Round(goal*100) }

func (r result) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Filesystems, %s, %s\n\n", r.began.UTC().Format("2006-01-02"), r.machine.Version)
	fmt.Fprintf(&b, "%s; on %s. Load %s before and %s after; it took %s. %d rounds after %d to warm up.\n",
		r.machine, r.backing, r.loadBefore, r.loadAfter, r.took.Round(time.Second), r.rounds, r.warmUps)
	z := r.sizes
	fmt.Fprintf(&b, "A file of %d MiB, a tree of %d files in %d directories, a repository and an archive of %d files, %d small files, %d transactions; `%s` searches.",
		z.Big/block, z.Files, z.Dirs, z.Repository, z.Small, z.Syncs, r.search)
	if r.passthrough != "" {
		fmt.Fprintf(&b, " Passthrough in the sandbox: %s.", r.passthrough)
	}
	b.WriteString("\n\n")
	count := r.table(&b)
	r.summary(&b, count)
	return b.String()
}

func (r result) table(b *strings.Builder) (count tally) {
	b.WriteString("| workload | plain ms |")
	rule := "\n|---|--:|"
	for _, s := range r.subjects {
		if s != plain {
			fmt.Fprintf(b, " %s |", s)
			rule += "--:|"
		}
	}
	b.WriteString(" target | | best peer | to it |" + rule + "--:|---|---|--:|\n")
	for _, t := range targets() {
		base := r.times[t.row][plain]
		if len(base) == 0 {
			continue
		}
		fmt.Fprintf(b, "| %s | %s (%s-%s) |", t.row, ms(middle(base)), ms(slices.Min(base)), ms(slices.Max(base)))
		for _, s := range r.subjects {
			if s != plain {
				fmt.Fprintf(b, " %s |", r.times.cell(t.row, s))
			}
		}
		r.judge(b, t, &count)
	}
	return count
}

func (t times) cell(row, subject string) string {
	x, ok := t.ratio(row, subject)
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.2f (%.2f-%.2f)", x.median, x.low, x.high)
}

// judge writes the last cells of a row.
func (r result) judge(b *strings.Builder, t target, count *tally) {
	goal := r.goal(t)
	mine, ok := r.times.ratio(t.row, r.primary())
	name, best := r.bestPeer(t.row)
	switch {
	case goal == 0:
		b.WriteString(" | |")
	case !ok:
		fmt.Fprintf(b, " %g | |", goal)
	default:
		count.targets++
		verdict := "**missed**"
		if met(mine.median, goal) {
			count.met++
			verdict = "met"
		}
		if met(mine.low, goal) != met(mine.high, goal) {
			count.unsure++
			verdict += "?"
		}
		fmt.Fprintf(b, " %g | %s |", goal, verdict)
	}
	if name == "" || !ok {
		b.WriteString(" | |\n")
		return
	}
	count.compared++
	if met(mine.median, best) {
		count.best++
	}
	fmt.Fprintf(b, " %s %.2f | %.2f |\n", name, best, mine.median/best)
}

func (r result) summary(b *strings.Builder, count tally) {
	b.WriteString("\n")
	if p := r.primary(); p != "" {
		fmt.Fprintf(b, "Of *%s*, targets met: %d of %d (%d not decided by every round: ?); at least as quick as every peer: %d of %d rows.\n", p, count.met, count.targets, count.unsure, count.best, count.compared)
	}
	for _, name := range order() {
		if reason, ok := r.leftOut[name]; ok {
			fmt.Fprintf(b, "- %s is left out: %s\n", name, reason)
		}
	}
	for _, m := range r.missing {
		fmt.Fprintf(b, "- %s has no number for %s: %s\n", m.subject, m.what, m.reason)
	}
}

func ms(d time.Duration) string {
	x := float64(d) / float64(time.Millisecond)
	if x < 10 {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
