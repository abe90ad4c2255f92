package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/scripts/bench/record"
)

// asVerb is the first argument of the process that becomes another user.
const asVerb = "as"

// programs are what that user needs a copy of, since he may not be able to
// read the directory of this checkout.
var programs = [...]string{"sandboxfs", "sandboxfsd"}

// runAs does the whole comparison as an ordinary user of this machine: this
// program again, in a mount namespace of its own where /dev/fuse is open to
// everybody, as most distributions have it.
func runAs(ctx context.Context, o options, flags []string) (err error) {
	if os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "nothing to do: without -user this is measured as an ordinary user already")
		return nil
	}
	account, err := user.Lookup(o.user)
	if err != nil {
		return fmt.Errorf("-user: %w", err)
	}
	dir, err := os.MkdirTemp(o.dir, "sandboxfs-bench-"+account.Username+"-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	uid, uidErr := strconv.Atoi(account.Uid)
	gid, gidErr := strconv.Atoi(account.Gid)
	if err := errors.Join(uidErr, gidErr, os.Chmod(dir, 0o755)); err != nil {
		return err
	}
	home := filepath.Join(dir, "home")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, uid, gid)); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program, loopback := filepath.Join(dir, "tree"), filepath.Join(dir, "loopback")
	if err := copyProgram(self, program); err != nil {
		return err
	}
	for _, name := range programs {
		if err := copyProgram(filepath.Join(o.bin, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if o.loopback != "" {
		err = copyProgram(o.loopback, loopback)
	} else if err = buildLoopback(ctx, o.bin, loopback); err != nil {
		fmt.Fprintln(os.Stderr, err)
		err = nil // its column says so
	}
	if err != nil {
		return err
	}
	argv := append([]string{asVerb, account.Uid, account.Gid, program}, flags...)
	argv = append(argv, "-user=", "-append=", "-bin="+dir, "-dir="+home, "-loopback="+loopback)
	cmd := osexec.CommandContext(ctx, self, argv...)
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "HOME="+home, "TMPDIR="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it tidies up
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(os.Stdout, &text), os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	return record.Append(o.appendTo, text.String())
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(0o755), out.Close())
}

// become is the process in the mount namespace: it opens /dev/fuse there, takes
// the user's numbers and executes the program.
func become(uid, gid, program string, flags []string) error {
	u, err := strconv.Atoi(uid)
	if err != nil {
		return err
	}
	g, err := strconv.Atoi(gid)
	if err != nil {
		return err
	}
	const device = "/dev/fuse"
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	node := filepath.Join(filepath.Dir(program), "fuse")
	if err := unix.Mknod(node, unix.S_IFCHR|0o666, int(unix.Mkdev(10, 229))); err != nil {
		return fmt.Errorf("making a device node: %w", err)
	}
	if err := errors.Join(os.Chmod(node, 0o666), unix.Mount(node, device, "", unix.MS_BIND, "")); err != nil {
		return fmt.Errorf("opening %s to the user: %w", device, err)
	}
	if err := errors.Join(syscall.Setgroups([]int{g}), syscall.Setgid(g), syscall.Setuid(u)); err != nil {
		return fmt.Errorf("becoming the user: %w", err)
	}
	return syscall.Exec(program, append([]string{program}, flags...), os.Environ())
}
