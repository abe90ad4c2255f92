package local_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sandboxfs/sandboxfs/local"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// A program runs a thread's command and reads a file that it wrote. The
// sandbox is started by Acquire and ends when it has been idle for ten
// minutes.
func Example() {
	ctx := context.Background()
	p, err := local.New(provider.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Shutdown(ctx)
	id, err := p.Acquire(ctx, mapping.Key{Thread: "demo"})
	if err != nil {
		log.Fatal(err)
	}
	sandbox, err := p.Get(id)
	if err != nil {
		log.Fatal(err)
	}
	result, err := sandbox.Execute(ctx, provider.Command{Script: "date >now; wc -c <now"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("status %d, %s bytes\n", result.ExitCode, result.Stdout.Head)
	now, err := sandbox.ReadFile(ctx, mapping.Workspace+"/now", provider.LineRange{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("it was %s", now)
}
