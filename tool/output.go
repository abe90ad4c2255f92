package tool

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Where outputs are kept that were too long for an answer. The directory is in
// the workspace, so that it outlives the sandbox and is there with every
// provider; git, ls, glob and grep pass it over.
const (
	privateDir = ".sandboxfs"
	outputDir  = mapping.Workspace + "/" + privateDir + "/output"
	// keptOutputs is how many are kept; the oldest are removed.
	keptOutputs  = 10
	outputPrefix = "bash-"
	outputSuffix = ".txt"
)

// keepOutput puts an output into a file of the sandbox and returns its path
// and a note for the answer. That it could not is no failure of the command.
func (s *Set) keepOutput(ctx context.Context, sandbox provider.Sandbox, text string, partly bool) (file, note string) {
	var random [4]byte
	rand.Read(random[:])
	name := outputPrefix + time.Now().UTC().Format("20060102-150405.000") + "-" + hex.EncodeToString(random[:]) + outputSuffix
	file = path.Join(outputDir, name)
	if err := sandbox.WriteFile(ctx, file, []byte(text), provider.Replace); err != nil {
		return "", "Note: the whole output could not be kept in a file (" + strings.TrimPrefix(errorText(err), "Error: ") + ") To see it, run the command again with its output redirected to a file.\n"
	}
	s.tidyOutputs(ctx, sandbox)
	what := "All of the output is"
	if partly {
		what = "More of the output (the first and last MiB of each stream) is"
	}
	return file, "Note: " + what + " in " + file + " for now: use read_file with start_line and end_line, or grep.\n"
}

// tidyOutputs removes the oldest outputs and hides the directory from git. It
// is a service: where it fails, nothing is lost.
func (s *Set) tidyOutputs(ctx context.Context, sandbox provider.Sandbox) {
	list, err := sandbox.ListDir(ctx, path.Dir(outputDir), provider.ListOptions{Depth: 2, MaxEntries: 1000})
	if err != nil {
		return
	}
	ignored := false
	var kept []string
	for _, e := range list.Entries {
		name := path.Base(e.Path)
		switch {
		case name == ".gitignore":
			ignored = true
		case e.Type == "file" && path.Dir(e.Path) == outputDir && strings.HasPrefix(name, outputPrefix) && strings.HasSuffix(name, outputSuffix):
			kept = append(kept, e.Path)
		}
	}
	if !ignored {
		_ = sandbox.WriteFile(ctx, path.Join(path.Dir(outputDir), ".gitignore"), []byte("*\n"), provider.Replace)
	}
	slices.Sort(kept) // by time
	if over := len(kept) - keptOutputs; over > 0 {
		_, _ = sandbox.Execute(ctx, provider.Command{Argv: append([]string{"rm", "-f", "--"}, kept[:over]...), Dir: "/", Timeout: 10 * time.Second})
	}
}
