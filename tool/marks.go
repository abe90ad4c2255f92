package tool

import (
	"context"
	"crypto/sha256"
	"errors"
	"path"
	"sync"

	"github.com/sandboxfs/sandboxfs/provider"
)

// maxMarks bounds how many files are remembered as read.
const maxMarks = 1000

// marks remembers what was read, for [Options.ReadBeforeWrite]. It is safe for
// concurrent use.
type marks struct {
	mu   sync.Mutex
	read map[string][sha256.Size]byte
	// writing is held by who changes a file, from the look at it on: of two
	// changes that go back to one reading, the second is refused.
	writing sync.Mutex
}

func newMarks() *marks { return &marks{read: map[string][sha256.Size]byte{}} }

func (m *marks) put(p string, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.read) >= maxMarks {
		clear(m.read) // the agent reads again what it still needs
	}
	m.read[path.Clean(p)] = sha256.Sum256(content)
}

// has reports whether a file was read with this content.
func (m *marks) has(p string, content []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum, ok := m.read[path.Clean(p)]
	return ok && sum == sha256.Sum256(content)
}

// ForgetReads forgets which files were read, as is right where the answers are
// no longer in the model's context. It matters to [Options.ReadBeforeWrite]
// alone.
func (s *Set) ForgetReads() {
	if s.marks == nil {
		return
	}
	s.marks.mu.Lock()
	defer s.marks.mu.Unlock()
	clear(s.marks.read)
}

// changing runs a change of a file, if the file was read as it is, or is not
// there.
func (s *Set) changing(ctx context.Context, sandbox provider.Sandbox, p string, change func() error) error {
	if s.marks == nil {
		return change()
	}
	s.marks.writing.Lock()
	defer s.marks.writing.Unlock()
	content, err := sandbox.ReadFile(ctx, p, provider.LineRange{})
	switch {
	case errors.Is(err, provider.NotFound):
		return change()
	case err != nil:
		return err
	}
	if !s.marks.has(p, content) {
		return &provider.Error{Kind: provider.Conflict, Op: "write", Path: p,
			Reason: "the file was not read since it last changed, and nothing was written", Next: "read all of it with read_file, then make the change"}
	}
	return change()
}
