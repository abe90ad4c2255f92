package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
)

// lookProgram finds a program in PATH and in the system directories that an
// ordinary user's PATH leaves out.
func lookProgram(name string) (string, bool) {
	if path, err := exec.LookPath(name); err == nil {
		return path, true
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, true
		}
	}
	return "", false
}
