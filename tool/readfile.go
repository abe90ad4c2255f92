package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/provider"
)

// ReadFileArguments are those of read_file.
type ReadFileArguments struct {
	Description string `json:"description"`
	Path        string `json:"path"`
	// StartLine and EndLine count from 1 and are inclusive; nil means from
	// the start, and to the end.
	StartLine *int `json:"start_line,omitempty"`
	EndLine   *int `json:"end_line,omitempty"`
}

// ReadFileResult is a file's text, or some lines of it.
type ReadFileResult struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	// StartLine and EndLine are the lines in Content; EndLine is 0 where
	// there are none.
	StartLine int `json:"start_line"`
	EndLine   int `json:"end_line"`
	// Bytes is the size of what was read, before it was cut.
	Bytes     int64 `json:"bytes"`
	Truncated bool  `json:"truncated"`
	// NextLine is where to read on; 0 where the text was not cut.
	NextLine int `json:"next_line,omitempty"`
	// Encoding is "utf-8", or "unknown" where bytes are shown as \xNN.
	Encoding string `json:"encoding"`

	text string
}

// Text implements [Result].
func (r *ReadFileResult) Text() string { return r.text }

// Encodings of a file.
const (
	EncodingUTF8    = "utf-8"
	EncodingUnknown = "unknown"
)

