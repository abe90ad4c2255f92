package exec

import (
	"encoding/binary"
	"errors"
)

// Messages between the guest and a slot: one byte of kind and fields that are
// varints and length-prefixed byte strings (arguments are bytes, not text).
// Both ends are the same binary, so there is no version.
//
// Both count a slot's commands; that number, the turn, goes with whatever is
// meant for a running command, so that what comes too late does not hit the
// next one.
type kind byte

const (
	// guest to slot
	msgConfigure kind = iota + 1 // slotConfig
	msgStart                     // startRequest, with descriptors
	msgSignal                    // turn, number
	msgKill                      // turn: end the tree now
	// slot to guest
	msgReady   // Landlock's ABI version
	msgRefused // stage, errno: the slot cannot work
	msgStarted // pid
	msgFailed  // StartError
	msgExited  // wait status, nanoseconds: the sweep takes a moment
	msgEnded   // wait status, nanoseconds, left running, spoilt
)

// slotConfig is what the guest tells a fresh slot.
type slotConfig struct {
	form         form
	maxProcesses uint64
	unscoped     bool // do without Landlock
	unconfined   bool // leave the caller's rights
}

// startRequest is msgStart. Descriptors follow in the order of the fields.
type startRequest struct {
	stdin  bool // a descriptor for stdin is sent; else /dev/null
	tty    bool // one descriptor, the terminal, stands for all three streams
	script bool // a descriptor with a script is sent, to become 3
	body   bool // argv, env, dir and extra are in a descriptor, not in the message
	keep   bool // what the command leaves running is not ended with it
	extra  int  // one more descriptor is sent, to become this one; 0: none
	argv   []string
	env    []string
	dir    string
}

var errWire = errors.New("malformed message between guest and slot")

type encoder struct{ b []byte }

func newMessage(k kind) *encoder { return &encoder{b: []byte{byte(k)}} }

func (e *encoder) num(n uint64) *encoder {
	e.b = binary.AppendUvarint(e.b, n)
	return e
}

func (e *encoder) str(s string) *encoder {
	e.num(uint64(len(s)))
	e.b = append(e.b, s...)
	return e
}

func (e *encoder) list(l []string) *encoder {
	e.num(uint64(len(l)))
	for _, s := range l {
		e.str(s)
	}
	return e
}

func (e *encoder) flags(flags ...bool) *encoder {
	var n uint64
	for i, f := range flags {
		if f {
			n |= 1 << i
		}
	}
	return e.num(n)
}

// decoder reads what encoder wrote. After the first error everything reads as
// zero; err is looked at once, at the end.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) kind() kind {
	if len(d.b) == 0 {
		d.err = errWire
		return 0
	}
	k := kind(d.b[0])
	d.b = d.b[1:]
	return k
}

func (d *decoder) num() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.b, d.err = nil, errWire
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) str() string {
	n := d.num()
	if n > uint64(len(d.b)) {
		d.b, d.err = nil, errWire
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) list() []string {
	n := d.num()
	if n > uint64(len(d.b)) { // every string takes at least its length byte
		d.b, d.err = nil, errWire
		return nil
	}
	l := make([]string, 0, n)
	for range n {
		l = append(l, d.str())
	}
	return l
}

func (d *decoder) flags(flags ...*bool) {
	n := d.num()
	for i, f := range flags {
		*f = n&(1<<i) != 0
	}
}

// body encodes the part of a start request that can be large.
func (r *startRequest) appendBody(e *encoder) *encoder {
	return e.list(r.argv).list(r.env).str(r.dir).num(uint64(r.extra))
}

func (r *startRequest) readBody(d *decoder) {
	r.argv, r.env, r.dir = d.list(), d.list(), d.str()
	r.extra = int(min(d.num(), maxExtraFD))
}
