// Command agent shows an agent's loop over the tools: a turn, a set of tools, and
// calls with arguments as a model writes them. What stands for the model is a
// list of calls. docs/EMBEDDING.md explains it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/local"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/tool"
)

func main() {
	ctx := context.Background()
	p, err := local.New(provider.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Shutdown(ctx)
	state := map[string]string{} // what the framework stores with the conversation
	if err := turn(ctx, p, filepath.Join(os.TempDir(), "agent-audit"), state, script(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// call is what a model asks for.
type call struct {
	Name      string
	Arguments json.RawMessage
}

// script stands for a model.
func script() []call {
	return []call{
		{"write_file", json.RawMessage(`{"description": "the data", "path": "in.csv", "content": "a,1\nb,41\n"}`)},
		{"bash", json.RawMessage(`{"description": "add it up", "command": "awk -F, '{s += $2} END {print s}' in.csv"}`)},
		{"bash", json.RawMessage(`{"description": "clean up", "command": "rm -rf /"}`)},
	}
}

// turn runs one turn of a conversation.
func turn(ctx context.Context, p provider.Provider, auditDir string, state map[string]string, model []call, out io.Writer) error {
	gate, err := audit.Open(audit.Config{Dir: auditDir}) // one log for all threads
	if err != nil {
		return err
	}
	defer gate.Close()
	t := provider.NewTurn(p, mapping.Key{Thread: "demo"}, provider.TurnOptions{StoredID: state["sandbox"]})
	defer t.After(ctx) // the sandbox lives on until it is idle too long
	tools, err := tool.New(t, tool.Options{Audit: gate, Provider: "local"})
	if err != nil {
		return err
	}
	for _, c := range model { // tool.Specs is what the model is told of them
		answer := tools.Call(ctx, c.Name, c.Arguments)
		fmt.Fprintf(out, "%s: %s\n", c.Name, answer.Text)
	}
	state["sandbox"] = tools.ID() // empty where no tool was called
	return nil
}
