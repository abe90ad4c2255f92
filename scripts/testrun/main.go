package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	only := flag.String("only", "", "run only the steps whose name contains this text")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	r := newReport(os.Stdout)
	for _, s := range steps() {
		if ctx.Err() != nil {
			break
		}
		if !strings.Contains(s.name, *only) {
			continue
		}
		fmt.Printf("\n== %s\n", s.name)
		began := time.Now()
		s.run(ctx, r)
		fmt.Printf("== %s: %.0f s\n", s.name, time.Since(began).Seconds())
	}
	if !r.finish() || ctx.Err() != nil {
		os.Exit(1)
	}
}
