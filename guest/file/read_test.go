package file

import (
	"errors"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

// hole is a file that has no lines and no end.
type hole struct{}

func (hole) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A line that lies behind a huge hole is given up on in time.
func TestReadIsBounded(t *testing.T) {
	_, err := readLines(t.Context(), hole{}, provider.LineRange{Start: 2}, 1<<20, 8<<40, time.Now().Add(50*time.Millisecond))
	if !errors.Is(err, errTooFar) {
		t.Errorf("got %v, want %v", err, errTooFar)
	}
}
