package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// write appends the records of some callers under the lock.
func (l *Log) write(ctx context.Context, batches []*batch) error {
	if err := l.take(ctx); err != nil {
		return err
	}
	defer l.give()
	at, err := l.end()
	if err != nil {
		return err
	}
	if at.Size >= l.o.MaxSegment {
		if at, err = l.rotate(at); err != nil {
			return err
		}
	}
	var records []Record
	for _, b := range batches {
		records = append(records, b.record)
	}
	return l.put(&at, records...)
}

// end is where the log ends. What a writer that was killed left is taken in
// or cleared away; where the log is not as it was left otherwise, another
// segment is begun with a record of that.
func (l *Log) end() (head, error) {
	h, err := l.chain.readHead(l.head)
	if err != nil && !errors.Is(err, errHead) {
		return head{}, err
	}
	names, nerr := segments(l.root)
	if nerr != nil {
		return head{}, nerr
	}
	switch {
	case err != nil:
		return l.interrupted(h)
	case h.Segment == "" && len(names) == 0:
		return l.begin(head{MAC: l.chain.start()}, Record{})
	case h.Segment == "" && len(names) == 1 && names[0] == segmentName(1):
		return l.begun(head{MAC: l.chain.start()}, names[0])
	case len(names) > 1 && names[len(names)-2] == h.Segment && numberOf(names[len(names)-1]) == numberOf(h.Segment)+1:
		return l.begun(h, names[len(names)-1])
	case len(names) == 0 || names[len(names)-1] != h.Segment || l.use(h.Segment) != nil:
		return l.interrupted(h)
	}
	size, err := l.segment.Seek(0, io.SeekEnd)
	switch {
	case err != nil:
		return head{}, hidden("reading the log", err)
	case size < h.Size:
		return l.interrupted(h)
	case size > h.Size:
		h, err = l.takeIn(h, size)
	}
	return l.opened(h, err)
}

// opened gives a segment its first record where whoever began it was killed
// before.
func (l *Log) opened(h head, err error) (head, error) {
	if err == nil && h.Size == 0 {
		err = l.put(&h, Record{Type: TypeSegment, Previous: h.MAC})
	}
	return h, err
}

// firstRecord is more than the first record of a segment takes, in bytes.
const firstRecord = 512

// begun goes on in the segment that a writer had begun when it was killed,
// before the head told of it: it holds its first record at most.
func (l *Log) begun(h head, name string) (head, error) {
	if err := l.use(name); err != nil {
		return head{}, err
	}
	size, err := l.segment.Seek(0, io.SeekEnd)
	if err != nil {
		return head{}, hidden("reading the log", err)
	}
	if size > firstRecord {
		return l.interrupted(h)
	}
	return l.opened(l.takeIn(head{Segment: name, Seq: h.Seq, MAC: h.MAC}, size))
}

// takeIn goes over what stands behind the head: whole records, which a killed
// writer wrote, are taken in; a part of one, which nobody was told of, is cut
// off.
func (l *Log) takeIn(h head, size int64) (head, error) {
	r := bufio.NewReader(io.NewSectionReader(l.segment, h.Size, size-h.Size))
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		record, body, sum, perr := parseLine(bytes.TrimSuffix(line, []byte("\n")))
		if perr != nil || record.Seq != h.Seq+1 || !l.chain.follows(h.MAC, body, sum) {
			return l.interrupted(h)
		}
		h.Size, h.Seq, h.MAC = h.Size+int64(len(line)), record.Seq, sum
	}
	if h.Size < size {
		if err := l.takeBack(h); err != nil {
			return head{}, err
		}
	}
	return h, l.chain.writeHead(l.head, h)
}

// interrupted goes on in a new segment where the old one cannot be gone on in.
func (l *Log) interrupted(h head) (head, error) {
	if h.MAC == "" {
		h.MAC = l.chain.start()
	}
	return l.begin(h, Record{Type: TypeBreak, Expected: h.Seq, Error: "the log was not as it had been left"})
}

// begin makes the next segment, whose first record ties it to the one before.
func (l *Log) begin(after head, first Record) (head, error) {
	names, err := segments(l.root)
	if err != nil {
		return head{}, err
	}
	number := 1
	if len(names) > 0 {
		number = numberOf(names[len(names)-1]) + 1
	}
	name := segmentName(number)
	f, err := l.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return head{}, hidden("beginning a file of the log", err)
	}
	l.turnTo(f, name)
	at := head{Segment: name, Seq: after.Seq, MAC: after.MAC}
	records := []Record{{Type: TypeSegment, Previous: after.MAC}}
	if first.Type != "" {
		records = append(records, first)
	}
	if err := l.put(&at, records...); err != nil {
		return head{}, errors.Join(err, l.root.Remove(name))
	}
	return at, l.syncDir()
}

// rotate begins another segment, and removes those that are too old or too
// many.
func (l *Log) rotate(at head) (head, error) {
	if err := l.segment.Sync(); err != nil {
		return head{}, hidden("writing the log to the disk", err)
	}
	at, err := l.begin(at, Record{})
	if err != nil {
		return head{}, err
	}
	return at, l.retain(&at)
}

