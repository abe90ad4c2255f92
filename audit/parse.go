package audit

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parse reads a text as bash. bash runs a list of commands line by line, so
// what stands before an error is run: it comes back as statements, and what
// could not be read as rest.
func parse(text string) (stmts []*syntax.Stmt, rest string) {
	return parseEnded(text, 0)
}

// maxDocuments bounds the here-documents without an end in one text.
const maxDocuments = 8

func parseEnded(text string, documents int) (stmts []*syntax.Stmt, rest string) {
	p := syntax.NewParser(syntax.Variant(syntax.LangBash))
	for s, err := range p.StmtsSeq(strings.NewReader(text)) {
		if err == nil {
			stmts = append(stmts, s)
			continue
		}
		if ended, ok := endDocument(text, err); ok && documents < maxDocuments {
			return parseEnded(ended, documents+1)
		}
		at := 0
		if n := len(stmts); n > 0 {
			at = min(int(stmts[n-1].End().Offset()), len(text))
		}
		return stmts, text[at:]
	}
	return stmts, ""
}

// endDocument adds the line that a here-document lacks. bash takes the end of
// the text for it, with a warning.
func endDocument(text string, err error) (string, bool) {
	var e syntax.ParseError
	if !errors.As(err, &e) || !strings.Contains(e.Text, "here-document") {
		return "", false
	}
	_, word, ok := strings.Cut(e.Text, "here-document")
	if !ok {
		return "", false
	}
	word = strings.Trim(strings.TrimSpace(word), "`'\"")
	if word == "" || strings.HasSuffix(text, "\n"+word+"\n") {
		return "", false
	}
	return strings.TrimSuffix(text, "\n") + "\n" + word + "\n", true
}

// source is the text of a node.
func (r *reading) source(n syntax.Node) string {
	if n == nil {
		return ""
	}
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(r.command) || from > to {
		return ""
	}
	return strings.TrimSpace(r.command[from:to])
}
