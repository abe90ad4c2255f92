package tool

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// values are the arguments and results of each tool.
var values = map[string][2]any{
	NameBash: {BashArguments{}, BashResult{}}, NameLs: {LsArguments{}, LsResult{Entries: []Entry{{}}}},
	NameReadFile: {ReadFileArguments{}, ReadFileResult{}}, NameWriteFile: {WriteFileArguments{}, WriteFileResult{}},
	NameStrReplace: {StrReplaceArguments{}, StrReplaceResult{Lines: []int{1}}}, NameGlob: {GlobArguments{}, GlobResult{Paths: []string{""}}},
	NameGrep: {GrepArguments{}, GrepResult{Matches: []Match{{}}}},
}

// fields are the JSON names of a struct; required those that are always there.
func fields(v any) (all, required []string) {
	for f := range reflect.TypeOf(v).Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		all = append(all, name)
		if options != "omitempty" {
			required = append(required, name)
		}
	}
	return all, required
}

// What agents are told is what the program takes and gives.
func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	if len(Specs()) != len(values) {
		t.Fatalf("there are %d tools", len(Specs()))
	}
	for _, spec := range Specs() {
		if spec.Title == "" || spec.Description == "" || spec.Annotations.Title != spec.Title {
			t.Errorf("%s: it is not described: %+v", spec.Name, spec)
		}
		for i, raw := range []json.RawMessage{spec.InputSchema, spec.OutputSchema} {
			var schema jsonschema.Schema
			if err := json.Unmarshal(raw, &schema); err != nil {
				t.Fatal(err)
			}
			if i == 0 && (len(schema.Required) == 0 || schema.Required[0] != "description" || !strings.HasPrefix(string(raw), `{"type":"object","properties":{"description":`)) {
				t.Errorf("%s: the description is not the first argument, and required", spec.Name)
			}
			all, required := fields(values[spec.Name][i])
			var told []string
			for name, p := range schema.Properties {
				told = append(told, name)
				if p.Description == "" {
					t.Errorf("%s: %s is not described", spec.Name, name)
				}
			}
			slices.Sort(told)
			slices.Sort(all)
			if !slices.Equal(told, all) {
				t.Errorf("%s: the schema has %v, the type %v", spec.Name, told, all)
			}
			slices.Sort(required)
			if got := slices.Sorted(slices.Values(schema.Required)); !slices.Equal(got, required) {
				t.Errorf("%s: the schema requires %v, the type always has %v", spec.Name, got, required)
			}
			resolved, err := schema.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			if i == 1 {
				var result any
				if b, err := json.Marshal(values[spec.Name][1]); err != nil || json.Unmarshal(b, &result) != nil {
					t.Fatal(err)
				}
				if err := resolved.Validate(result); err != nil {
					t.Errorf("%s: a result breaks the schema: %v", spec.Name, err)
				}
			}
		}
	}
	if _, ok := SpecOf("../schema/bash"); ok {
		t.Error("a tool that is none has a specification")
	}
}
