package posixsuite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// stressors are those of stress-ng that work on files of a directory, in
// groups that run at once. Those that also walk or sync all that is mounted
// (getdent, io) are left out: another mount is not this test's matter.
var stressors = [...]string{
	"access chdir chmod chown dentry dir dirdeep dirmany filename mknod rename symlink link touch utime",
	"copy-file fallocate fpunch fstat hdd iomix open readahead revio seek sync-file file-ioctl",
	"fcntl flock lease locka lockf lockofd msync aio sendfile splice rmap",
}

// testStressors runs them with the checks that they have of their own.
func testStressors(t *testing.T, w *workshop, seconds int) {
	testenv.RequireProgram(t, "stress-ng", "stress-ng")
	for _, group := range stressors {
		options := ""
		for _, name := range strings.Fields(group) {
			options += " --" + name + " 1"
		}
		out := w.script(`exec stress-ng --verify --temp-path "$PWD" --timeout "$1"s --fstat-dir "$PWD" --hdd-bytes 8m --iomix-bytes 8m --fallocate-bytes 8m --revio-bytes 8m --readahead-bytes 8m --sync-file-bytes 8m`+options, fmt.Sprint(seconds))
		for _, line := range strings.Split(out, "\n") {
			if strings.Contains(line, "fail:") {
				t.Error(line)
			}
		}
		w.script(`[ -z "$(ls -A)" ] || { ls -lA; exit 1; }`)
	}
}
