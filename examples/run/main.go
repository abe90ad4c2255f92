// Command run is the smallest program that embeds sandboxfs: a thread's command
// and file tools. It does nothing that docs/EMBEDDING.md does not show, which
// is the place to read next.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/sandboxfs/sandboxfs/local"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := local.New(provider.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Shutdown(ctx)
	if err := work(ctx, p, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func work(ctx context.Context, p provider.Provider, out io.Writer) error {
	id, err := p.Acquire(ctx, mapping.Key{Thread: "demo"}) // found, or started
	if err != nil {
		return err
	}
	sandbox, err := p.Get(id)
	if err != nil {
		return err
	}
	if err := sandbox.WriteFile(ctx, mapping.Workspace+"/in.csv", []byte("a,1\nb,41\n"), provider.Replace); err != nil {
		return err
	}
	result, err := sandbox.Execute(ctx, provider.Command{Script: "awk -F, '{s += $2} END {print s}' in.csv | tee ../outputs/sum.txt"})
	if err != nil {
		return err // nothing ran; what ran and failed has an exit code
	}
	sum, err := sandbox.ReadFile(ctx, mapping.Outputs+"/sum.txt", provider.LineRange{})
	fmt.Fprintf(out, "status %d, printed %q, wrote %q\n", result.ExitCode, result.Stdout.Head, sum)
	return err
}
