package main

import (
	"fmt"
	"io"
	"sort"
)

// A report counts results and keeps what is told at the end. It is used by
// one goroutine.
type report struct {
	out io.Writer

	passed, failed int
	failures       []string            // in order
	skips          map[string][]testID // by reason
	perPackage     map[string]int      // skips, for the package's line
}

func newReport(out io.Writer) *report {
	return &report{out: out, skips: map[string][]testID{}, perPackage: map[string]int{}}
}

// ended takes the end of a test or of a package, with what it printed.
func (r *report) ended(id testID, e event, output string) {
	if id.Test == "" {
		r.packageEnded(id, e, output)
		return
	}
	switch e.Action {
	case "pass":
		r.passed++
		for _, s := range innerSkips(output) {
			r.skipped(testID{id.Package, s.test}, s.reason)
		}
	case "fail":
		r.failed++
		r.failures = append(r.failures, id.String())
		fmt.Fprint(r.out, output)
	case "skip":
		r.skipped(id, skipReason(output))
	}
}

func (r *report) packageEnded(id testID, e event, output string) {
	switch e.Action {
	case "pass":
		note := ""
		if n := r.perPackage[id.Package]; n > 0 {
			note = fmt.Sprintf(" (%d skipped)", n)
		}
		fmt.Fprintf(r.out, "ok    %-40s %6.1f s%s\n", id, e.Elapsed, note)
		delete(r.perPackage, id.Package)
	case "fail":
		r.failed++
		r.failures = append(r.failures, id.String())
		fmt.Fprint(r.out, output)
	case "skip":
		fmt.Fprintf(r.out, "-     %-40s no tests\n", id)
	}
}

func (r *report) skipped(id testID, reason string) {
	r.skips[reason] = append(r.skips[reason], id)
	r.perPackage[id.Package]++
}

func (r *report) stepFailed(what string, err error) {
	r.failed++
	r.failures = append(r.failures, fmt.Sprintf("%s: %v", what, err))
	fmt.Fprintf(r.out, "FAIL  %s: %v\n", what, err)
}

// finish prints the end of the report and tells whether the run passed.
func (r *report) finish() bool {
	skips := r.printSkips()
	if len(r.failures) > 0 {
		fmt.Fprintln(r.out, "\nFailed:")
		for _, f := range r.failures {
			fmt.Fprintf(r.out, "  %s\n", f)
		}
	}
	ok := r.failed == 0 && r.passed > 0
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, skips)
	return ok
}

// named bounds how many tests are named for one reason.
const named = 4

func (r *report) printSkips() (total int) {
	if len(r.skips) == 0 {
		fmt.Fprintln(r.out, "\nNothing was skipped.")
		return 0
	}
	fmt.Fprintln(r.out, "\nSkipped:")
	reasons := make([]string, 0, len(r.skips))
	for reason := range r.skips {
		reasons = append(reasons, reason)
	}
	sort.Strings(reasons)
	for _, reason := range reasons {
		ids := r.skips[reason]
		total += len(ids)
		fmt.Fprintf(r.out, "  %s\n", reason)
		for i, id := range ids {
			if i == named {
				fmt.Fprintf(r.out, "      and %d more\n", len(ids)-named)
				break
			}
			fmt.Fprintf(r.out, "      %s\n", id)
		}
	}
	return total
}
