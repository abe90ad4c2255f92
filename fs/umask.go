package fs

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ClearUmask sets the umask of the whole process to 0. The serving process
// calls it once, before [New]: the client's kernel has already applied the
// caller's umask, and applying a second one would lose permission bits. Any
// other file the process makes must name its mode in full.
func ClearUmask() { unix.Umask(0) }

// checkUmask reads the umask without changing it.
func checkUmask() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("fs: reading the process status: %w; mount /proc where the server runs", err)
	}
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte("Umask:")); ok {
			if len(bytes.Trim(value, "0 \t\n")) > 0 {
				return errors.New("fs: the umask of this process is not 0; call ClearUmask before New")
			}
		}
	}
	return nil
}
