package tool

import (
	"bytes"
	"embed"
	"encoding/json"
	"slices"
)

//go:embed schema/*.json
var schemas embed.FS

// Names of the tools.
const (
	NameBash       = "bash"
	NameLs         = "ls"
	NameReadFile   = "read_file"
	NameWriteFile  = "write_file"
	NameStrReplace = "str_replace"
	NameGlob       = "glob"
	NameGrep       = "grep"
)

// Names returns the names of all tools, in the order in which they are shown.
func Names() []string {
	return []string{NameBash, NameLs, NameReadFile, NameWriteFile, NameStrReplace, NameGlob, NameGrep}
}

// Spec is what an agent is told of a tool. Its JSON form is that of a tool in
// the Model Context Protocol.
type Spec struct {
	// Name is one of [Names].
	Name string `json:"name"`
	// Title is for people.
	Title string `json:"title"`
	// Description is for the model.
	Description string `json:"description"`
	// Annotations say what a call can do.
	Annotations Annotations `json:"annotations"`
	// InputSchema and OutputSchema are JSON schemas of the arguments and of
	// the result: of the type that the tool's method takes and returns.
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

// Annotations are the hints of the Model Context Protocol, all of them set.
type Annotations struct {
	Title           string `json:"title"`
	ReadOnlyHint    bool   `json:"readOnlyHint"`
	DestructiveHint bool   `json:"destructiveHint"`
	IdempotentHint  bool   `json:"idempotentHint"`
	OpenWorldHint   bool   `json:"openWorldHint"`
}

// Specs returns the specifications of all tools, in the order of [Names].
func Specs() []Spec {
	var all []Spec
	for _, name := range Names() {
		s, _ := SpecOf(name)
		all = append(all, s)
	}
	return all
}

// SpecOf returns one tool's specification; false if there is no such tool.
func SpecOf(name string) (Spec, bool) {
	if !slices.Contains(Names(), name) {
		return Spec{}, false
	}
	var s Spec
	text, err := schemas.ReadFile("schema/" + name + ".json")
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		panic("tool: the schema of " + name + " is part of the program: " + err.Error())
	}
	s.InputSchema, s.OutputSchema = compact(s.InputSchema), compact(s.OutputSchema)
	return s, true
}

func compact(text json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}
