package shell

import (
	"bytes"
	"strconv"
)

// maxReport bounds what is kept of the report's FIFO: a command can write to it
// too, and what it writes is no report.
const maxReport = 4 << 10

// reports finds the report of a turn among what comes through the FIFO: NUL,
// nonce, colon, status, NUL. Anything else is passed over.
type reports struct{ seen []byte }

// add takes bytes, and returns the status that was reported under the nonce.
func (r *reports) add(p []byte, nonce string) (status int, found bool) {
	r.seen = append(r.seen, p...)
	mark := append(append([]byte{0}, nonce...), ':')
	for from := 0; ; {
		i := bytes.Index(r.seen[from:], mark)
		if i < 0 {
			break
		}
		start := from + i + len(mark)
		end := bytes.IndexByte(r.seen[start:], 0)
		if end < 0 {
			break
		}
		digits := r.seen[start : start+end]
		if n, err := strconv.ParseUint(string(digits), 10, 8); err == nil && len(digits) <= 3 {
			r.seen = r.seen[:0]
			return int(n), true
		}
		from = start
	}
	if len(r.seen) > maxReport {
		r.seen = append(r.seen[:0], r.seen[len(r.seen)-maxReport/2:]...)
	}
	return 0, false
}
