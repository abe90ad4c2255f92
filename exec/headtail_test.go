package exec

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

// reference is HeadTail over the whole stream at once: borders are where a
// decoder that starts at the first byte stands between two runes.
func reference(stream []byte, limit int64) (head, tail []byte, omitted int64) {
	n := int64(len(stream))
	if limit < 0 || n <= limit {
		return stream, nil, 0
	}
	border := map[int64]bool{n: true}
	for i := 0; i < len(stream); {
		border[int64(i)] = true
		_, size := utf8.DecodeRune(stream[i:])
		i += size
	}
	h := limit / 2
	t := n - (limit - h)
	for !border[h] {
		h--
	}
	for !border[t] {
		t++
	}
	return stream[:h], stream[t:], t - h
}

// feed writes a stream in pieces whose sizes come from seed.
func feed(w interface{ Write([]byte) (int, error) }, stream []byte, seed uint8) {
	for i, k := 0, uint32(seed); i < len(stream); k = k*5 + 3 {
		n := min(int(k%11+uint32(seed)%3*40), len(stream)-i)
		w.Write(stream[i : i+n])
		i += n
	}
}

func FuzzHeadTail(f *testing.F) {
	f.Add([]byte("plain text that is longer than the limit"), int16(10), uint8(1))
	f.Add([]byte(strings.Repeat("日本語", 20)), int16(31), uint8(2))
	f.Add([]byte(strings.Repeat("a😀", 20)), int16(27), uint8(7))
	f.Add([]byte("\xe6\x97\xa5\xff\xfe\x80\x80\x80\x80\xf0\x9f\x98"), int16(5), uint8(3))
	f.Add([]byte("日本"), int16(5), uint8(0))
	f.Add([]byte("x"), int16(0), uint8(0))
	f.Add([]byte("everything"), int16(-1), uint8(9))
	f.Fuzz(func(t *testing.T, stream []byte, limit16 int16, seed uint8) {
		limit := int64(max(limit16, -1))
		head, tail, omitted := reference(stream, limit)

		h := NewHeadTail(limit)
		feed(h, stream, seed)
		if !bytes.Equal(h.Head(), head) || !bytes.Equal(h.Tail(), tail) || h.Omitted() != omitted || h.Total() != int64(len(stream)) {
			t.Fatalf("limit %d of %q\nwant %q %q %d\n got %q %q %d", limit, stream, head, tail, omitted, h.Head(), h.Tail(), h.Omitted())
		}
		want := bytes.Clone(head)
		if omitted > 0 {
			want = append(append(want, fmt.Sprintf("\n[%d bytes omitted]\n", omitted)...), tail...)
		}
		if got := h.Bytes(); !bytes.Equal(got, want) {
			t.Fatalf("Bytes\nwant %q\n got %q", want, got)
		}
		var out bytes.Buffer
		l := NewLimited(&out, limit)
		feed(l, stream, seed)
		if live := out.Bytes(); !bytes.HasPrefix(head, live) {
			t.Fatalf("live %q is not a start of %q", live, head)
		} else if len(live) < min(len(head), int(limit/2))-2*straddle {
			t.Fatalf("of the head %q only %q came live", head, live)
		}
		if err := l.Close(); err != nil || !bytes.Equal(out.Bytes(), want) || l.Omitted() != omitted {
			t.Fatalf("Limited: %v\nwant %q\n got %q", err, want, out.Bytes())
		}
	})
}

func TestHeadTailIsBounded(t *testing.T) {
	const limit = 1 << 20
	h := NewHeadTail(limit)
	chunk := bytes.Repeat([]byte("日本語のテキスト\n"), 4000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 2000 {
		h.Write(chunk)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8*limit {
		t.Errorf("allocated %d bytes for %d", grown, h.Total())
	}
	if c := cap(h.head) + cap(h.ring); c > limit*5/4 {
		t.Errorf("keeps %d bytes", c)
	}
	if got := int64(len(h.Head())+len(h.Tail())) + h.Omitted(); got != h.Total() {
		t.Errorf("%d of %d", got, h.Total())
	}
}

func TestLimitedKeepsTheFirstError(t *testing.T) {
	l := NewLimited(failingWriter{}, 100)
	if _, err := l.Write(make([]byte, 200)); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if _, err := l.Write([]byte("x")); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if err := l.Close(); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

var errFull = errors.New("full")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

func BenchmarkHeadTail(b *testing.B) {
	chunk := bytes.Repeat([]byte("some line of output\n"), 3276)
	h := NewHeadTail(1 << 20)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		h.Write(chunk)
	}
}
