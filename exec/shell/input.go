package shell

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// input is a command's standard input, a FIFO. The shell's end is awaited by the
// first write or by Close: bytes, and the end of file, must not come before
// there is somebody to read them.
type input struct {
	p    *private
	once sync.Once
	over chan struct{} // closed when the command has ended

	mu sync.Mutex // guards f
	f  *os.File
}

func newInput(p *private) (*input, error) {
	f, err := p.fifo(fileInput, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	f.Close()
	return &input{p: p, over: make(chan struct{})}, nil
}

// pollReader is how often a shell that has not opened its end is looked for.
const pollReader = time.Millisecond

// open waits for the reader.
func (i *input) open() (*os.File, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for i.f == nil {
		if isDone(i.over) {
			return nil, os.ErrClosed
		}
		f, err := i.p.open(fileInput, unix.O_WRONLY)
		switch {
		case err == nil:
			i.f = f
		case errors.Is(err, unix.ENXIO):
			waitFor(i.over, pollReader)
		default:
			return nil, err
		}
	}
	return i.f, nil
}

// Write implements io.Writer.
func (i *input) Write(p []byte) (int, error) {
	f, err := i.open()
	if err != nil {
		return 0, err
	}
	return f.Write(p)
}

// Close gives the command end of file.
func (i *input) Close() error {
	f, err := i.open()
	if err != nil {
		return nil
	}
	return f.Close()
}

// abort is called when the command has ended.
func (i *input) abort() {
	i.once.Do(func() { close(i.over) })
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.f != nil {
		i.f.Close()
	}
}
