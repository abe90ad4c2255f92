package audit

import (
	"strings"
)

var (
	// commandEnds are where another command may begin, wherever they stand.
	commandEnds = lazy("&&|\\|\\||\\$\\(|[;\n(){}`&]")
	// redirected finds the targets of redirections.
	redirected = lazy(`(>>?\|?|<)\s*([^\s<>|]+)`)
	unquote    = strings.NewReplacer(`"`, "", `'`, "", `\`, "")
)

// lexical judges a text that is no shell grammar by its words. Quotes do not
// count, so what is data in them is taken for a command: a doubt counts
// against it.
func (r *reading) lexical(text string) {
	r.engine("unparsed", text)
	plain := unquote.Replace(text)
	for _, list := range commandEnds().Split(plain, -1) {
		stages := strings.Split(list, "|")
		for i, stage := range stages {
			if !r.spend() {
				return
			}
			c := &call{part: strings.TrimSpace(list)}
			for _, m := range redirected().FindAllStringSubmatch(stage, maxItems) {
				if m[1] == "<" {
					c.reads = append(c.reads, m[2])
				} else {
					c.writes = append(c.writes, m[2])
				}
			}
			words := strings.Fields(redirected().ReplaceAllString(stage, " "))
			for len(words) > 0 {
				name, value, ok := strings.Cut(words[0], "=")
				if !ok || strings.ContainsAny(name, "/-.") {
					break
				}
				c.assigns = append(c.assigns, assignment{name, value})
				words = words[1:]
			}
			if len(words) > 0 {
				c.name, c.args = programName(words[0]), words[1:]
			}
			if i > 0 {
				c.stdin, c.fed = mark(unknown), true
				if words := strings.Fields(stages[i-1]); len(words) > 0 && r.rules.in("download", programName(words[0])) {
					c.stdin = mark(downloaded)
				}
			}
			r.run(c)
		}
	}
}
