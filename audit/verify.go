package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Problem is something in a log that nobody who holds the key wrote there, or
// that is missing from it.
type Problem struct {
	// Segment is the name of the file, Line the line in it from 1; 0 is the
	// file as a whole.
	Segment string `json:"segment,omitempty"`
	Line    int    `json:"line,omitempty"`
	// Seq is the record, 0 if it cannot be told.
	Seq uint64 `json:"seq,omitempty"`
	// What is wrong, in words.
	What string `json:"what"`
}

// String returns "SEGMENT:LINE: WHAT".
func (p Problem) String() string {
	switch {
	case p.Segment == "":
		return p.What
	case p.Line == 0:
		return p.Segment + ": " + p.What
	}
	return fmt.Sprintf("%s:%d: %s", p.Segment, p.Line, p.What)
}

// Report is what [Verify] found.
type Report struct {
	// Records and Segments are how many were read.
	Records  uint64 `json:"records"`
	Segments int    `json:"segments"`
	// First and Last are the numbers of the first and the last record.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Removed is the last record that was removed by age or size, 0 if none.
	Removed uint64 `json:"removed,omitempty"`
	// Problems are empty if the log is whole.
	Problems []Problem `json:"problems"`
}

// maxProblems bounds a report.
const maxProblems = 100

// lineLimit bounds a line that is read, in bytes.
const lineLimit = 1 << 20

// verifying is one pass over a log.
type verifying struct {
	chain  chain
	report Report
	seq    uint64
	last   mac
	known  bool // last is to be trusted
	// begins and beginMAC are what the first segment claims was before it.
	begins   uint64
	beginMAC mac
	removed  Record // the latest record of a retention
	// names, size of the last of them, and head are as they were when it began.
	names   []string
	size    int64
	head    head
	headErr error
}

// ErrNoLog is [Verify]'s answer where nothing was ever recorded.
var ErrNoLog = errors.New("audit: there is no log")

// Verify reads a log as it is at the beginning of the call and compares every
// record with the chain, and the end with the head. Others append meanwhile. An
// error means that it could not be read; what is wrong with it is in the
// report. What whoever holds the key can still forge is in docs/AUDIT.md.
func Verify(ctx context.Context, dir string) (Report, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		return Report{}, ErrNoLog
	}
	if err != nil {
		return Report{}, hidden("opening the log's directory", err)
	}
	defer root.Close()
	if names, err := segments(root); err == nil && len(names) == 0 {
		if _, err := root.Stat(headFile); errors.Is(err, os.ErrNotExist) {
			return Report{}, ErrNoLog
		}
	}
	lock, err := root.OpenFile(lockFile, os.O_RDWR, 0)
	if err != nil {
		return Report{}, hidden("opening the lock", err)
	}
	defer lock.Close()
	l := &Log{lock: lock}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	if err := l.take(ctx); err != nil {
		return Report{}, err
	}
	v := &verifying{}
	err = v.freeze(root)
	unix.Flock(int(lock.Fd()), unix.LOCK_UN)
	if err == nil {
		err = v.all(root)
	}
	return v.report, err
}

// freeze notes what is there, with nobody appending.
func (v *verifying) freeze(root *os.Root) (err error) {
	if v.chain.key, err = readKey(root); err != nil {
		return err
	}
	if v.names, err = segments(root); err != nil {
		return err
	}
	if n := len(v.names); n > 0 {
		st, err := root.Stat(v.names[n-1])
		if err != nil {
			return hidden("reading the log", err)
		}
		v.size = st.Size()
	}
	f, err := root.Open(headFile)
	if errors.Is(err, os.ErrNotExist) {
		v.headErr = errNoHead
		return nil
	}
	if err != nil {
		return hidden("reading the head", err)
	}
	defer f.Close()
	v.head, v.headErr = v.chain.readHead(f)
	return nil
}

var errNoHead = errors.New("audit: the head is missing")

func (v *verifying) all(root *os.Root) error {
	v.last, v.known = v.chain.start(), true
	names := v.names
	for i, name := range names {
		if i > 0 && numberOf(name) != numberOf(names[i-1])+1 {
			v.problem(Problem{Segment: name, What: "the files before this one are missing"})
		}
		if err := v.segment(root, name, i == 0); err != nil {
			return err
		}
	}
	v.report.Segments = len(names)
	v.report.Last = v.seq
	v.beginning()
	return v.ending()
}