// ReadFile reads a text file, or lines of it. Kinds: those of the sandbox's
// ReadFile; invalid also for lines that are not there and for binary files.
func (s *Set) ReadFile(ctx context.Context, a ReadFileArguments) (*ReadFileResult, error) {
	p, err := s.place(NameReadFile, a.Path)
	if err != nil {
		return nil, err
	}
	lines, err := lineRange(a)
	if err != nil {
		return nil, err
	}
	r := &ReadFileResult{Path: p, StartLine: max(lines.Start, 1), Encoding: EncodingUTF8}
	err = s.file(ctx, fileCall{NameReadFile, a.Description, p, ""}, func(sandbox provider.Sandbox) (audit.Outcome, error) {
		if err := s.read(ctx, sandbox, r, lines); err != nil {
			return audit.Outcome{}, err
		}
		return audit.Outcome{Bytes: r.Bytes, Truncated: r.Truncated}, nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func lineRange(a ReadFileArguments) (provider.LineRange, error) {
	var lines provider.LineRange
	const next = "lines count from 1"
	if a.StartLine != nil {
		if lines.Start = *a.StartLine; lines.Start < 1 {
			return lines, invalid(NameReadFile, fmt.Sprintf("start_line must be >= 1, and is %d", lines.Start), next)
		}
	}
	if a.EndLine != nil {
		if lines.End = *a.EndLine; lines.End < 1 {
			return lines, invalid(NameReadFile, fmt.Sprintf("end_line must be >= 1, and is %d", lines.End), next)
		}
	}
	if lines.End != 0 && lines.Start > lines.End {
		return lines, invalid(NameReadFile, fmt.Sprintf("start_line > end_line: %d > %d", lines.Start, lines.End), "give a start_line that is not greater")
	}
	return lines, nil
}

// largePart is how many lines of a file that is too large are shown, where it
// was not said how many.
const largePart = 1000

func (s *Set) read(ctx context.Context, sandbox provider.Sandbox, r *ReadFileResult, lines provider.LineRange) error {
	content, err := sandbox.ReadFile(ctx, r.Path, lines)
	part := false // of a file that is too large to be read whole
	for n := largePart; errors.Is(err, provider.TooLarge) && lines.End == 0 && n > 0; n /= 10 {
		var some []byte
		if some, err = sandbox.ReadFile(ctx, r.Path, provider.LineRange{Start: r.StartLine, End: r.StartLine + n - 1}); err == nil {
			content, part = some, true
		}
	}
	if err != nil {
		return hint(err, map[provider.Kind]string{
			provider.TooLarge: "read fewer lines with start_line and end_line, search it with grep, or look at a part of it with bash (head -c, tail -c, cut)",
			provider.NotFound: "list " + parent(r.Path) + " with ls, or find the file with glob",
		})
	}
	r.Bytes = int64(len(content))
	if len(content) == 0 && lines.Start > 1 {
		return s.pastTheEnd(ctx, sandbox, r.Path, lines.Start)
	}
	if err := refuseBinary(r.Path, content); err != nil {
		return err
	}
	if s.marks != nil && lines.IsAll() && !part {
		s.marks.put(r.Path, content)
	}
	s.show(r, content, !lines.IsAll() || part, part)
	return nil
}

// pastTheEnd says how many lines there are.
func (s *Set) pastTheEnd(ctx context.Context, sandbox provider.Sandbox, p string, start int) error {
	reason := fmt.Sprintf("start_line %d is beyond the end of the file", start)
	if all, err := sandbox.ReadFile(ctx, p, provider.LineRange{}); err == nil {
		reason += ", which has " + count(lineCount(all), "line", "lines")
	}
	return &provider.Error{Kind: provider.Invalid, Op: NameReadFile, Path: p, Reason: reason, Next: "give a smaller start_line"}
}

func lineCount(b []byte) int {
	n := bytes.Count(b, []byte{'\n'})
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

// binaryProbe is how much of a file is looked at for NUL bytes.
const binaryProbe = 8192

// refuseBinary refuses what is not text, with what to do about it.
func refuseBinary(p string, content []byte) error {
	refuse := func(what, next string) error {
		return &provider.Error{Kind: provider.Invalid, Op: NameReadFile, Path: p, Reason: what, Next: next}
	}
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(content, []byte(mark)) && len(content)%2 == 0 {
			return refuse("this is text in UTF-16, not UTF-8", "convert it with bash: iconv -f UTF-16 -t UTF-8 FILE > OTHER, and read that")
		}
	}
	if bytes.IndexByte(content[:min(len(content), binaryProbe)], 0) >= 0 {
		return refuse("this is a binary file, not text", "use bash to look at it: file, xxd, strings, or a program for its kind")
	}
	return nil
}

// show makes the answer of what was read.
func (s *Set) show(r *ReadFileResult, content []byte, ranged, part bool) {
	text, broken := string(content), brokenBytes(content)
	notes := ""
	if broken > 0 {
		r.Encoding = EncodingUnknown
		text = escapeBroken(content)
		notes += fmt.Sprintf("\n[This file is not UTF-8: %s shown as \\xNN. The file is unchanged. To work with the whole text convert a copy with iconv in bash]", count(broken, "byte is", "bytes are"))
	}
	if part {
		r.Truncated = true
		r.NextLine = r.StartLine + lineCount(content)
		notes += fmt.Sprintf("\n[truncated: showing lines %d to %d of a file of more than 16 MiB. Read on with start_line=%d, or use grep]", r.StartLine, r.NextLine-1, r.NextLine)
	}
	r.Content = text
	r.EndLine = r.StartLine + lineCount(content) - 1
	if len(content) == 0 {
		r.EndLine, r.text = 0, "(empty)"
		return
	}
	if ranged { // lines are joined by their ends, and have none behind the last
		text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	}
	room := s.o.Limits.ReadFile
	if room > 0 {
		room = max(room-utf8.RuneCountInString(notes), 1)
	}
	cut, n := head(text, room, func(kept string, chars, of int) string {
		next := r.StartLine + strings.Count(kept, "\n")
		if next == r.StartLine { // one line, which no range of lines divides
			return fmt.Sprintf("\n[truncated: showing first %d of %d chars. Line %d is longer than what can be shown: use grep, or bash with cut -c; after it read on with start_line=%d]", chars, of, next, next+1)
		}
		return fmt.Sprintf("\n[truncated: showing first %d of %d chars. Read on with start_line=%d, or give start_line and end_line for a part]", chars, of, next)
	})
	if n < len(text) {
		r.Truncated = true
		r.NextLine = r.StartLine + max(strings.Count(text[:n], "\n"), 1)
		r.Content, r.EndLine = text[:n], r.StartLine+lineCount([]byte(text[:n]))-1
	}
	r.text = cut + notes
	if s.o.Limits.ReadFile > 0 {
		r.text = r.text[:runes(r.text, s.o.Limits.ReadFile)]
	}
}

// escapeBroken writes bytes that are not UTF-8 as \xNN.
func escapeBroken(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&out, `\x%02X`, b[0])
		} else {
			out.Write(b[:size])
		}
		b = b[size:]
	}
	return out.String()
}
