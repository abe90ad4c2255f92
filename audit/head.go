package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// head is where a log ends. It lies in a file of its own, so that a log that
// was cut short is found out.
type head struct {
	Segment string `json:"segment"`
	// Size is that of the segment, in bytes.
	Size int64  `json:"size"`
	Seq  uint64 `json:"seq"`
	MAC  mac    `json:"mac"`
	Sig  mac    `json:"sig,omitempty"`
}

// headSize is the length of the file, one block of any disk.
const headSize = 512

var errHead = errors.New("audit: the head is damaged")

func (c chain) sign(h head) mac {
	h.Sig = ""
	body, err := json.Marshal(h)
	if err != nil {
		panic(err) // strings and numbers
	}
	return c.sum("head", body)
}

func (c chain) readHead(f *os.File) (h head, err error) {
	buf := make([]byte, headSize+1)
	n, err := f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return h, hidden("reading the head", err)
	}
	if n == 0 {
		return h, nil // nothing was ever written
	}
	if json.Unmarshal(bytes.TrimSpace(buf[:n]), &h) != nil || c.sign(h) != h.Sig {
		return head{}, errHead
	}
	return h, nil
}

// writeHead replaces the head. It fits one block, so it is never half there.
func (c chain) writeHead(f *os.File, h head) error {
	h.Sig = c.sign(h)
	body, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("audit: encoding the head: %w", err)
	}
	buf := bytes.Repeat([]byte{' '}, headSize)
	buf[headSize-1] = '\n'
	copy(buf, body)
	if _, err := f.WriteAt(buf, 0); err != nil {
		return hidden("writing the head", err)
	}
	return nil
}
