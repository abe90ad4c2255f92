package frame

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	var wire bytes.Buffer
	w := NewWriter(&wire)
	frames := []struct {
		kind    Type
		payload []byte
	}{
		{Started, nil},
		{Stdout, []byte("a\x00b\xff")},
		{Stdin, bytes.Repeat([]byte{7}, MaxPayload)},
		{Signal, PutNumber(15)},
		{Resize, PutSize(40, 132)},
	}
	for _, f := range frames {
		if err := w.Write(f.kind, f.payload); err != nil {
			t.Fatalf("Write(%c): %v", f.kind, err)
		}
	}
	r := NewReader(&wire)
	for _, f := range frames {
		kind, payload, err := r.Read()
		if err != nil || kind != f.kind || !bytes.Equal(payload, f.payload) {
			t.Fatalf("Read: want %c of %d bytes, got %c of %d, %v", f.kind, len(f.payload), kind, len(payload), err)
		}
	}
	if _, _, err := r.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: want io.EOF, got %v", err)
	}
}

func TestTooLong(t *testing.T) {
	if err := NewWriter(io.Discard).Write(Stdout, make([]byte, MaxPayload+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("Write: want ErrTooLong, got %v", err)
	}
	r := NewReader(bytes.NewReader([]byte{'o', 0xff, 0xff, 0xff, 0xff}))
	if _, _, err := r.Read(); !errors.Is(err, ErrTooLong) {
		t.Errorf("Read: want ErrTooLong, got %v", err)
	}
}

func TestCutInside(t *testing.T) {
	for _, cut := range [][]byte{{'o'}, {'o', 0, 0, 0}, {'o', 0, 0, 0, 2}, {'o', 0, 0, 0, 2, 'x'}} {
		if _, _, err := NewReader(bytes.NewReader(cut)).Read(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v: want io.ErrUnexpectedEOF, got %v", cut, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte{'o', 0, 0, 0, 1, 'x', 'R', 0, 0, 0, 0})
	f.Add([]byte{'o', 0x7f, 0xff, 0xff, 0xff})
	f.Add([]byte{'s', 0, 0, 0, 4, 0, 0, 0, 9, 'r', 0, 0, 0, 4, 0, 24, 0, 80})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in))
		var again bytes.Buffer
		w := NewWriter(&again)
		for {
			kind, payload, err := r.Read()
			if err != nil {
				break
			}
			if len(payload) > MaxPayload {
				t.Fatalf("a payload of %d bytes", len(payload))
			}
			Number(payload)
			Size(payload)
			if err := w.Write(kind, payload); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(in, again.Bytes()) {
			t.Fatalf("what was read is not what was sent: %x of %x", again.Bytes(), in)
		}
	})
}
