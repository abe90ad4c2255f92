package config

import "strings"

// suggest returns the known key that an unknown one most likely is meant to
// be, or "".
func suggest(unknown string, known []Key) string {
	best, least := "", 3
	for _, k := range known {
		// The right name at the wrong level is the nearest mistake.
		d := distance(unknown, k.Name)
		if last(unknown) == last(k.Name) {
			d = min(d, 1)
		} else {
			d = min(d, 1+distance(last(unknown), last(k.Name)))
		}
		if d < least && d < len(last(unknown)) {
			best, least = k.Name, d
		}
	}
	return best
}

func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// distance is Levenshtein's, of the first 64 bytes.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
