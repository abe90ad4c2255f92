package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/scripts/bench/record"
)

// result is all of one run.
type result struct {
	began                 time.Time
	rounds                int
	times                 map[string][]time.Duration
	memory                idle
	isolation             map[string]string
	machine               record.Machine
	loadBefore, loadAfter string
}

// A budget is a row of the design: what may be at most how much.
type budget struct {
	subject, beside string
	ratio           float64       // times the other subject, or
	over            time.Duration // that much longer
}

func budgets() []budget {
	return []budget{
		{subject: libraryLive, beside: plainBash, ratio: 2},
		{subject: cliLive, beside: plainBash, ratio: 8},
		{subject: coldLibrary, beside: plainBash, ratio: 15},
		{subject: daemonStart, beside: emptyProgram, over: 3 * time.Millisecond},
	}
}

// memoryBudget is for an idle sandbox, in MiB.
const memoryBudget = 12

const mib = 1 << 20

// order is that of the table.
var order = [...]string{plainBash, libraryLive, cliLive, bubblewrap, coldLibrary, coldCLI, emptyProgram, daemonStart}

func (r result) markdown() string {
	var b strings.Builder
	m := r.machine
	fmt.Fprintf(&b, "## %s, %s\n\n", r.began.UTC().Format("2006-01-02"), m.Version)
	fmt.Fprintf(&b, "%s. Load %s before and %s after. %d rounds after %d to warm up.\n", m, r.loadBefore, r.loadAfter, r.rounds, warmUps)
	fmt.Fprintf(&b, "Isolation: %s.\n\n", pairs(r.isolation))

	b.WriteString("| what | median ms | 10-90 % | x plain |\n|---|--:|--:|--:|\n")
	plain := record.Median(r.times[plainBash])
	for _, name := range order {
		t, ok := r.times[name]
		if !ok {
			fmt.Fprintf(&b, "| %s | not installed | | |\n", name)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s-%s | %.1f |\n", name, ms(record.Median(t)), ms(record.Quantile(t, 0.1)), ms(record.Quantile(t, 0.9)), ratio(record.Median(t), plain))
	}

	b.WriteString("\n| budget | at most | measured | |\n|---|--:|--:|---|\n")
	for _, w := range budgets() {
		row(&b, w, record.Median(r.times[w.subject]), record.Median(r.times[w.beside]))
	}
	used := float64(r.memory.total()) / mib
	fmt.Fprintf(&b, "| idle sandbox, private memory (keeper %.1f, guest %.1f, %d waiting slots %.1f MiB) | %d MiB | %.1f MiB | %s |\n",
		float64(r.memory.keeper)/mib, float64(r.memory.guest)/mib, r.memory.slots, float64(r.memory.slotBytes)/mib,
		memoryBudget, used, verdict(used <= memoryBudget))
	return b.String()
}

func row(b *strings.Builder, w budget, got, beside time.Duration) {
	if w.over > 0 {
		fmt.Fprintf(b, "| %s, over %s | %s ms | %s ms | %s |\n", w.subject, w.beside, ms(w.over), ms(got-beside), verdict(got-beside <= w.over))
		return
	}
	x := ratio(got, beside)
	fmt.Fprintf(b, "| %s | %g x plain | %.1f x | %s |\n", w.subject, w.ratio, x, verdict(x <= w.ratio))
}

func ratio(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }

func verdict(ok bool) string {
	if ok {
		return "kept"
	}
	return "**missed**"
}

func pairs(m map[string]string) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, k+" "+m[k])
	}
	return strings.Join(all, "; ")
}
