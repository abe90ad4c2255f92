package main

// The workloads that are programs, in the process that measures.

import (
	"bytes"
	"errors"
	"fmt"
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
	return w.cold(rowFindCold, w.find, "find", "--version")
}

// cold records a program's time; a first start, which is not counted, brings
// the program itself back into the caches.
func (w *worker) cold(row string, do func() error, start ...string) error {
	if _, err := w.output("/", start...); err != nil {
		return w.record(row, 0, err)
	}
	return w.timed(row, do)
}

func (w *worker) git() error {
	if err := w.warm(rowStatus, w.status); err != nil {
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
	return w.cold(rowStatusCold, w.status, "git", "--version")
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
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	err := w.timed(rowTar, func() error {
		return w.run(w.Dir, "tar", "--no-same-owner", "--no-same-permissions", "-xf", archiveFile, "-C", dir)
	})
	if err != nil {
		return err
	}
	return w.timed(rowRemove, func() error { return w.run(w.Dir, "rm", "-rf", dir) })
}

// build compiles and links a small program after a change in the package that
// all others import.
func (w *worker) build() error {
	dir := filepath.Join(w.Dir, moduleDir)
	// Not counted: it brings the compiler back into the caches.
	if err := w.run(dir, "go", "build", "-o", "program", "."); err != nil {
		return w.record(rowBuild, 0, err)
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
	return w.cold(rowSearchCold, func() error { return w.grep(treeDir, w.Data.Matches) }, searchProgram(), "--version")
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
	return w.timed(rowSQLite, func() error {
		out, err := w.outputOf(w.Dir, script.String(), "sqlite3", "-batch", "-init", "/dev/null", database)
		if want := strconv.Itoa(w.Sizes.Syncs); err == nil && strings.TrimSpace(string(out)) != want {
			err = fmt.Errorf("the database has %q rows, not %s", out, want)
		}
		return err
	})
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
