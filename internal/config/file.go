package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"syscall"

	"github.com/sandboxfs/sandboxfs/provider"
)

// SystemFile is where the file is looked for last.
const SystemFile = "/etc/sandboxfs/config.yaml"

// FileVariable names the file where no flag does.
const FileVariable = "SANDBOXFS_CONFIG"

// UserFile returns where a user's own file is: the one that `config init`
// writes. It is "" where the environment names no home directory.
func UserFile(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); path.IsAbs(dir) {
		return path.Join(dir, "sandboxfs", "config.yaml")
	}
	if home := getenv("HOME"); path.IsAbs(home) {
		return path.Join(home, ".config", "sandboxfs", "config.yaml")
	}
	return ""
}

// readFile reads the file that was named, or the first one that is found, and
// notes its path; none is no error.
func (c *Config) readFile() ([]byte, error) {
	named, by := c.sources.File, "--config"
	if named == "" {
		named, by = c.sources.Getenv(FileVariable), "$"+FileVariable
	}
	if named != "" {
		c.File = named
		text, err := readBounded(named)
		if err != nil {
			return nil, unreadable(named, by, err)
		}
		return text, nil
	}
	for _, candidate := range []string{UserFile(c.sources.Getenv), SystemFile} {
		if candidate == "" {
			continue
		}
		text, err := readBounded(candidate)
		switch {
		case err == nil:
			c.File = candidate
			return text, nil
		case !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return nil, unreadable(candidate, "", err)
		}
	}
	return nil, nil
}

func unreadable(file, by string, err error) error {
	if by != "" {
		file += " (" + by + ")"
	}
	var tooLarge sizeError
	e := &provider.Error{Kind: provider.Denied, Op: "configure", Err: err}
	switch {
	case errors.As(err, &tooLarge):
		e.Kind, e.Reason, e.Next = provider.Invalid, fmt.Sprintf("the configuration file %s %v", file, err), "name a configuration file"
	case errors.Is(err, os.ErrNotExist):
		e.Kind, e.Reason, e.Next = provider.NotFound, fmt.Sprintf("the configuration file %s does not exist", file), "make one with 'sandboxfs config init FILE', or name another"
	default:
		cause := err
		var p *os.PathError
		if errors.As(err, &p) {
			cause = p.Err
		}
		e.Reason, e.Next = fmt.Sprintf("the configuration file %s cannot be read: %v", file, cause), "give yourself the right to read it, or name another with --config"
	}
	return e
}

// sizeError refuses what no configuration file can be.
type sizeError string

func (e sizeError) Error() string { return string(e) }

// readBounded reads a file of at most MaxFile bytes. Opening does not wait
// for the writer of a pipe.
func readBounded(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case st.IsDir():
		return nil, sizeError("is a directory")
	case st.Mode()&os.ModeNamedPipe == 0 && !st.Mode().IsRegular():
		return nil, sizeError("is no regular file")
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	switch {
	case len(text) > MaxFile:
		return nil, sizeError(fmt.Sprintf("has more than %d bytes", MaxFile))
	case len(text) == 0 && !st.Mode().IsRegular():
		// Nobody has opened it for writing yet: nothing said is not "all defaults".
		return nil, sizeError("is a pipe that holds nothing")
	}
	return text, nil
}
