package escape

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/local"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// envAPI makes this program a client of the file calls, as the user that the
// sandboxes belong to, in place of a test program.
const envAPI = "SANDBOXFS_ESCAPE_API"

func TestMain(m *testing.M) {
	if os.Getenv(envAPI) != "" {
		if err := clientMain(os.Args[1], os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// clientMain does one call on one thread's sandbox: "read" prints a file,
// "watch" reads a file again and again until standard input ends and prints
// whatever it ever held, "write" and "update" write "pwned", "list" prints
// the names in a directory, "script" runs standard input.
func clientMain(op, thread, path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	p, err := local.New(provider.Config{
		Home:       os.Getenv("SANDBOXFS_HOME"),
		RuntimeDir: os.Getenv("SANDBOXFS_RUNTIME_DIR"),
		Local:      provider.LocalConfig{Net: "none"},
	})
	if err != nil {
		return err
	}
	id, err := p.Acquire(ctx, mapping.Key{Thread: thread})
	if err != nil {
		return err
	}
	s, err := p.Get(id)
	if err != nil {
		return err
	}
	switch op {
	case "read":
		content, err := s.ReadFile(ctx, path, provider.LineRange{})
		fmt.Print(string(content))
		return err
	case "watch":
		return watch(ctx, s, path)
	case "write":
		return s.WriteFile(ctx, path, []byte("pwned"), provider.Replace)
	case "update":
		return s.UpdateFile(ctx, path, []byte("pwned"))
	case "list":
		listing, err := s.ListDir(ctx, path, provider.ListOptions{})
		if err == nil {
			for _, e := range listing.Entries {
				fmt.Println(e.Type, e.Path)
			}
		}
		return err
	case "script":
		script, err := io.ReadAll(os.Stdin)
		if err != nil {
			return err
		}
		r, err := s.Execute(ctx, provider.Command{Script: string(script)})
		if err != nil {
			return err
		}
		fmt.Print(string(r.Stdout.Head), string(r.Stderr.Head))
		return nil
	}
	return fmt.Errorf("no call %q", op)
}

func watch(ctx context.Context, s provider.Sandbox, path string) error {
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	// As fast as it can go it would take the processors from the snippet.
	pace := time.NewTicker(500 * time.Microsecond)
	defer pace.Stop()
	seen := map[string]bool{}
	for n := 0; ; n++ {
		select {
		case <-ended:
			fmt.Fprintf(os.Stderr, "read %d times\n", n)
			return nil
		case <-pace.C:
		}
		content, err := s.ReadFile(ctx, path, provider.LineRange{})
		if err == nil && !seen[string(content)] {
			seen[string(content)] = true
			fmt.Print(string(content))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// call does one call of clientMain in a process of its own, within a time.
func (w *world) call(within time.Duration, op, thread, path string, stdin io.Reader) (Outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := w.command(ctx, w.helper, op, thread, path)
	cmd.Env = append(cmd.Env, envAPI+"=1")
	o, err := outcome(cmd, stdin)
	if ctx.Err() != nil {
		err = fmt.Errorf("the call %s %s did not return within %v", op, path, within)
	}
	return o, err
}

// leaksHostPasswd reports whether a text holds the host's accounts: those of
// the sandbox are made up.
func leaksHostPasswd(text string) bool {
	host, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(host)) {
		// root and nobody are the same everywhere.
		if strings.HasPrefix(line, "root:") || strings.HasPrefix(line, "nobody:") {
			continue
		}
		if strings.Contains(text, strings.TrimSpace(line)) {
			return true
		}
	}
	return false
}
