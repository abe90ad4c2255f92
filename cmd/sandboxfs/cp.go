//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

func cpCommand() *cli.Command {
	return &cli.Command{
		Name:      "cp",
		Category:  categoryFiles,
		Usage:     "copy files and directories into a thread, out of it, or between threads",
		ArgsUsage: "SOURCE... DESTINATION",
		Description: "THREAD:PATH and USER:THREAD:PATH are in a thread; a relative path is below\n" +
			"/mnt/user-data, so that demo:uploads/ is its uploads. Anything else is a file of this\n" +
			"machine; one with a colon is written ./a:b.\n\n" +
			"Directories are copied whole, and DIR/. is what is in one. Into a directory that exists,\n" +
			"or with several sources, each keeps its name. In a thread what is missing on the way is\n" +
			"made, the thread too. No sandbox is started. Files appear whole or not at all, keep their\n" +
			"permission bits and replace what has their name. Symlinks of a thread are copied as they\n" +
			"are and never followed.\n\n" +
			"A source - is standard input: a file's bytes, or, into a directory, a tar archive. A\n" +
			"destination - is standard output: a file's bytes, or a directory as a tar archive.\n\n" +
			"    sandboxfs cp sales.csv demo:uploads/\n" +
			"    sandboxfs cp demo:outputs/report.pdf .\n" +
			"    sandboxfs cp demo:outputs - | tar -tv",
		Flags: []cli.Flag{
			userFlag(), providerFlag(),
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "show no progress on a terminal"},
			&cli.BoolFlag{Name: "recursive", Aliases: []string{"r"}, Usage: "as it is anyhow: directories are copied whole"},
		},
		Action: cp,
	}
}

func cp(c *cli.Context) error {
	sources, to, err := placesOf(c)
	if err != nil {
		return err
	}
	if err := checkStreams(sources, to); err != nil {
		return err
	}
	p, err := open(c.Context, c)
	if err != nil {
		return err
	}
	copier, ok := p.(provider.Copier)
	if !ok {
		return fmt.Errorf("the provider %q cannot copy files", c.String("provider"))
	}
	ctx, stop := interruptible(c.Context)
	defer stop()
	j := &copyJob{provider: p, copier: copier, to: to, many: len(sources) > 1, meter: newMeter(!c.Bool("quiet"))}
	// What blocks in a pipe hears of no interruption.
	done := make(chan error, 1)
	go func() { done <- j.run(ctx, sources) }()
	err = waitInterrupted(ctx, done)
	j.meter.close()
	if err == nil {
		return nil
	}
	return failure{err}
}

// placesOf reads the arguments.
func placesOf(c *cli.Context) (sources []place, to place, err error) {
	args := c.Args().Slice()
	if len(args) < 2 {
		return nil, to, usageError{"name what to copy and where to: sandboxfs cp SOURCE... DESTINATION"}
	}
	// An argument such as -r is first only behind "--", and then a name.
	if !strings.HasPrefix(args[0], "-") || args[0] == "-" {
		for _, arg := range args[1:] {
			if len(arg) > 1 && arg[0] == '-' {
				return nil, to, usageError{fmt.Sprintf("the flag %s comes after an argument; write it first, or ./%s for a file of that name", arg, arg)}
			}
		}
	}
	var places []place
	inThreads := false
	for _, arg := range args {
		p, err := parsePlace(c, arg)
		if err != nil {
			return nil, to, err
		}
		inThreads = inThreads || p.inThread
		places = append(places, p)
	}
	sources, to = places[:len(places)-1], places[len(places)-1]
	switch {
	case !inThreads:
		return nil, to, usageError{"neither side is in a thread; write THREAD:PATH for the one that is"}
	case to.stream && len(sources) > 1:
		return nil, to, usageError{"only one source can go to standard output"}
	}
	for _, s := range sources {
		if s.stream && (len(sources) > 1 || !to.inThread) {
			return nil, to, usageError{"standard input is copied alone, and into a thread"}
		}
	}
	return sources, to, nil
}

// checkStreams refuses a "-" behind which there is no stream.
func checkStreams(sources []place, to place) error {
	if to.stream {
		if err := checkNamed(os.Stdout); err != nil {
			return fmt.Errorf("standard output, to which - copies, %w", err)
		}
	}
	if sources[0].stream {
		if err := checkNamed(os.Stdin); err != nil {
			return fmt.Errorf("standard input, of which - copies, %w; give it as </dev/null for an empty file", err)
		}
	}
	return nil
}

// copyJob is one run of the verb.
type copyJob struct {
	provider provider.Provider
	copier   provider.Copier
	to       place
	many     bool
	meter    *meter
	// sink is open while the destination is a thread.
	sink provider.CopySink
}

// run copies the sources and goes on past one that fails.
func (j *copyJob) run(ctx context.Context, sources []place) error {
	var errs []error
	for _, from := range sources {
		if err := j.one(ctx, from); err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if j.sink != nil {
		errs = append(errs, j.sink.Close())
	}
	return errors.Join(errs...)
}

func (j *copyJob) one(ctx context.Context, from place) error {
	switch {
	case j.to.stream:
		return j.toStream(ctx, from)
	case from.stream:
		return j.fromStream(ctx)
	}
	src, err := j.source(ctx, from)
	if err != nil {
		return err
	}
	var sink provider.CopySink
	var name string
	if j.to.inThread {
		sink, name, err = j.intoThread(ctx, src)
	} else {
		sink, name, err = j.intoHost(ctx, src)
	}
	if err != nil {
		return err
	}
	j.meter.begin(src.base, src.size)
	err = src.copy(ctx, &namedSink{to: sink, name: name, meter: j.meter})
	if !j.to.inThread {
		err = errors.Join(err, sink.Close())
	}
	return err
}

// toStream writes a file's bytes, or a directory as an archive.
func (j *copyJob) toStream(ctx context.Context, from place) error {
	src, err := j.source(ctx, from)
	if err != nil {
		return err
	}
	j.meter.begin(src.base, src.size)
	switch src.kind {
	case "dir":
		if isTerminal(os.Stdout) {
			return usageError{fmt.Sprintf("%s is a directory, which goes to standard output as a tar archive; write it to a file or a pipe", from.text)}
		}
		return archiveTo(ctx, src, j.meter)
	case "file":
		return src.copy(ctx, &namedSink{to: &streamSink{os.Stdout}, name: ".", meter: j.meter})
	}
	return fmt.Errorf("%s is a %s; name a file or a directory", from.text, src.kind)
}
