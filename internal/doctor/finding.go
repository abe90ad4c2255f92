package doctor

// Status is how a check ended.
type Status string

// The statuses, from good to bad.
const (
	// OK means that nothing is lost.
	OK Status = "ok"
	// Warn means that sandboxes run, and something is lost.
	Warn Status = "warn"
	// Fail means that sandboxes do not run, or not safely.
	Fail Status = "fail"
)

// Finding is the outcome of one check, for the person who owns the machine: it
// may name host paths.
type Finding struct {
	// Check is the check's name, stable and fit for a script.
	Check  string `json:"check"`
	Status Status `json:"status"`
	// Detail is what was found.
	Detail string `json:"detail"`
	// Lost says what does not work; empty where the status is OK.
	Lost string `json:"lost,omitempty"`
	// Cure says what to do, as a command where there is one.
	Cure string `json:"cure,omitempty"`
	// Isolation is, of the check "sandbox", which mechanism stands behind
	// each promise.
	Isolation map[string]string `json:"isolation,omitempty"`
	// StartSeconds and CommandSeconds are, of a sandbox started for the check
	// "sandbox", the time to its first output and that of a command more.
	StartSeconds   float64 `json:"start_seconds,omitempty"`
	CommandSeconds float64 `json:"command_seconds,omitempty"`
}

func ok(detail string) Finding { return Finding{Status: OK, Detail: detail} }

func warn(detail, lost, cure string) Finding {
	return Finding{Status: Warn, Detail: detail, Lost: lost, Cure: cure}
}

func fail(detail, lost, cure string) Finding {
	return Finding{Status: Fail, Detail: detail, Lost: lost, Cure: cure}
}

// worse returns the worse of two statuses.
func worse(a, b Status) Status {
	rank := func(s Status) int {
		switch s {
		case OK, "":
			return 0
		case Warn:
			return 1
		}
		return 2
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}
