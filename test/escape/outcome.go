package escape

import (
	"bytes"
	"fmt"
	"time"
)

// Outcome is what a snippet came to.
type Outcome struct {
	// Code is the exit status that the command line reported.
	Code int
	// Stdout and Stderr are the streams as they came.
	Stdout, Stderr []byte
	// Took is the time from the start of the program to its end.
	Took time.Duration
}

// Combined is both streams, one after the other, without newlines at the end.
func (o Outcome) Combined() string {
	both := bytes.Clone(o.Stdout)
	if len(both) > 0 && both[len(both)-1] != '\n' && len(o.Stderr) > 0 {
		both = append(both, '\n')
	}
	return string(bytes.TrimRight(append(both, o.Stderr...), "\n"))
}

// Check says how the outcome fails an expectation, or nil. Slack, 1 or more,
// multiplies the times of a quiet machine. Expectations that are not about an
// outcome are not checked.
func (o Outcome) Check(e Expectation, slack float64) error {
	switch e.Kind {
	case ExitIs:
		if o.Code != e.Code {
			return fmt.Errorf("want exit status %d, got %d", e.Code, o.Code)
		}
	case ExitIsNot:
		if o.Code == e.Code {
			return fmt.Errorf("want an exit status other than %d", e.Code)
		}
	case Matches, MatchesNot:
		found, err := e.Pattern.MatchString(o.Combined())
		if err != nil {
			return fmt.Errorf("matching %q: %w", e.Pattern, err)
		}
		if found && e.Kind == MatchesNot {
			return fmt.Errorf("the output must not match %q", e.Pattern)
		}
		if !found && e.Kind == Matches {
			return fmt.Errorf("the output must match %q", e.Pattern)
		}
	case Within:
		if allowed := time.Duration(float64(e.Limit) * slack); o.Took > allowed {
			return fmt.Errorf("want it within %v, it took %v", allowed, o.Took)
		}
	}
	return nil
}