// retain removes segments that are to be kept no longer. A record of it comes
// first, so that verify can tell it from a theft.
func (l *Log) retain(at *head) error {
	names, err := segments(l.root)
	if err != nil {
		return err
	}
	var total int64
	sizes, ages := map[string]int64{}, map[string]time.Duration{}
	for _, name := range names {
		st, err := l.root.Stat(name)
		if err != nil {
			return hidden("looking at the log", err)
		}
		sizes[name], ages[name] = st.Size(), l.o.Now().Sub(st.ModTime())
		total += st.Size()
	}
	var gone []string
	for _, name := range names {
		old := l.o.MaxAge > 0 && ages[name] > l.o.MaxAge
		many := l.o.MaxBytes > 0 && total > l.o.MaxBytes
		if name == at.Segment || !old && !many {
			break
		}
		gone = append(gone, name)
		total -= sizes[name]
	}
	if len(gone) == 0 {
		return nil
	}
	last, sum, err := l.lastOf(gone[len(gone)-1])
	if err != nil {
		return err
	}
	if err := l.put(at, Record{Type: TypeRetention, Through: last, ThroughMAC: sum}); err != nil {
		return err
	}
	for _, name := range gone {
		if err := l.root.Remove(name); err != nil {
			return hidden("removing an old file of the log", err)
		}
	}
	return nil
}

// lastOf returns number and MAC of a segment's last record.
func (l *Log) lastOf(name string) (uint64, mac, error) {
	f, err := l.root.Open(name)
	if err != nil {
		return 0, "", hidden("reading the log", err)
	}
	defer f.Close()
	var last []byte
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		last = line
	}
	record, _, sum, err := parseLine(bytes.TrimSuffix(last, []byte("\n")))
	return record.Seq, sum, err
}

// put writes records at the end and moves the head. What could not be written
// whole is taken back.
func (l *Log) put(at *head, records ...Record) error {
	next := *at
	var lines []byte
	for _, r := range records {
		r.Seq, r.Time = next.Seq+1, l.o.Now().UTC()
		line, sum, err := l.chain.seal(next.MAC, r)
		if err != nil {
			return err
		}
		lines = append(lines, line...)
		next.Seq, next.MAC = r.Seq, sum
	}
	next.Size += int64(len(lines))
	if _, err := l.segment.Write(lines); err != nil {
		return errors.Join(hidden("writing the log", err), l.takeBack(*at))
	}
	if l.o.Sync == Always {
		if err := unix.Fdatasync(int(l.segment.Fd())); err != nil {
			return errors.Join(hidden("writing the log to the disk", err), l.takeBack(*at))
		}
	}
	if err := l.chain.writeHead(l.head, next); err != nil {
		return errors.Join(err, l.takeBack(*at))
	}
	*at = next
	if l.o.Sync == Always {
		return unix.Fdatasync(int(l.head.Fd()))
	}
	l.later()
	return nil
}

// takeBack cuts off what was written behind the end.
func (l *Log) takeBack(end head) error {
	if err := l.segment.Truncate(end.Size); err != nil {
		return hidden("taking a part of a record back", err)
	}
	return nil
}

// later sees to it that what was written reaches the disk.
func (l *Log) later() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unsynced || l.closed {
		return
	}
	l.unsynced = true
	l.timer = time.AfterFunc(groupTime, l.sync)
}

func (l *Log) sync() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsynced = false
	if l.closed {
		return
	}
	if l.segment != nil {
		unix.Fdatasync(int(l.segment.Fd()))
	}
	unix.Fdatasync(int(l.head.Fd()))
}

// use opens a segment for writing, unless it is.
func (l *Log) use(name string) error {
	if l.segment != nil && l.name == name {
		if same, err := sameFile(l.root, name, l.segment); err == nil && same {
			return nil
		}
	}
	f, err := l.root.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return hidden("opening the log", err)
	}
	l.turnTo(f, name)
	return nil
}

// turnTo makes a segment the one that is written to.
func (l *Log) turnTo(f *os.File, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.segment != nil {
		if l.unsynced {
			unix.Fdatasync(int(l.segment.Fd()))
		}
		l.segment.Close()
	}
	l.segment, l.name = f, name
}

func sameFile(root *os.Root, name string, f *os.File) (bool, error) {
	a, err := root.Stat(name)
	if err != nil {
		return false, err
	}
	b, err := f.Stat()
	return err == nil && os.SameFile(a, b), err
}

func (l *Log) syncDir() error {
	if l.o.Sync != Always {
		return nil
	}
	dir, err := l.root.Open(".")
	if err != nil {
		return hidden("opening the directory", err)
	}
	defer dir.Close()
	return dir.Sync()
}

func segmentName(n int) string { return fmt.Sprintf("%08d%s", n, suffix) }

func numberOf(name string) int {
	n := 0
	fmt.Sscanf(strings.TrimSuffix(name, suffix), "%d", &n)
	return n
}

// segments are the files of a log, oldest first.
func segments(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, hidden("opening the directory", err)
	}
	defer dir.Close()
	entries, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, hidden("listing the log", err)
	}
	var names []string
	for _, name := range entries {
		if n := numberOf(name); n > 0 && name == segmentName(n) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
