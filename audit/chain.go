package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Each line carries a MAC over the MAC of the line before it and its own
// bytes, so that none can be changed, taken out, put in or moved without the
// key. It is the last field, so that what it covers is the line before it.
const (
	macField  = `,"mac":"`
	macEnd    = `"}`
	macLength = 2 * sha256.Size
	tailBytes = len(macField) + macLength + len(macEnd)
)

type mac = string

// chain makes and checks MACs.
type chain struct{ key []byte }

// start is what stands in for the MAC before the first record of a log.
func (c chain) start() mac { return c.sum("", []byte("sandboxfs audit log")) }

func (c chain) sum(previous mac, body []byte) mac {
	h := hmac.New(sha256.New, c.key)
	h.Write([]byte(previous))
	h.Write([]byte{0})
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// seal makes a record's line, with its line feed, and its MAC.
func (c chain) seal(previous mac, r Record) ([]byte, mac, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // people read it
	if err := encoder.Encode(r); err != nil {
		return nil, "", fmt.Errorf("audit: encoding a record: %w", err)
	}
	body := bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	sum := c.sum(previous, body)
	line := append(body[:len(body)-1], macField...)
	line = append(line, sum...)
	return append(line, macEnd+"\n"...), sum, nil
}

var errLine = errors.New("audit: the line is no record")

// parseLine takes a line apart, without its line feed.
func parseLine(line []byte) (r Record, body []byte, sum mac, err error) {
	at := len(line) - tailBytes
	if at < 1 || !bytes.Equal(line[at:at+len(macField)], []byte(macField)) || !bytes.HasSuffix(line, []byte(macEnd)) {
		return r, nil, "", errLine
	}
	sum = string(line[at+len(macField) : len(line)-len(macEnd)])
	body = append(bytes.Clone(line[:at]), '}')
	if err := json.Unmarshal(body, &r); err != nil {
		return r, nil, "", errLine
	}
	return r, body, sum, nil
}

// follows reports whether a line comes after the one with a MAC.
func (c chain) follows(previous mac, body []byte, sum mac) bool {
	return hmac.Equal([]byte(c.sum(previous, body)), []byte(sum))
}
