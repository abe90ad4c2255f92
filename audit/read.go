package audit

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// Reader reads the records of a log in their order, while others append. It
// checks nothing: that is [Verify]'s. It belongs to one goroutine, which closes
// it.
type Reader struct {
	root *os.Root
	file *os.File
	r    *bufio.Reader
	name string
	rest []byte // the beginning of a record that is not whole yet
	// last says that the file is followed by another: nothing is added to it.
	last bool
}

// OpenReader opens a log for reading, at its beginning. A directory without a
// log is one without records.
func OpenReader(dir string) (*Reader, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, hidden("opening the log's directory", err)
	}
	return &Reader{root: root}, nil
}

// Next returns the next record, and io.EOF when there is none for now: it can
// be called again. A line that is no record is an error, and the next call
// goes on behind it.
func (r *Reader) Next() (Record, error) {
	for {
		if r.file == nil {
			if err := r.open(); err != nil {
				return Record{}, err
			}
		}
		line, err := readLine(r.r)
		line = append(r.rest, line...)
		r.rest = nil
		if err == nil {
			record, _, _, err := parseLine(line)
			return record, err
		}
		if !errors.Is(err, io.EOF) {
			return Record{}, hidden("reading the log", err)
		}
		r.rest = line
		if !r.last {
			if r.last, err = r.following(); err != nil || !r.last {
				return Record{}, errors.Join(err, io.EOF)
			}
			continue // something may have been added before the other was begun
		}
		r.file.Close()
		r.file, r.rest, r.last = nil, nil, false
	}
}

// following reports whether another segment has been begun.
func (r *Reader) following() (bool, error) {
	names, err := segments(r.root)
	if err != nil {
		return false, err
	}
	return len(names) > 0 && names[len(names)-1] > r.name, nil
}

// open turns to the segment behind the one that was read last.
func (r *Reader) open() error {
	names, err := segments(r.root)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name <= r.name {
			continue
		}
		f, err := r.root.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed by age or size meanwhile
		}
		if err != nil {
			return hidden("reading the log", err)
		}
		r.file, r.name, r.r = f, name, bufio.NewReader(f)
		return nil
	}
	return io.EOF
}

// followEvery is how often a reader that waits looks for more.
const followEvery = 200 * time.Millisecond

// Wait returns when there may be more to read, or when the context ends, with
// its error.
func (r *Reader) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(followEvery):
		return nil
	}
}

// Close ends the reading.
func (r *Reader) Close() error {
	if r.file != nil {
		r.file.Close()
	}
	return r.root.Close()
}
