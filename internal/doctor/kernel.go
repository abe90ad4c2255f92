package doctor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// The oldest kernel that releases are tested with.
const minMajor, minMinor = 6, 1

func checkKernel(*machine) Finding {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return warn("its version cannot be read: "+err.Error(), "nothing, where the checks below are good", "")
	}
	return judgeKernel(unix.ByteSliceToString(u.Sysname[:]), unix.ByteSliceToString(u.Release[:]))
}

func judgeKernel(system, release string) Finding {
	detail := system + " " + release
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return warn(detail+", whose version is not understood", "nothing, where the checks below are good", "")
	}
	if major < minMajor || major == minMajor && minor < minMinor {
		return warn(fmt.Sprintf("%s, older than %d.%d, the oldest that releases are tested with", detail, minMajor, minMinor),
			"what the checks below name", "boot a newer kernel, such as that of Debian 12 or later")
	}
	return ok(detail)
}
