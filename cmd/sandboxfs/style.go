//go:build linux

package main

import (
	"io"
	"os"
)

// style colours text for a terminal, or leaves it as it is.
type style struct{ on bool }

// styleOf allows colour on a terminal, unless the environment says otherwise
// (NO_COLOR, see no-color.org, or a terminal without colours).
func styleOf(out io.Writer) style {
	f := fileOf(out)
	return style{on: f != nil && isTerminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (s style) bold(text string) string   { return s.sgr("1", text) }
func (s style) red(text string) string    { return s.sgr("31", text) }
func (s style) green(text string) string  { return s.sgr("32", text) }
func (s style) yellow(text string) string { return s.sgr("33", text) }

// sgr puts a text between "select graphic rendition" (ECMA-48) and its end.
func (s style) sgr(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\033[" + code + "m" + text + "\033[m"
}

// state colours the state of a sandbox.
func (s style) state(text string) string {
	switch text {
	case "running", "live", "ok":
		return s.green(text)
	case "starting", "unknown", "warn":
		return s.yellow(text)
	case "dead", "fail":
		return s.red(text)
	}
	return text
}

// defaultWidth is that of what is no terminal.
const defaultWidth = 80

// widthOf is the width of a terminal in columns.
func widthOf(out io.Writer) int {
	if f := fileOf(out); f != nil {
		if size := termSize(f); size != nil && size.Col > 0 {
			return int(size.Col)
		}
	}
	return defaultWidth
}
