package exec

import (
	"slices"
	"strings"
	"testing"
)

func TestLongScript(t *testing.T) {
	long := strings.Repeat("x", maxArgument)
	for _, tt := range []struct {
		argv []string
		at   int // where the script was, 0 for none
	}{
		{[]string{"bash", "-c", long}, 2},
		{[]string{"/bin/bash", "--norc", "--noprofile", "-c", long, "a0", "a1"}, 4},
		{[]string{"sh", "-ec", long}, 2},
		{[]string{"dash", "-e", "-c", long}, 3},
		{[]string{"bash", "-c", long[1:]}, 0},
		{[]string{"bash", "-c"}, 0},
		{[]string{"bash", long}, 0},
		{[]string{"bash", "file", "-c", long}, 0},
		{[]string{"python3", "-c", long}, 0},
		{[]string{"bash"}, 0},
	} {
		short, script, found := longScript(tt.argv)
		if !found {
			if tt.at != 0 || !slices.Equal(short, tt.argv) {
				t.Errorf("%.20q: not found", tt.argv)
			}
			continue
		}
		if tt.at == 0 || script != long || len(short) != len(tt.argv) || len(tt.argv[tt.at]) != maxArgument {
			t.Errorf("%.20q: %.40q", tt.argv, short)
			continue
		}
		for i := range short {
			if i != tt.at && short[i] != tt.argv[i] {
				t.Errorf("%.20q: argument %d is %.20q", tt.argv, i, short[i])
			}
		}
	}
}
