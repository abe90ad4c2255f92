package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Type says what a frame is. The values are printable, so that a capture of
// a stream can be read.
type Type byte

// Frames that the client sends.
const (
	Stdin    Type = 'i' // data for standard input
	StdinEOF Type = 'e' // standard input ends; no payload
	Signal   Type = 's' // 4 bytes: the signal's number
	Resize   Type = 'r' // 4 bytes: rows, columns
	Cancel   Type = 'c' // end the command's tree; no payload
)

// Frames that the server sends.
const (
	Started    Type = 'S' // the command runs; no payload
	Stdout     Type = 'o' // live data
	Stderr     Type = 'E' // live data
	StdoutHead Type = 'H' // captured data, after the end of the command
	StdoutTail Type = 'T'
	StderrHead Type = 'h'
	StderrTail Type = 't'
	Window     Type = 'w' // 4 bytes: as many bytes more of stdin may be sent
	Ping       Type = 'p' // the server lives; no payload
	Ended      Type = 'R' // JSON: the result; the last frame
	Failed     Type = 'X' // JSON: an error in place of a result; the last frame
)

// MaxPayload bounds one frame's payload, in bytes. Longer data is sent in
// several frames.
const MaxPayload = 64 << 10

// headerSize is a type byte and a big-endian length.
const headerSize = 5

// ErrTooLong reports a frame whose announced length exceeds [MaxPayload]: the
// other side does not speak this protocol.
var ErrTooLong = errors.New("a frame announces more than the protocol allows")

// Writer writes frames. It is not safe for concurrent use; each frame is one
// Write of the underlying writer.
type Writer struct {
	w   io.Writer
	buf []byte
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write sends one frame. The payload is not kept. A payload over
// [MaxPayload] is refused with [ErrTooLong].
func (w *Writer) Write(t Type, payload []byte) error {
	if len(payload) > MaxPayload {
		return ErrTooLong
	}
	w.buf = append(w.buf[:0], byte(t), 0, 0, 0, 0)
	binary.BigEndian.PutUint32(w.buf[1:], uint32(len(payload)))
	w.buf = append(w.buf, payload...)
	_, err := w.w.Write(w.buf)
	return err
}

// Reader reads frames. It is not safe for concurrent use. It allocates one
// buffer of at most [MaxPayload].
type Reader struct {
	r      io.Reader
	header [headerSize]byte
	buf    []byte
}

// NewReader returns a Reader from r. Give it a buffered reader where frames
// are small.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Read returns the next frame. The payload is valid until the next Read. The
// end of the stream between two frames is io.EOF, inside one
// io.ErrUnexpectedEOF.
func (r *Reader) Read() (Type, []byte, error) {
	if _, err := io.ReadFull(r.r, r.header[:]); err != nil {
		return 0, nil, err
	}
	n := int(binary.BigEndian.Uint32(r.header[1:]))
	if n > MaxPayload || n < 0 {
		return 0, nil, fmt.Errorf("%w: %d bytes", ErrTooLong, uint32(n))
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, max(n, 4<<10))
	}
	r.buf = r.buf[:n]
	if _, err := io.ReadFull(r.r, r.buf); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return Type(r.header[0]), r.buf, nil
}

// PutNumber is the payload of [Signal] and [Window].
func PutNumber(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// Number reads the payload of [Signal] and [Window]; ok is false for another
// length.
func Number(payload []byte) (n uint32, ok bool) {
	if len(payload) != 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(payload), true
}

// PutSize is the payload of [Resize].
func PutSize(rows, cols uint16) []byte {
	return PutNumber(uint32(rows)<<16 | uint32(cols))
}

// Size reads the payload of [Resize]; ok is false for another length.
func Size(payload []byte) (rows, cols uint16, ok bool) {
	n, ok := Number(payload)
	return uint16(n >> 16), uint16(n), ok
}
