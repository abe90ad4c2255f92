package guest

import (
	"os"
	"os/user"
	"path"
	"slices"
	"strconv"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// defaultPath is where a command's programs are looked for.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment holds what every command's environment begins with. The
// guest's own is no part of it: only what is listed here, what the guest was
// configured with, and what the caller of a command passes, in this order.
type environment struct {
	shell string
	vars  map[string]string
	// quiet are set for commands without a terminal: programs that would
	// wait for a person do not.
	quiet map[string]string
}

func baseEnvironment(o ServerOptions) environment {
	name := "sandbox"
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "sandbox"
	}
	e := environment{shell: o.Shell, vars: map[string]string{
		"PATH": defaultPath, "HOME": o.Home, "USER": name, "LOGNAME": name, "HOSTNAME": host,
		"LANG": "C.UTF-8", "TMPDIR": "/tmp",
	}, quiet: map[string]string{
		"PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat",
		"EDITOR": "true", "VISUAL": "true", "GIT_EDITOR": "true", "GIT_TERMINAL_PROMPT": "0",
	}}
	if e.shell == "" {
		e.shell = findShell()
	}
	e.vars["SHELL"] = e.shell
	for k, v := range o.Env {
		if isStartup(k) {
			continue
		}
		e.vars[k] = v
		delete(e.quiet, k)
	}
	return e
}

// isStartup reports whether a shell reads a file by this variable.
func isStartup(name string) bool { return name == "BASH_ENV" || name == "ENV" }

// findShell returns bash, or sh where there is none.
func findShell() string {
	for _, sh := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"} {
		if unix.Access(sh, unix.X_OK) == nil {
			return sh
		}
	}
	return "/bin/sh"
}

// hasBash reports whether scripts are run by bash.
func (e environment) hasBash() bool { return path.Base(e.shell) == "bash" }

// of makes the complete environment of a command.
func (e environment) of(c provider.Command) []string {
	all := make(map[string]string, len(e.vars)+len(e.quiet)+len(c.Env)+1)
	for k, v := range e.vars {
		all[k] = v
	}
	if c.TTY != nil {
		all["TERM"] = "xterm-256color"
		if c.TTY.Term != "" {
			all["TERM"] = c.TTY.Term
		}
	} else {
		all["TERM"] = "dumb"
		for k, v := range e.quiet {
			all[k] = v
		}
	}
	for k, v := range c.Env {
		if k == "BASH_ENV" && c.Script != "" {
			continue // a script starts without start-up files
		}
		all[k] = v
	}
	list := make([]string, 0, len(all))
	for k, v := range all {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	return list
}
