package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sandboxfs/sandboxfs/scripts/bench/record"
)

func main() {
	bin := flag.String("bin", "bin", "directory of the built programs")
	rounds := flag.Int("rounds", 40, "times that each subject is measured")
	appendTo := flag.String("append", "", "file to append the tables to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin, *rounds, *appendTo); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin string, rounds int, appendTo string) error {
	if rounds < 1 {
		return fmt.Errorf("-rounds %d: at least 1", rounds)
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, bin)
	if err != nil {
		return err
	}
	defer b.close()

	r := result{began: time.Now(), loadBefore: record.Load(), rounds: rounds}
	if r.times, err = measure(ctx, b.subjects(), rounds, os.Stderr); err != nil {
		return err
	}
	if r.memory, err = b.idleMemory(ctx); err != nil {
		return err
	}
	r.isolation = b.isolation
	r.loadAfter = record.Load()
	r.machine = record.Describe(bin)

	text := r.markdown()
	fmt.Print(text)
	return record.Append(appendTo, text)
}
