package cgroup

import (
	"io"
	"os"
)

// write stores one value in a control file, with one write call as the kernel
// wants it.
func write(root *os.Root, name, value string) error {
	f, err := root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(value)
	return err
}

// read returns a control file's content.
func read(root *os.Root, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readAll(f)
}

func readAll(f *os.File) (string, error) {
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return string(b), err
}
