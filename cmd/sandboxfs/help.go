//go:build linux

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// The purposes by which help groups the verbs: each command names one in its
// Category.
const (
	categoryRun       = "Run commands"
	categoryFiles     = "Threads and their files"
	categorySandboxes = "Sandboxes"
	categorySetup     = "Setup"
)

// categories is the order in which help shows the groups; a verb of none comes
// last.
var categories = [...]string{categoryRun, categoryFiles, categorySandboxes, categorySetup, ""}

// maxHelpWidth keeps lines readable on a wide terminal.
const maxHelpWidth = 100

// printHelp prints the help of the program, or of a verb, in the width of the
// terminal. The template that package cli offers is not used: it can neither
// order the groups nor wrap what stands in columns.
func printHelp(out io.Writer, _ string, data any) {
	h := &helpPage{out: out, style: styleOf(out), width: min(widthOf(out), maxHelpWidth)}
	switch what := data.(type) {
	case *cli.App:
		h.program(what)
	case *cli.Command:
		h.verb(what)
	}
}

// helpPage is where a help text is written.
type helpPage struct {
	out   io.Writer
	style style
	width int
}

func (h *helpPage) program(app *cli.App) {
	fmt.Fprintf(h.out, "%s: %s\n\n", app.Name, app.Usage)
	fmt.Fprintf(h.out, "Usage: %s VERB [flags] ...\n", app.Name)
	h.groups(app.Commands)
	var rows [][2]string
	for _, flag := range app.VisibleFlags() {
		rows = append(rows, flagRow(flag))
	}
	h.section("Flags before the verb", rows)
	fmt.Fprintf(h.out, "\n%s help VERB says what a verb takes.\n", app.Name)
}

func (h *helpPage) groups(commands []*cli.Command) {
	for _, category := range categories {
		var rows [][2]string
		for _, c := range commands {
			if c.Category == category && !c.Hidden && c.Name != "help" {
				rows = append(rows, [2]string{strings.Join(c.Names(), ", "), c.Usage})
			}
		}
		if len(rows) == 0 {
			continue
		}
		if category == "" {
			category = "Others"
		}
		h.section(category, rows)
	}
}

func (h *helpPage) verb(c *cli.Command) {
	name := c.HelpName
	if name == "" {
		name = c.Name
	}
	fmt.Fprintf(h.out, "%s: %s\n\n", name, c.Usage)
	usage := c.UsageText
	if usage == "" {
		usage = name + " [flags]"
		if len(c.Subcommands) > 0 {
			usage += " [VERB]"
		}
		if c.ArgsUsage != "" {
			usage += " " + c.ArgsUsage
		}
	}
	fmt.Fprintf(h.out, "Usage: %s\n", usage)
	for _, paragraph := range strings.Split(c.Description, "\n\n") {
		if paragraph == "" {
			continue
		}
		fmt.Fprintln(h.out)
		for _, line := range wrapParagraph(paragraph, h.width) {
			fmt.Fprintln(h.out, line)
		}
	}
	h.groups(c.Subcommands)
	var rows [][2]string
	for _, flag := range c.VisibleFlags() {
		rows = append(rows, flagRow(flag))
	}
	h.section("Flags", rows)
}

// flagRow is "-C, --workdir DIRECTORY" and what it does.
func flagRow(flag cli.Flag) [2]string {
	var short, long []string
	for _, name := range flag.Names() {
		if len(name) == 1 {
			short = append(short, "-"+name)
		} else {
			long = append(long, "--"+name)
		}
	}
	left := strings.Join(append(short, long...), ", ")
	if len(short) == 0 {
		left = "    " + left // in line with those that have a letter
	}
	doc, ok := flag.(cli.DocGenerationFlag)
	if !ok {
		return [2]string{left, ""}
	}
	usage := doc.GetUsage()
	if doc.TakesValue() {
		value := "VALUE"
		if before, rest, ok := strings.Cut(usage, "`"); ok {
			if name, after, ok := strings.Cut(rest, "`"); ok {
				value, usage = strings.ToUpper(name), before+name+after
			}
		}
		left += " " + value
		if text := strings.Trim(doc.GetDefaultText(), `"`); text != "" && text != "0" && !strings.Contains(usage, "default") {
			usage += fmt.Sprintf(" (default: %s)", text)
		}
	}
	if env := doc.GetEnvVars(); len(env) > 0 {
		usage += " [$" + strings.Join(env, ", $") + "]"
	}
	return [2]string{left, usage}
}

// section prints two columns under a heading.
func (h *helpPage) section(title string, rows [][2]string) {
	fmt.Fprintf(h.out, "\n%s\n", h.style.bold(title+":"))
	const maxLeft = 28
	left := 0
	for _, row := range rows {
		if len(row[0]) <= maxLeft {
			left = max(left, len(row[0]))
		}
	}
	for _, row := range rows {
		indent := 2 + left + 2
		first := fmt.Sprintf("  %-*s  ", left, row[0])
		lines := wrapWords(row[1], max(h.width-indent, 20))
		if len(row[0]) > left {
			fmt.Fprintf(h.out, "  %s\n", row[0])
			first = strings.Repeat(" ", indent)
		}
		for i, line := range lines {
			if i > 0 {
				first = strings.Repeat(" ", indent)
			}
			fmt.Fprintf(h.out, "%s%s\n", first, line)
		}
	}
}

// wrapParagraph wraps a text, but for one that is indented, as an example is.
func wrapParagraph(text string, width int) []string {
	if strings.HasPrefix(text, " ") {
		return strings.Split(text, "\n")
	}
	return wrapWords(text, width)
}

// wrapWords cuts a text into lines of at most width bytes; a longer word has a
// line of its own.
func wrapWords(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
