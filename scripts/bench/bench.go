package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"time"

	"github.com/sandboxfs/sandboxfs/local"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// bench holds what the subjects need.
type bench struct {
	dir       string // all that is made, removed at the end
	bin       string
	empty     string // an empty Go program
	bwrap     string // empty where it is not installed
	provider  *local.Provider
	live      provider.Sandbox
	isolation map[string]string
	cold      int // cold threads made so far
}

var (
	liveKey = mapping.Key{Thread: "live"}
	echo    = []string{"bash", "-c", "echo hi"}
)

func newBench(ctx context.Context, bin string) (_ *bench, err error) {
	dir, err := os.MkdirTemp("", "sandboxfs-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, bin: bin}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	home, run := filepath.Join(dir, "home"), filepath.Join(dir, "run")
	// The command line finds the same sandboxes by the same variables.
	err = errors.Join(os.Setenv("SANDBOXFS_HOME", home), os.Setenv("SANDBOXFS_RUNTIME_DIR", run),
		os.Setenv("SANDBOXFSD", filepath.Join(bin, "sandboxfsd")), os.MkdirAll(filepath.Join(home, "skills"), 0o755))
	if err != nil {
		return nil, err
	}
	if b.empty, err = buildEmpty(ctx, dir); err != nil {
		return nil, err
	}
	b.bwrap, _ = osexec.LookPath("bwrap")
	b.provider, err = local.New(provider.Config{Home: home, RuntimeDir: run})
	if err != nil {
		return nil, err
	}
	b.live, err = b.acquire(ctx, liveKey)
	if err != nil {
		return nil, err
	}
	info, err := b.live.(provider.Describer).Describe(ctx)
	if err != nil {
		return nil, err
	}
	b.isolation = info.Isolation
	return b, nil
}

// close ends the live sandbox and removes all that was made.
func (b *bench) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if b.provider != nil {
		if err := b.provider.Stop(ctx, liveKey); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			return // what still runs may need its directory
		}
	}
	if err := os.RemoveAll(b.dir); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
}

func (b *bench) acquire(ctx context.Context, key mapping.Key) (provider.Sandbox, error) {
	id, err := b.provider.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return b.provider.Get(id)
}

// buildEmpty builds a program that does nothing, the way ours are built.
func buildEmpty(ctx context.Context, dir string) (string, error) {
	source, program := filepath.Join(dir, "empty.go"), filepath.Join(dir, "empty")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		return "", err
	}
	cmd := osexec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
}

func (b *bench) subjects() []subject {
	cli := filepath.Join(b.bin, "sandboxfs")
	all := []subject{
		{name: plainBash, run: program(echo...)},
		{name: libraryLive, run: func(ctx context.Context) error { return execute(ctx, b.live) }},
		{name: cliLive, run: program(append([]string{cli, "exec", "live", "--"}, echo...)...)},
		{name: coldLibrary, run: b.coldByLibrary, after: b.stopCold},
		{name: coldCLI, run: func(ctx context.Context) error {
			return program(append([]string{cli, "exec", b.nextCold().Thread, "--"}, echo...)...)(ctx)
		}, after: b.stopCold},
		{name: emptyProgram, run: silent(b.empty)},
		{name: daemonStart, run: silent(filepath.Join(b.bin, "sandboxfsd"), "version")},
	}
	if b.bwrap != "" {
		all = append(all, subject{name: bubblewrap, run: program(b.bwrapCommand()...)})
	}
	return all
}

// nextCold names a thread that was never used.
func (b *bench) nextCold() mapping.Key {
	b.cold++
	return b.coldKey()
}

func (b *bench) coldKey() mapping.Key {
	return mapping.Key{Thread: fmt.Sprintf("cold-%d", b.cold)}
}

func (b *bench) coldByLibrary(ctx context.Context) error {
	s, err := b.acquire(ctx, b.nextCold())
	if err != nil {
		return err
	}
	return execute(ctx, s)
}

func (b *bench) stopCold(ctx context.Context) error { return b.provider.Stop(ctx, b.coldKey()) }

func execute(ctx context.Context, s provider.Sandbox) error {
	r, err := s.Execute(ctx, provider.Command{Argv: echo})
	if err == nil && (r.ExitCode != 0 || string(r.Stdout.Head) != "hi\n") {
		err = fmt.Errorf("status %d, output %q", r.ExitCode, r.Stdout.Head)
	}
	return err
}

// program runs a command line that must say hi.
func program(argv ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		cmd := osexec.CommandContext(ctx, argv[0], argv[1:]...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
		if out.String() != "hi\n" {
			return fmt.Errorf("%q came out", out.String())
		}
		return nil
	}
}

// silent runs a command line whose output is of no interest.
func silent(argv ...string) func(context.Context) error {
	return func(ctx context.Context) error { return osexec.CommandContext(ctx, argv[0], argv[1:]...).Run() }
}

// bwrapCommand asks bubblewrap for what an isolated sandbox has: the system
// read-only, generated devices and /proc, private temporary directories, the
// thread's directories, and the same namespaces but the network's.
func (b *bench) bwrapCommand() []string {
	data := filepath.Join(b.dir, "home", "users", "default", "threads", "live", "user-data")
	argv := []string{b.bwrap, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--die-with-parent", "--new-session",
		"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
		"--symlink", "usr/lib64", "/lib64", "--symlink", "usr/sbin", "/sbin",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/dev/shm", "--tmpfs", "/tmp"}
	for _, name := range []string{"passwd", "group", "hosts", "nsswitch.conf", "resolv.conf", "ssl", "alternatives", "ld.so.cache"} {
		argv = append(argv, "--ro-bind-try", "/etc/"+name, "/etc/"+name)
	}
	argv = append(argv,
		"--bind", filepath.Join(data, "workspace"), mapping.Workspace,
		"--bind", filepath.Join(data, "outputs"), mapping.Outputs,
		"--ro-bind", filepath.Join(data, "uploads"), mapping.Uploads,
		"--ro-bind", filepath.Join(b.dir, "home", "skills"), mapping.Skills,
		"--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", mapping.Workspace,
		"--chdir", mapping.Workspace, "--")
	return append(argv, echo...)
}
