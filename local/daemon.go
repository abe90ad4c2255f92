package local

import (
	"os"
	osexec "os/exec"
	"path/filepath"

	"github.com/sandboxfs/sandboxfs/provider"
)

const daemonName = "sandboxfsd"

// FindDaemon returns the path of the sandboxfsd that a sandbox made by this
// process would run: $SANDBOXFSD, beside the calling executable, in ../libexec
// of it, or in PATH. Kind: unavailable, with the cure.
func FindDaemon() (string, error) { return findDaemon() }

// findDaemon returns the path of sandboxfsd: $SANDBOXFSD, beside the calling
// executable, in ../libexec of it, or in PATH.
func findDaemon() (string, error) {
	if p := os.Getenv("SANDBOXFSD"); p != "" {
		if isExecutable(p) {
			return p, nil
		}
		return "", &provider.Error{Kind: provider.Unavailable, Op: "acquire",
			Reason: "$SANDBOXFSD is set but names no executable file", Next: "set it to the path of sandboxfsd, or unset it"}
	}
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			dir := filepath.Dir(self)
			for _, p := range []string{filepath.Join(dir, daemonName), filepath.Join(dir, "..", "libexec", daemonName)} {
				if isExecutable(p) {
					return p, nil
				}
			}
		}
	}
	if p, err := osexec.LookPath(daemonName); err == nil {
		return p, nil
	}
	return "", &provider.Error{Kind: provider.Unavailable, Op: "acquire",
		Reason: "sandboxfsd was not found beside this program, in ../libexec or in PATH",
		Next:   "install it, or set SANDBOXFSD to its path"}
}

func isExecutable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}
