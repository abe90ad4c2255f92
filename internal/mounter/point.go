package mounter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// maxLinks is the kernel's own bound of symbolic links in one path.
const maxLinks = 40

// shownToSandboxes are directories of the host that every sandbox shows with
// all that is mounted below them.
var shownToSandboxes = [...]string{"/usr", "/opt", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// realPoint returns the real path of a mount point. What is mounted there, dead
// perhaps, is not examined: the last component is only compared with the
// mount table. It gives up when ctx ends, since what lies above can be a mount
// that does not answer.
func realPoint(ctx context.Context, point string) (string, error) {
	type result struct {
		path string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		p, err := resolve(point)
		done <- result{p, err}
	}()
	select {
	case r := <-done:
		return r.path, r.err
	case <-ctx.Done():
		return "", &provider.Error{Kind: provider.Timeout, Reason: "the path " + point + " does not answer",
			Next: "a mount above it may hang; see: sandboxfs mount", Err: context.Cause(ctx)}
	}
}

func resolve(point string) (string, error) {
	table, err := mountinfo.Read()
	if err != nil {
		return "", err
	}
	p, err := filepath.Abs(point)
	if err != nil {
		return "", pointError(point, err)
	}
	for range maxLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(p))
		if err != nil {
			return "", pointError(point, err)
		}
		p = filepath.Join(dir, filepath.Base(p))
		if _, mounted := table.At(p); mounted {
			return p, nil
		}
		target, err := os.Readlink(p)
		if err != nil {
			return p, nil // no link; whether it is there is found out later
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		p = filepath.Clean(target)
	}
	return "", pointError(point, unix.ELOOP)
}

// pointError is what is wrong with the path that a person gave for a mount
// point.
func pointError(point string, err error) error {
	e := &provider.Error{Kind: provider.Invalid, Reason: fmt.Sprintf("the mount point %s: %s", point, cause(err)), Err: err}
	switch {
	case errors.Is(err, unix.ENOENT):
		e.Kind, e.Reason = provider.NotFound, fmt.Sprintf("there is no directory %s to mount at", point)
		e.Next = "make it: mkdir -p " + point
	case errors.Is(err, unix.ENOTDIR):
		e.Reason = fmt.Sprintf("%s is not a directory", point)
		e.Next = "mount at an empty directory"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		e.Kind, e.Next = provider.Denied, "mount at a directory of your own"
	}
	return e
}

// openPoint opens the directory at a real path without following a link that
// was put there since. The caller closes it.
func openPoint(point string) (*os.File, error) {
	fd, err := unix.Open(point, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, pointError(point, err)
	}
	f := os.NewFile(uintptr(fd), point)
	real, err := hostpath.RealPath(f)
	if err == nil && real != point {
		err = &provider.Error{Kind: provider.Conflict, Reason: "the way to the mount point was changed meanwhile", Next: "try again"}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkPoint refuses a directory at which the tree must not be mounted.
func checkPoint(spec Spec, table mountinfo.Table) error {
	refuse := func(reason string) error {
		return &provider.Error{Kind: provider.Invalid, Reason: fmt.Sprintf("%s %s", spec.Point, reason),
			Next: "choose an empty directory elsewhere"}
	}
	if m, ok := table.Containing(path.Dir(spec.Point)); ok && isTree(m) {
		return refuse("lies in a mount of sandboxfs; a mount in a mount would wait for itself")
	}
	regions, err := spec.Table()
	if err != nil {
		return err
	}
	behind := []string{spec.Home}
	for _, r := range regions.Regions() {
		behind = append(behind, r.Host)
	}
	for _, dir := range behind {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		switch {
		case table.Inside(spec.Point, dir):
			return refuse("lies in a directory that the mount shows; it would wait for itself")
		case table.Inside(dir, spec.Point):
			return refuse("holds a directory that the mount shows, and would hide it")
		}
	}
	if slices.ContainsFunc(shownToSandboxes[:], func(dir string) bool { return table.Inside(spec.Point, dir) }) {
		return refuse("lies in a directory of the system that every sandbox sees")
	}
	return checkEmpty(spec.Point)
}

func checkEmpty(point string) error {
	at, err := openPoint(point)
	if err != nil {
		return err
	}
	defer at.Close()
	fd, err := unix.Openat(int(at.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return pointError(point, err)
	}
	dir := os.NewFile(uintptr(fd), point)
	defer dir.Close()
	if names, _ := dir.Readdirnames(1); len(names) > 0 {
		return &provider.Error{Kind: provider.NotEmpty, Reason: fmt.Sprintf("%s is not empty; the mount would hide what is in it", point),
			Next: "mount at an empty directory"}
	}
	return nil
}
