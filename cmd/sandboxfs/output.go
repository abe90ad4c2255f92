//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
)

// output is standard output. It keeps the first error, so that no verb can lose
// what it prints and end as if all were well; see [kept].
type output struct {
	file *os.File

	mu  sync.Mutex
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.file.Write(b)
	if err != nil {
		o.mu.Lock()
		if o.err == nil {
			o.err = err
		}
		o.mu.Unlock()
	}
	return n, err
}

// lost is what kept something from being written, or nil.
func (o *output) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// fileOf returns the file that is written to in the end, or nil.
func fileOf(out io.Writer) *os.File {
	switch o := out.(type) {
	case *os.File:
		return o
	case *output:
		return o.file
	}
	return nil
}

// printJSON writes an object on a line of its own.
func printJSON(c *cli.Context, object any) error {
	out := json.NewEncoder(c.App.Writer)
	out.SetEscapeHTML(false)
	return out.Encode(object)
}

// printRows prints what a verb lists: a table, or with --json an object a line.
// cells are those of a row, as many as the header has.
func printRows[T any](c *cli.Context, items []T, header []string, cells func(T) []any) error {
	if c.Bool("json") {
		for _, item := range items {
			if err := printJSON(c, item); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable(c.App.Writer, header...)
	for _, item := range items {
		t.row(cells(item)...)
	}
	return t.flush()
}

// kept makes a verb fail where something that it printed was lost, whatever it
// says itself.
func kept(out *output, action cli.ActionFunc) cli.ActionFunc {
	if action == nil {
		return nil
	}
	return func(c *cli.Context) error {
		err := action(c)
		lost := out.lost()
		if lost == nil || errors.Is(err, lost) {
			return err
		}
		var status exitStatus
		if errors.As(err, &status) {
			err = nil // the loss is what is to be told
		}
		return errors.Join(err, inJSON(c, lost))
	}
}

// errClosed is what package os gives a program for a standard stream that it
// was started without: /dev/null, open in both directions. It cannot be told
// from one that was meant, so that only a stream which is named, by "-", and
// which nobody would name so is refused.
var errClosed = errors.New("is closed, or is /dev/null open in both directions")

// checkNamed refuses a standard stream that holds nothing and keeps nothing.
func checkNamed(f *os.File) error {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != unix.Mkdev(1, 3) {
		return nil
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return nil
	}
	return errClosed
}
