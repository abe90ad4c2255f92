package posixsuite

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// findings gathers what the workers find.
type findings struct {
	listed []deviation

	mu       sync.Mutex
	cases    int
	differ   []difference
	accepted map[int]int // how many cases each deviation answered for
	asked    map[int]int // how many it should have
}

func (f *findings) broken(what string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.differ = append(f.differ, difference{what, "", "the suite itself: " + err.Error()})
}

// compare judges one case.
func (f *findings) compare(j job, plain, tree *side) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cases++
	switch {
	case plain.failed != nil:
		f.differ = append(f.differ, difference{j.name, "the suite itself: " + plain.failed.Error(), fmt.Sprint(tree.failed)})
		return
	case tree.failed != nil:
		f.differ = append(f.differ, difference{j.name, plain.answer, tree.failed.Error()})
		return
	}
	if tree.behind != nil {
		if shown, behind := differing(tree.shown, tree.behind); shown+behind != "" {
			f.differ = append(f.differ, difference{j.name, "on the host: " + behind, tree.answer + " | " + shown})
		}
	}
	a, b := differing(append([]string{plain.answer}, plain.after...), append([]string{tree.answer}, tree.after...))
	for i, d := range f.listed {
		if !d.covers(j, plain) {
			continue
		}
		if f.asked == nil {
			f.asked, f.accepted = map[int]int{}, map[int]int{}
		}
		f.asked[i]++
		if a+b != "" && d.accepts(plain, tree) {
			f.accepted[i]++
			return
		}
	}
	if a != "" || b != "" {
		f.differ = append(f.differ, difference{j.name, plain.answer + " | " + a, tree.answer + " | " + b})
	}
}

// report fails the test for every kind of difference, and for deviations
// that no case bears out. Cases of one call with the same two answers are
// shown as one.
func (f *findings) report(t *testing.T) {
	t.Logf("%d cases", f.cases)
	slices.SortFunc(f.differ, func(a, b difference) int { return strings.Compare(a.job, b.job) })
	alike := map[string]int{}
	for _, d := range f.differ {
		alike[d.kind()]++
	}
	for _, d := range f.differ {
		kind := d.kind()
		if n := alike[kind]; n > 0 {
			t.Errorf("%v\n  cases like this: %d", d, n)
			alike[kind] = 0
		}
	}
	for i, d := range f.listed {
		if f.asked[i] > 0 && f.accepted[i] == 0 && d.proof != "" {
			t.Errorf("%s: listed as a deviation (%s), but none of %d cases deviates", d.cases, d.why, f.asked[i])
		}
	}
}

// kind is what cases share that have one cause, most likely.
func (d difference) kind() string {
	call, _, _ := strings.Cut(d.job, " on ")
	plain, _, _ := strings.Cut(d.plain, "|")
	tree, _, _ := strings.Cut(d.tree, "|")
	return call + plain + tree
}
