package tool

import (
	"strings"
)

// near is the place of a text that is like another.
type near struct {
	line   int // from 1; 0 for none
	text   string
	spaces bool // they differ in white space alone
}

// Bounds of the search for a text that is like another: it is a service in an
// error, and must not take long.
const (
	nearestFile  = 1 << 20
	nearestLines = 200 // of the text that is looked for
	nearestLine  = 1000
	likeness     = 0.5 // below which nothing is alike
)

// nearest finds the place in a file that is most like a text: the lines that
// differ from it in white space alone, or else those whose pairs of letters
// are most like those of its longest line.
func nearest(content, old string) near {
	if len(content) > nearestFile {
		content = content[:nearestFile]
	}
	have := strings.Split(content, "\n")
	want := strings.Split(strings.Trim(old, "\n"), "\n")
	if len(want) > nearestLines {
		want = want[:nearestLines]
	}
	if n, ok := sameButSpaces(have, want); ok {
		return near{n + 1, excerptOf(have, n, len(want)), true}
	}
	longest := 0
	for i, l := range want {
		if len(strings.TrimSpace(l)) > len(strings.TrimSpace(want[longest])) {
			longest = i
		}
	}
	probe := pairs(want[longest])
	best, at := likeness, -1
	for i, l := range have {
		if len(l) > nearestLine {
			l = l[:nearestLine]
		}
		if a := alike(probe, pairs(l)); a > best {
			best, at = a, i
		}
	}
	if at < 0 {
		return near{}
	}
	first := max(at-longest, 0)
	return near{first + 1, excerptOf(have, first, len(want)), false}
}

// sameButSpaces finds lines that are equal but for white space.
func sameButSpaces(have, want []string) (line int, ok bool) {
	squeezed := make([]string, len(want))
	empty := true
	for i, l := range want {
		squeezed[i] = strings.Join(strings.Fields(l), " ")
		empty = empty && squeezed[i] == ""
	}
	if empty {
		return 0, false
	}
	for i := 0; i+len(want) <= len(have); i++ {
		same := true
		for k := range want {
			got := strings.Join(strings.Fields(have[i+k]), " ")
			// The ends of the text may lie within lines.
			switch {
			case len(want) == 1:
				same = strings.Contains(got, squeezed[k])
			case k == 0:
				same = strings.HasSuffix(got, squeezed[k])
			case k == len(want)-1:
				same = strings.HasPrefix(got, squeezed[k])
			default:
				same = got == squeezed[k]
			}
			if !same {
				break
			}
		}
		if same {
			return i, true
		}
	}
	return 0, false
}

// excerptOf is some lines as one text.
func excerptOf(lines []string, first, n int) string {
	return strings.TrimRight(strings.ToValidUTF8(strings.Join(lines[first:min(first+n, len(lines))], "\n"), "\uFFFD"), "\r\n")
}

// pairs counts the pairs of bytes of a line, without white space at its ends.
func pairs(line string) map[[2]byte]int {
	line = strings.ToLower(strings.TrimSpace(line))
	set := make(map[[2]byte]int, len(line))
	for i := 0; i+1 < len(line); i++ {
		set[[2]byte{line[i], line[i+1]}]++
	}
	return set
}

// alike is Dice's coefficient of two sets of pairs: 0 for nothing in common, 1
// for all.
func alike(a, b map[[2]byte]int) float64 {
	total, common := 0, 0
	for _, n := range a {
		total += n
	}
	for p, n := range b {
		total += n
		common += min(n, a[p])
	}
	if total == 0 {
		return 0
	}
	return 2 * float64(common) / float64(total)
}
