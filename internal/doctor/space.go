package doctor

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// What is little: less than both of a share and an amount.
const (
	littleBytes  = 1 << 30
	littleInodes = 10000
	littleShare  = 20 // one part in so many
)

func checkSpace(m *machine) Finding {
	worst := OK
	var details, lost []string
	for _, d := range []struct{ what, path string }{{"data directory", m.Home}, {"runtime directory", m.RuntimeDir}} {
		dir, _ := existing(d.path)
		var fs unix.Statfs_t
		if err := unix.Statfs(dir, &fs); err != nil {
			return fail(dir+": "+err.Error(), "it is not known whether there is space", "")
		}
		status, detail := judgeSpace(fs)
		if status != OK {
			lost = append(lost, "writes to the "+d.what)
		}
		worst = worse(worst, status)
		details = append(details, d.what+": "+detail)
	}
	f := Finding{Status: worst, Detail: strings.Join(details, "; "), Lost: strings.Join(lost, ", ")}
	if worst != OK {
		f.Cure = "remove threads or files that nobody needs, or move the directory to a larger file system"
	}
	return f
}

func judgeSpace(fs unix.Statfs_t) (Status, string) {
	free, all := fs.Bavail*uint64(fs.Bsize), fs.Blocks*uint64(fs.Bsize)
	status, detail := OK, fmt.Sprintf("%s of %s free", size(free), size(all))
	if all > 0 && free < littleBytes && free < all/littleShare {
		status = Warn
	}
	if fs.Files > 0 { // some file systems make inodes as they need them
		detail += fmt.Sprintf(", %d of %d inodes", fs.Ffree, fs.Files)
		if fs.Ffree < littleInodes && fs.Ffree < fs.Files/littleShare {
			status = Warn
		}
	}
	if all > 0 && free == 0 || fs.Files > 0 && fs.Ffree == 0 {
		status = Fail
	}
	return status, detail
}

func size(n uint64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
}
