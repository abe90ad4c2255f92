package exec

import (
	"reflect"
	"strings"
	"testing"
)

func TestStartRequestRoundTrip(t *testing.T) {
	for _, r := range []startRequest{
		{argv: []string{"a"}, env: []string{}},
		{argv: []string{"a", "", "\xff\xfe", strings.Repeat("x", 1000)}, env: []string{"A=b", "C="}, dir: "/tmp"},
	} {
		d := &decoder{b: r.appendBody(&encoder{}).b}
		var got startRequest
		got.readBody(d)
		if d.err != nil || len(d.b) != 0 || !reflect.DeepEqual(got, r) {
			t.Errorf("want %+v, got %+v, %v, %d bytes left", r, got, d.err, len(d.b))
		}
	}
	var flags [4]bool
	d := &decoder{b: newMessage(msgStart).flags(true, false, false, true).b}
	if k := d.kind(); k != msgStart {
		t.Error(k)
	}
	if d.flags(&flags[0], &flags[1], &flags[2], &flags[3]); flags != [4]bool{true, false, false, true} {
		t.Error(flags)
	}
}

func FuzzDecoder(f *testing.F) {
	r := startRequest{argv: []string{"sh", "-c", "x"}, env: []string{"A=b"}, dir: "/"}
	f.Add(r.appendBody(&encoder{}).b)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{3, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var r startRequest
		d := &decoder{b: b}
		r.readBody(d)
		size := len(r.dir)
		for _, l := range [][]string{r.argv, r.env} {
			if len(l) > len(b) {
				t.Fatalf("%d strings from %d bytes", len(l), len(b))
			}
			for _, s := range l {
				size += len(s)
			}
		}
		if size > len(b) {
			t.Fatalf("%d bytes from %d", size, len(b))
		}
		if d.err != nil {
			return
		}
		again := &decoder{b: r.appendBody(&encoder{}).b}
		var got startRequest
		if got.readBody(again); again.err != nil || !reflect.DeepEqual(got, r) {
			t.Fatalf("want %+v, got %+v %v", r, got, again.err)
		}
	})
}
