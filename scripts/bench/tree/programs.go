package main

// The workloads that are programs, in the process that measures.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

func (w *worker) find() error {
	out, err := w.output(w.Dir, "find", treeDir)
	if err == nil && bytes.Count(out, []byte("\n")) != w.Data.Entries {
		err = fmt.Errorf("%d entries were found, not %d", bytes.Count(out, []byte("\n")), w.Data.Entries)
	}
	return err
}

func (w *worker) findCold() error {
	return w.ready(rowFindCold, w.find, "find", "--version")
}

// ready records the time of a program that is itself in the caches, whatever
// was dropped before: a start of it that does nothing is not counted.
func (w *worker) ready(row string, do func() error, start ...string) error {
	if err := w.run("/", start...); err != nil {
		return w.record(row, 0, err)
	}
	return w.timed(row, do)
}

// prime reads all files at or below paths into the caches.
func prime(paths ...string) error {
	buf := make([]byte, 256<<10)
	for _, root := range paths {
		names, err := regularFiles(root)
		if err != nil {
			return err
		}
		for _, name := range names {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			// Without the file's own way to copy, which reads nothing.
			_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, buf)
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *worker) git() error {
	if _, err := osexec.LookPath("git"); err != nil {
		w.out.Missing[rowStatus], w.out.Missing[rowClone] = "git is not installed", "git is not installed"
		return nil
	}
	if err := errors.Join(w.warm(rowStatus, w.status), prime(repositoryDir)); err != nil {
		return err
	}
	const clone = "clone"
	// By the protocol, as from another machine: by a local clone git would
	// only link or copy the files of the repository.
	err := w.timed(rowClone, func() error {
		return w.run(w.Dir, "git", "clone", "-q", "--no-local", repositoryDir, clone)
	})
	if err != nil {
		return err
	}
	return os.RemoveAll(clone)
}

func (w *worker) gitCold() error {
	return w.ready(rowStatusCold, w.status, "git", "--version")
}

func (w *worker) status() error {
	out, err := w.output(filepath.Join(w.Dir, checkoutDir), "git", "status", "--porcelain")
	if err == nil && len(out) > 0 {
		err = fmt.Errorf("the working tree is not clean: %q", out[:min(len(out), 200)])
	}
	return err
}

// tar unpacks an archive and removes what came out. An ordinary user's tar
// gives files no owner and heeds the umask, and a sandbox's user is one.
func (w *worker) tar() error {
	const dir = "unpacked"
	if err := errors.Join(os.Mkdir(dir, 0o755), prime(archiveFile)); err != nil {
		return err
	}
	err := w.ready(rowTar, func() error {
		return w.run(w.Dir, "tar", "--no-same-owner", "--no-same-permissions", "-xf", archiveFile, "-C", dir)
	}, "tar", "--version")
	if err != nil {
		return err
	}
	return w.ready(rowRemove, func() error { return w.run(w.Dir, "rm", "-rf", dir) }, "rm", "--version")
}

// build compiles and links a small program after a change in the package that
// all others import.
func (w *worker) build() error {
	dir := filepath.Join(w.Dir, moduleDir)
	tools, err := w.output(dir, "go", "env", "GOTOOLDIR")
	if err != nil {
		return w.record(rowBuild, 0, err)
	}
	tool := strings.TrimSpace(string(tools))
	if err := prime(filepath.Join(tool, "compile"), filepath.Join(tool, "link"), goCache, moduleDir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, changedFile), changedSource(os.Getpid()), 0o644); err != nil {
		return err
	}
	return w.timed(rowBuild, func() error { return w.run(dir, "go", "build", "-o", "program", ".") })
}

func (w *worker) search() error {
	return w.warm(rowSearch, func() error { return w.grep(treeDir, w.Data.Matches) })
}

func (w *worker) searchCold() error {
	return w.ready(rowSearchCold, func() error { return w.grep(treeDir, w.Data.Matches) }, searchProgram(), "--version")
}

// searchProgram is ripgrep, or grep where that is not installed.
func searchProgram() string {
	if _, err := osexec.LookPath("rg"); err == nil {
		return "rg"
	}
	return "grep"
}

// grep searches a directory for the word of which the number is known.
func (w *worker) grep(dir string, want int) error {
	argv := []string{"rg", "--no-config", "--no-ignore", "-F", needle, dir}
	if searchProgram() == "grep" {
		argv = []string{"grep", "-r", "-F", needle, dir}
	}
	out, err := w.output(w.Dir, argv...)
	if got := bytes.Count(out, []byte("\n")); err == nil && got != want {
		err = fmt.Errorf("%d lines were found, not %d", got, want)
	}
	return err
}

func (w *worker) sync() error {
	if err := w.fsyncs(); err != nil {
		return err
	}
	const database = "transactions.db"
	if err := errors.Join(removeIfThere(database), removeIfThere(database+"-journal")); err != nil {
		return err
	}
	var script strings.Builder
	script.WriteString("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT);\n")
	for i := range w.Sizes.Syncs {
		fmt.Fprintf(&script, "BEGIN; INSERT INTO t (text) VALUES ('%d of many'); UPDATE t SET text = 'changed' WHERE id = %d; COMMIT;\n", i, i/2+1)
	}
	script.WriteString("SELECT count(*) FROM t;\n")
	return w.ready(rowSQLite, func() error {
		out, err := w.outputOf(w.Dir, script.String(), "sqlite3", "-batch", "-init", "/dev/null", database)
		if want := strconv.Itoa(w.Sizes.Syncs); err == nil && strings.TrimSpace(string(out)) != want {
			err = fmt.Errorf("the database has %q rows, not %s", out, want)
		}
		return err
	}, "sqlite3", "-version")
}

func removeIfThere(name string) error {
	if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (w *worker) run(dir string, argv ...string) error {
	_, err := w.output(dir, argv...)
	return err
}

func (w *worker) output(dir string, argv ...string) ([]byte, error) {
	return w.outputOf(dir, "", argv...)
}

// outputOf runs a program in a directory and returns what it prints. The error
// wraps errMissing where the program is not to be found.
func (w *worker) outputOf(dir, input string, argv ...string) ([]byte, error) {
	program, err := osexec.LookPath(argv[0])
	if err != nil {
		return nil, fmt.Errorf("%s %w", argv[0], errMissing)
	}
	cmd := osexec.Command(program, argv[1:]...)
	cmd.Dir, cmd.Env = dir, environment(w.Dir, w.GoRoot)
	if input != "" {
		cmd.Stdin = strings.NewReader(input)
	}
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out.Bytes(), nil
}

// environment keeps all that programs write in the subject's directory, and
// the network and the user's settings out. In a sandbox's /proc a program of
// the host is not to be seen, so that go could not find its root by itself.
func environment(dir, goRoot string) []string {
	return []string{"GOROOT=" + goRoot,
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + filepath.Join(dir, gitConfig), "GIT_TERMINAL_PROMPT=0",
		"GOENV=off", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0",
		"GOFLAGS=-trimpath -buildvcs=false", "GOCACHE=" + filepath.Join(dir, goCache), "GOPATH=" + filepath.Join(dir, "gopath"),
		"GOTMPDIR=" + filepath.Join(dir, goTemp),
	}
}
