//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// meterPatience is how long a copy takes before its progress is shown.
	meterPatience = 500 * time.Millisecond
	meterTick     = 200 * time.Millisecond
)

// meter shows the progress of a copy on standard error, where that is a
// terminal.
type meter struct {
	out     *os.File // nil: nothing is shown
	stop    chan struct{}
	stopped sync.WaitGroup

	mu     sync.Mutex
	name   string
	start  time.Time
	size   int64 // of what is copied, -1 where it is not known
	bytes  int64
	files  int
	isTree bool
	shown  bool
}

// newMeter starts one; close ends it.
func newMeter(wanted bool) *meter {
	m := &meter{stop: make(chan struct{})}
	if wanted && isTerminal(os.Stderr) {
		m.out = os.Stderr
		m.stopped.Go(m.run)
	}
	return m
}

func (m *meter) run() {
	tick := time.NewTicker(meterTick)
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case now := <-tick.C:
			m.mu.Lock()
			if !m.start.IsZero() && now.Sub(m.start) >= meterPatience {
				m.show(now)
			}
			m.mu.Unlock()
		}
	}
}

// close shows the last state, if any was shown.
func (m *meter) close() {
	close(m.stop)
	m.stopped.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finish()
}

// finish ends a line. The caller holds mu.
func (m *meter) finish() {
	if m.shown {
		m.show(time.Now())
		fmt.Fprintln(m.out)
	}
	m.shown = false
}

// begin starts to count for another source.
func (m *meter) begin(name string, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finish()
	m.name, m.size, m.start = printable(name), size, time.Now()
	m.bytes, m.files, m.isTree = 0, 0, false
}

func (m *meter) item(kind string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if kind == "dir" {
		m.isTree = true
	} else {
		m.files++
	}
}

// reader counts what is read.
func (m *meter) reader(r io.Reader) io.Reader {
	if m.out == nil {
		return r
	}
	return &meterReader{m, r}
}

type meterReader struct {
	m *meter
	r io.Reader
}

func (r *meterReader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	r.m.mu.Lock()
	r.m.bytes += int64(n)
	r.m.mu.Unlock()
	return n, err
}

// show draws the line anew. The caller holds mu.
func (m *meter) show(now time.Time) {
	seconds := now.Sub(m.start).Seconds()
	rate := float64(m.bytes) / max(seconds, 0.001)
	text := bytesText(m.bytes)
	switch {
	case m.isTree:
		text = fmt.Sprintf("%d files  %s", m.files, text)
	case m.size > 0:
		text = fmt.Sprintf("%3d%%  %s", m.bytes*100/m.size, text)
	}
	text += "  " + bytesText(int64(rate)) + "/s"
	if left := m.size - m.bytes; !m.isTree && left > 0 && rate > 1 {
		text += "  " + time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second).String() + " left"
	}
	name := cut(m.name, max(widthOf(m.out)-len(text)-3, minColumn))
	fmt.Fprintf(m.out, "\r\033[K%s  %s", name, text)
	m.shown = true
}

// bytesText writes a number of bytes as 1.5 MB, in powers of ten.
func bytesText(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	value := float64(n)
	for _, unit := range []string{"kB", "MB", "GB", "TB", "PB"} {
		if value /= 1000; value < 999.95 {
			return fmt.Sprintf("%.1f %s", value, unit)
		}
	}
	return fmt.Sprintf("%.1f EB", value/1000)
}
