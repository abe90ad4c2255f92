package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/scripts/bench/record"
)

// options are the flags.
type options struct {
	bin, dir, loopback, appendTo string
	user                         string
	rounds, warmUps              int
	limit                        time.Duration
	sizes                        sizes
	groups                       []group
	subjects                     []string
}

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == workVerb:
		err = work(os.Args[2])
	case len(os.Args) > 4 && os.Args[1] == asVerb:
		err = become(os.Args[2], os.Args[3], os.Args[4], os.Args[5:])
	default:
		var o options
		if o, err = readFlags(); err == nil {
			err = run(o)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func readFlags() (o options, err error) {
	flag.StringVar(&o.bin, "bin", "bin", "directory of the built programs")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "directory on the disk to measure; all is made below it and removed")
	flag.StringVar(&o.loopback, "loopback", "", "program of go-fuse's loopback example (default: build it)")
	flag.StringVar(&o.appendTo, "append", "", "file to append the table to")
	flag.StringVar(&o.user, "user", "", "measure as this ordinary user; nothing is done where it is not root who asks")
	flag.IntVar(&o.rounds, "rounds", 7, "times that everything is measured")
	flag.DurationVar(&o.limit, "limit", 20*time.Minute, "measure no longer than this: begin no round that would end later, and nothing after it; 0 for none")
	quick := flag.Bool("quick", false, "small sizes, at most three rounds, under two minutes")
	rows := flag.String("rows", "", "only these `rows` of the table, and those measured with them: names or beginnings of them, with commas between")
	subjects := flag.String("subjects", "", "only these `columns` of the table beside plain")
	flag.Parse()
	if o.groups, err = chooseGroups(*rows); err != nil {
		return o, err
	}
	if o.subjects, err = chooseSubjects(*subjects); err != nil {
		return o, err
	}
	o.sizes, o.warmUps = fullSizes(), 1
	if *quick {
		o.sizes, o.warmUps = quickSizes(), 0
		o.rounds = min(o.rounds, 3)
		o.limit = min(o.limit, 85*time.Second)
	}
	return o, nil
}

// chooseGroups returns the groups that measure a row whose name begins like
// one of a list; all where the list is empty.
func chooseGroups(list string) (chosen []group, err error) {
	if list == "" {
		return groups(), nil
	}
	wanted := map[string]bool{}
	for _, prefix := range strings.Split(list, ",") {
		found := false
		for _, g := range groups() {
			if slices.ContainsFunc(g.rows, func(row string) bool { return strings.HasPrefix(row, prefix) }) {
				found, wanted[g.name] = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("-rows: no row begins with %q", prefix)
		}
	}
	return slices.DeleteFunc(groups(), func(g group) bool { return !wanted[g.name] }), nil
}

// chooseSubjects returns the subjects of a list, and plain; all where the list
// is empty.
func chooseSubjects(list string) ([]string, error) {
	if list == "" {
		return order(), nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(order(), name) {
			return nil, fmt.Errorf("-subjects: %q is none of %s", name, strings.Join(order(), ", "))
		}
	}
	return append(names, plain), nil
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
	if o.user != "" {
		return runAs(ctx, o, os.Args[1:])
	}
	r := result{began: time.Now(), loadBefore: record.Load(), sizes: o.sizes, warmUps: o.warmUps, search: searchProgram()}
	if r.backing, err = filesystem(o.dir); err != nil {
		return err
	}
	s, err := newStage(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	possible, missing := feasible(o.groups, mayDrop())
	p := plan{groups: possible, subjects: s.subjects, warmUps: o.warmUps, rounds: o.rounds, limit: o.limit, began: time.Now(), progress: os.Stderr}
	if r.findings, err = p.measure(ctx, s.perform); err != nil {
		return fmt.Errorf("it was ended before it was done: %w", err)
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
