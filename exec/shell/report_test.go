package shell

import (
	"fmt"
	"strings"
	"testing"
)

func TestReports(t *testing.T) {
	const nonce = "0123456789abcdef"
	for name, c := range map[string]struct {
		in    []string
		want  int
		found bool
	}{
		"plain":             {[]string{"\x00" + nonce + ":0\x00"}, 0, true},
		"greatest":          {[]string{"\x00" + nonce + ":255\x00"}, 255, true},
		"in pieces":         {strings.Split("\x00"+nonce+":17\x00", ""), 17, true},
		"after rubbish":     {[]string{"0\n0\n\x00x:3\x00\x00" + nonce + "\x00" + "\x00" + nonce + ":4\x00"}, 4, true},
		"of another turn":   {[]string{"\x00fedcba9876543210:0\x00"}, 0, false},
		"too great":         {[]string{"\x00" + nonce + ":256\x00"}, 0, false},
		"negative":          {[]string{"\x00" + nonce + ":-1\x00"}, 0, false},
		"no number":         {[]string{"\x00" + nonce + ":\x00"}, 0, false},
		"without an end":    {[]string{"\x00" + nonce + ":1"}, 0, false},
		"wrong, then right": {[]string{"\x00" + nonce + ":x\x00" + nonce + ":5\x00"}, 5, true},
		"much, then right":  {[]string{strings.Repeat("\x00"+nonce+":", 5000), strings.Repeat("x", 100000), "\x00" + nonce + ":6\x00"}, 6, true},
	} {
		t.Run(name, func(t *testing.T) {
			var r reports
			status, found := 0, false
			for _, p := range c.in {
				if s, ok := r.add([]byte(p), nonce); ok {
					status, found = s, true
				}
			}
			if status != c.want || found != c.found {
				t.Errorf("want %d, %v, got %d, %v", c.want, c.found, status, found)
			}
			if len(r.seen) > maxReport {
				t.Errorf("%d bytes are kept", len(r.seen))
			}
		})
	}
}

func FuzzReports(f *testing.F) {
	f.Add([]byte("\x00ab:0\x00"), 3, uint8(7))
	f.Add([]byte("\x00ab:\x00ab:1\x00"), 1, uint8(0))
	f.Fuzz(func(t *testing.T, in []byte, cut int, status uint8) {
		var r reports
		cut = min(max(cut, 0), len(in))
		for _, p := range [][]byte{in[:cut], in[cut:]} {
			if s, ok := r.add(p, "ab"); ok && (s < 0 || s > 255) {
				t.Fatalf("status %d", s)
			}
			if len(r.seen) > maxReport {
				t.Fatalf("%d bytes are kept", len(r.seen))
			}
		}
		// Whatever came before, a true report is found.
		if s, ok := r.add(fmt.Appendf(nil, "\x00nonce:%d\x00", status), "nonce"); !ok || s != int(status) {
			t.Fatalf("want %d, got %d, %v", status, s, ok)
		}
	})
}

func FuzzState(f *testing.F) {
	f.Add([]byte("declare -r PWD=\"/x\"\n\x00\x00\x00\x00\x00set -o errexit\n\x00/x\n\x00end"))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00end"))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := parseState(in)
		if err != nil {
			return
		}
		s.dropReadonly()
		s.dropDisabled()
		s.dropErrexit()
		if names := s.dropReadonly(); len(names) > 0 {
			t.Fatalf("%v are read-only still", names)
		}
		if names := s.dropDisabled(); len(names) > 0 {
			t.Fatalf("%v are disabled still", names)
		}
		if s.dropErrexit() {
			t.Fatal("errexit is on still")
		}
		if dir := s.dir(); dir != "" && dir[0] != '/' {
			t.Fatalf("directory %q", dir)
		}
	})
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("12 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"))
	f.Add([]byte("12 (x"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if p := parseStat(12, in); p != nil && p.pid != 12 {
			t.Fatal(p)
		}
	})
}
