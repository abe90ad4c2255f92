package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/scripts/bench/record"
)

// options are the flags.
type options struct {
	bin, dir, loopback, appendTo string
	rounds, warmUps              int
	limit                        time.Duration
	sizes                        sizes
}

func main() {
	var err error
	if len(os.Args) == 3 && os.Args[1] == workVerb {
		err = work(os.Args[2])
	} else {
		err = run(readFlags())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func readFlags() options {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "directory of the built programs")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "directory on the disk to measure; all is made below it and removed")
	flag.StringVar(&o.loopback, "loopback", "", "program of go-fuse's loopback example (default: build it)")
	flag.StringVar(&o.appendTo, "append", "", "file to append the table to")
	flag.IntVar(&o.rounds, "rounds", 7, "times that everything is measured")
	flag.DurationVar(&o.limit, "limit", 0, "begin no further round that would end later than this (default: none)")
	quick := flag.Bool("quick", false, "small sizes, at most three rounds, under two minutes")
	flag.Parse()
	o.sizes, o.warmUps = fullSizes(), 1
	if *quick {
		o.sizes, o.warmUps = quickSizes(), 0
		o.rounds = min(o.rounds, 3)
		o.limit = 100 * time.Second
	}
	return o
}

func run(o options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if o.rounds < 1 {
		return fmt.Errorf("-rounds %d: at least 1", o.rounds)
	}
	for _, path := range []*string{&o.bin, &o.dir} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	r := result{began: time.Now(), loadBefore: record.Load(), sizes: o.sizes, warmUps: o.warmUps, search: searchProgram()}
	if r.backing, err = filesystem(o.dir); err != nil {
		return err
	}
	s, err := newStage(ctx, o.dir, o.bin, o.loopback, o.sizes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	possible, missing := feasible(groups(), mayDrop())
	p := plan{groups: possible, subjects: s.subjects, warmUps: o.warmUps, rounds: o.rounds, limit: o.limit, began: r.began, progress: os.Stderr}
	if r.findings, err = p.measure(ctx, s.perform); err != nil {
		return err
	}
	r.missing = append(missing, r.missing...)
	for _, v := range s.subjects {
		r.subjects = append(r.subjects, v.name)
	}
	r.leftOut, r.passthrough = s.leftOut, s.passthrough
	r.loadAfter, r.took, r.machine = record.Load(), time.Since(r.began), record.Describe(o.bin)
	text := r.markdown()
	fmt.Print(text)
	return record.Append(o.appendTo, text)
}

// filesystem names the kind of filesystem that a directory is on.
func filesystem(dir string) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", fmt.Errorf("-dir %s: %w", dir, err)
	}
	known := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
		unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs",
	}
	if name, ok := known[int64(st.Type)]; ok {
		return name, nil
	}
	return fmt.Sprintf("a filesystem of type %#x", st.Type), nil
}
