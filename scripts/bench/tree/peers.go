package main

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"time"
)

// loopbackPackage is go-fuse's example, of the version in go.mod.
const loopbackPackage = "github.com/hanwen/go-fuse/v2/example/loopback"

// A peer has two mounts: of its directory, and of the skills, read-only.
func (s *stage) openBindfs(ctx context.Context, backing string) (subject, error) {
	program, err := find("bindfs")
	if err != nil {
		return subject{}, err
	}
	return s.openPeer(ctx, backing, func(from, point string, readOnly bool) []string {
		argv := []string{program, "-f"}
		if os.Geteuid() != 0 {
			argv = append(argv, "--no-allow-other")
		}
		if readOnly {
			argv = append(argv, "-r")
		}
		return append(argv, from, point)
	})
}

func (s *stage) openLoopback(ctx context.Context, backing string) (subject, error) {
	program := s.loopback
	if program == "" {
		program = filepath.Join(s.dir, "loopback.program")
		if err := buildLoopback(ctx, s.bin, program); err != nil {
			return subject{}, err
		}
	}
	return s.openPeer(ctx, backing, func(from, point string, readOnly bool) []string {
		argv := []string{program, "-q"}
		if os.Geteuid() == 0 {
			argv = append(argv, "-directmount", "-allow-other")
		}
		if readOnly {
			argv = append(argv, "-ro")
		}
		return append(argv, point, from)
	})
}

// buildLoopback builds the example of go-fuse, of the version that the go.mod
// of the checkout around the directory bin names.
func buildLoopback(ctx context.Context, bin, program string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := osexec.CommandContext(ctx, "go", "build", "-o", program, loopbackPackage)
	cmd.Dir, cmd.Env = bin, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the loopback example was not built: %w %s", err, out)
	}
	return nil
}

func (s *stage) openOverlayfs(ctx context.Context, backing string) (subject, error) {
	program, err := find("fuse-overlayfs")
	if err != nil {
		return subject{}, err
	}
	return s.openPeer(ctx, backing, func(from, point string, readOnly bool) []string {
		options := "lowerdir=" + from
		if !readOnly {
			options = fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", point+".lower", from, point+".work")
		}
		return []string{program, "-f", "-o", options, point}
	})
}

// openPeer mounts the backing directory and the skills by the command lines
// that are given for them.
func (s *stage) openPeer(ctx context.Context, backing string, command func(from, point string, readOnly bool) []string) (subject, error) {
	before := len(s.servers)
	v := subject{dir: backing + ".point", readOnly: backing + ".skills"}
	v.abort = func() {
		for _, own := range s.servers[before : before+2] {
			_ = own.cmd.Process.Kill() // or it has ended
		}
	}
	for _, dir := range []string{v.dir, v.readOnly, v.dir + ".lower", v.dir + ".work"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return v, err
		}
	}
	if err := s.startServer(ctx, v.dir, command(backing, v.dir, false)...); err != nil {
		return v, err
	}
	return v, s.startServer(ctx, v.readOnly, command(s.skills(), v.readOnly, true)...)
}
