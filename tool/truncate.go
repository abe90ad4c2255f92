package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// bashMarker stands where the middle of an output was taken out.
const bashMarker = "\n[middle truncated: %d chars skipped]\n"

// middle cuts a text of more than limit characters in the middle, with a marker
// in place of what is taken out, so that the whole has at most limit of them.
// omitted are characters that are missing from the text already and count as
// skipped. Where not even the marker has room, the head alone is kept. A limit
// of 0 cuts nothing.
func middle(text string, limit, omitted int, marker string) (cut string, skipped int) {
	n := utf8.RuneCountInString(text)
	if limit <= 0 || n <= limit {
		return text, 0
	}
	// What is skipped makes room for the marker, whose length depends on how
	// much is skipped. Both only grow, so this ends.
	kept := limit
	mark := ""
	for {
		mark = fmt.Sprintf(marker, n-kept+omitted)
		room := limit - utf8.RuneCountInString(mark)
		if room < 0 {
			return text[:runes(text, limit)], n - limit + omitted
		}
		if room >= kept {
			break
		}
		kept = room
	}
	head := kept / 2
	tail := kept - head
	return text[:runes(text, head)] + mark + text[lastRunes(text, tail):], n - kept + omitted
}

// head cuts a text of more than limit characters behind its head, at the end
// of a line where one is near, and adds a marker that tells how many of how
// many are shown; the whole has at most limit characters. shown is the length
// of what is kept, in bytes.
func head(text string, limit int, marker func(kept string, chars, of int) string) (cut string, shown int) {
	n := utf8.RuneCountInString(text)
	if limit <= 0 || n <= limit {
		return text, len(text)
	}
	room := limit
	for {
		kept := text[:runes(text, room)]
		if i := strings.LastIndexByte(kept, '\n') + 1; i > len(kept)/2 {
			kept = kept[:i]
		}
		mark := marker(kept, utf8.RuneCountInString(kept), n)
		if strings.HasSuffix(kept, "\n") {
			mark = strings.TrimPrefix(mark, "\n")
		}
		over := utf8.RuneCountInString(kept) + utf8.RuneCountInString(mark) - limit
		if over <= 0 {
			return kept + mark, len(kept)
		}
		if room -= over; room <= 0 {
			// No room for the marker: the head alone.
			return text[:runes(text, limit)], runes(text, limit)
		}
	}
}

// runes is the length of the first n characters of a text, in bytes.
func runes(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

// lastRunes is where the last n characters of a text begin.
func lastRunes(text string, n int) int {
	i := len(text)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
	}
	return i
}