func (v *verifying) problem(p Problem) {
	if len(v.report.Problems) < maxProblems {
		v.report.Problems = append(v.report.Problems, p)
	}
}

func (v *verifying) segment(root *os.Root, name string, first bool) error {
	f, err := root.Open(name)
	if err != nil {
		return hidden("reading the log", err)
	}
	defer f.Close()
	var from io.Reader = f
	if name == v.names[len(v.names)-1] {
		from = io.LimitReader(f, v.size)
	}
	r := bufio.NewReaderSize(from, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			if n == 1 {
				v.problem(Problem{Segment: name, What: "the file is empty"})
			}
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return hidden("reading the log", err)
		}
		if errors.Is(err, io.EOF) {
			v.problem(Problem{Segment: name, Line: n, What: "the last record is cut off"})
			return nil
		}
		v.line(Problem{Segment: name, Line: n}, line, first && n == 1)
	}
}

// readLine reads a line without its line feed; io.EOF with what is left when
// there is none.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line) < lineLimit {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
}

func (v *verifying) line(at Problem, line []byte, opens bool) {
	record, body, sum, err := parseLine(line)
	if err != nil {
		at.What = "the line is no record"
		v.problem(at)
		v.known = false
		return
	}
	v.report.Records++
	at.Seq = record.Seq
	if opens && record.Type == TypeSegment && record.Previous != v.last {
		v.begins, v.beginMAC = record.Seq, record.Previous
		v.seq, v.last = record.Seq-1, record.Previous
	}
	if v.report.First == 0 {
		v.report.First = record.Seq
	}
	switch {
	case v.chain.follows(v.last, body, sum) && record.Seq == v.seq+1:
	case v.known && record.Seq > v.seq+1:
		at.What = fmt.Sprintf("records %d to %d are missing before this one", v.seq+1, record.Seq-1)
		v.problem(at)
	case v.known && record.Seq <= v.seq:
		at.What = fmt.Sprintf("record %d comes after record %d", record.Seq, v.seq)
		v.problem(at)
	case v.known:
		at.What = "the record was changed, or one before it was"
		v.problem(at)
	default:
		at.What = "what comes before this record was changed"
		v.problem(at)
	}
	v.seq, v.last, v.known = record.Seq, sum, true
	switch record.Type {
	case TypeBreak:
		at.What = fmt.Sprintf("when this was written the log was not as it had been left at record %d", record.Expected)
		v.problem(at)
	case TypeRetention:
		v.removed = record
		v.report.Removed = record.Through
	}
}

// beginning checks that what is missing before the first segment was removed
// by age or size.
func (v *verifying) beginning() {
	if v.beginMAC == "" || v.removed.Through+1 == v.begins && v.removed.ThroughMAC == v.beginMAC {
		return
	}
	if v.removed.Through+1 > v.begins {
		return // removed later than that: the file was to go, and is still there
	}
	v.problem(Problem{What: fmt.Sprintf("the log begins with record %d, and nothing says that those before were removed by age or size", v.begins)})
}

// ending compares the last record with the head.
func (v *verifying) ending() error {
	h := v.head
	switch {
	case errors.Is(v.headErr, errNoHead):
		v.problem(Problem{What: "the head is missing: whether the log was cut short cannot be told"})
	case errors.Is(v.headErr, errHead):
		v.problem(Problem{What: "the head was changed: whether the log was cut short cannot be told"})
	case v.headErr != nil:
		return v.headErr
	case h.Segment == "" && len(v.names) > 0:
		v.problem(Problem{What: "the head is empty: whether the log was cut short cannot be told"})
	case v.seq < h.Seq:
		v.problem(Problem{What: fmt.Sprintf("records %d to %d are missing at the end", v.seq+1, h.Seq)})
	case v.seq == h.Seq && v.last != h.MAC && h.Seq > 0:
		v.problem(Problem{What: fmt.Sprintf("record %d, the last, is not the one that was written", h.Seq)})
	}
	return nil
}
