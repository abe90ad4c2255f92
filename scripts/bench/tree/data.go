package main

// What every subject's directory holds at the beginning. It is made once and
// copied, so that all have the same.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The names in a subject's directory.
const (
	bigFile       = "big"
	treeDir       = "tree"
	repositoryDir = "repository.git"
	checkoutDir   = "checkout"
	archiveFile   = "archive.tar"
	moduleDir     = "module"
	changedFile   = "base/changed.go"
	gitConfig     = "gitconfig"
	goCache       = "gocache"
	goTemp        = "gotemp"
)

// needle is in some of the generated files, and in no other text.
const needle = "zyzzogeton"

// expected is what the workloads must find.
type expected struct {
	Entries, Matches, ReadOnlyMatches int
}

// seed fills a directory with what all subjects get, and another with what is
// in the read-only region. What needs a program that is missing is not there,
// and neither are then the rows that use it.
func seed(ctx context.Context, dir, readOnly string, s sizes) (want expected, err error) {
	if want.Entries, want.Matches, err = plant(filepath.Join(dir, treeDir), s.Files, s.Dirs); err != nil {
		return want, err
	}
	if _, want.ReadOnlyMatches, err = plant(readOnly, s.Files/3, s.Dirs/3); err != nil {
		return want, err
	}
	content := make([]byte, block)
	fill(content)
	if err := writeFile(filepath.Join(dir, bigFile), content, s.Big); err != nil {
		return want, err
	}
	if err := os.Mkdir(filepath.Join(dir, goTemp), 0o755); err != nil {
		return want, err
	}
	if err := seedRepository(ctx, dir, s.Repository); err != nil {
		return want, err
	}
	return want, seedModule(ctx, dir)
}

// plant makes a tree of text files, and returns how many entries it has with
// its root, and how many lines with the needle.
func plant(root string, files, dirs int) (entries, matches int, err error) {
	random := rand.New(rand.NewPCG(uint64(files), uint64(dirs)))
	names := []string{root}
	for len(names) <= dirs {
		// Below one of the last few, so that the tree is deep and wide.
		parent := names[max(0, len(names)-1-random.IntN(12))]
		names = append(names, filepath.Join(parent, fmt.Sprintf("directory%03d", len(names))))
	}
	for _, name := range names {
		if err := os.MkdirAll(name, 0o755); err != nil {
			return 0, 0, err
		}
	}
	var text bytes.Buffer
	for i := range files {
		text.Reset()
		for range 10 + random.IntN(220) {
			if random.IntN(2000) == 0 {
				text.WriteString(needle + " ")
				matches++
			}
			for range 2 + random.IntN(6) {
				fmt.Fprintf(&text, "word%x ", random.IntN(1<<16))
			}
			text.WriteByte('\n')
		}
		name := filepath.Join(names[random.IntN(len(names))], fmt.Sprintf("file%05d.txt", i))
		if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
			return 0, 0, err
		}
	}
	return len(names) + files, matches, nil
}

// seedRepository makes a packed bare repository, a clone of it to ask for its
// status, and an archive of its files.
func seedRepository(ctx context.Context, dir string, files int) error {
	config := "[user]\n\tname = bench\n\temail = bench@localhost\n[safe]\n\tdirectory = *\n[gc]\n\tauto = 0\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(dir, gitConfig), []byte(config), 0o644); err != nil {
		return err
	}
	const source = "source"
	if _, _, err := plant(filepath.Join(dir, source), files, files/15+1); err != nil {
		return err
	}
	commands := [][]string{{"tar", "-cf", archiveFile, source}}
	if _, err := osexec.LookPath("git"); err == nil {
		commands = append(commands,
			[]string{"git", "-C", source, "init", "-q"},
			[]string{"git", "-C", source, "add", "."},
			[]string{"git", "-C", source, "commit", "-q", "-m", "all"},
			[]string{"git", "clone", "-q", "--bare", "--no-local", source, repositoryDir},
			[]string{"git", "clone", "-q", repositoryDir, checkoutDir})
	}
	for _, argv := range commands {
		if err := prepare(ctx, dir, dir, argv...); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(dir, source))
}

// packages is how many of its own the module has, beside base and main.
const packages = 12

// seedModule writes a Go module and builds it, so that the cache has what it
// uses of the standard library, which is little: compiling that takes most of
// the time of making the files.
func seedModule(ctx context.Context, dir string) error {
	module := filepath.Join(dir, moduleDir)
	files := map[string]string{
		"go.mod":      "module bench\n\ngo 1.21\n",
		changedFile:   string(changedSource(0)),
		"base/add.go": "package base\n\nfunc Add(a, b int) int { return a + b + Changed }\n",
	}
	var uses, sum strings.Builder
	for i := range packages {
		name := fmt.Sprintf("part%02d", i)
		var text strings.Builder
		fmt.Fprintf(&text, "package %s\n\nimport (\n\t\"strconv\"\n\n\t\"bench/base\"\n)\n", name)
		for f := range 60 {
			fmt.Fprintf(&text, "\nfunc F%d(s string) int {\n\tn, err := strconv.Atoi(s)\n\tif err != nil {\n\t\treturn base.Changed\n\t}\n\tm := map[int]string{n: s, %d: \"x\"}\n\tfor k, v := range m {\n\t\tn = base.Add(n+k, len(v)*%d)\n\t}\n\treturn n\n}\n", f, f, f+3)
		}
		files[name+"/part.go"] = text.String()
		fmt.Fprintf(&uses, "\t\"bench/%s\"\n", name)
		fmt.Fprintf(&sum, "\tn += %s.F1(\"7\")\n", name)
	}
	files["main.go"] = "package main\n\nimport (\n" + uses.String() + ")\n\nfunc main() {\n\tn := 0\n" + sum.String() + "\tprintln(n)\n}\n"
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(module, name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if _, err := osexec.LookPath("go"); err != nil {
		return nil
	}
	return prepare(ctx, dir, module, "go", "build", "-o", "program", ".")
}

func changedSource(number int) []byte {
	return fmt.Appendf(nil, "package base\n\nconst Changed = %d\n", number)
}

// copyTree copies what is in a directory into another, with modes and times.
func copyTree(ctx context.Context, from, to string) error {
	return prepare(ctx, to, to, "cp", "-a", from+"/.", ".")
}

// prepare runs a program in a directory with the environment that the
// workloads have in home.
func prepare(ctx context.Context, home, dir string, argv ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := osexec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, environment(home, "")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), errors.Join(err, ctx.Err()), out)
	}
	return nil
}
