package posixsuite

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// testPaths makes calls with paths about as long as any can be (PATH_MAX,
// 4096 with the end), in both directories.
func testPaths(t *testing.T, s Subject) {
	u := cast(t, s)[0]
	logs := map[string][]string{}
	for _, dir := range []string{s.Plain, s.Dir} {
		note := func(what string, err error) { logs[dir] = append(logs[dir], what+": "+outcome("", err)) }
		top := dir + "/long"
		if err := os.Mkdir(top, 0o777); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			os.Chown(top, u.UID, u.GID)
		}
		u.do(func() {
			defer unix.Chdir("/")
			if err := unix.Chdir(top); err != nil {
				note("chdir", err)
				return
			}
			part := strings.Repeat("p", 199) + "/"
			for i := 1; i <= 20; i++ { // 4000 bytes
				note(fmt.Sprint("mkdir at depth ", i), unix.Mkdir(strings.Repeat(part, i), 0o755))
			}
			for _, length := range []int{4094, 4095, 4096} {
				path := strings.Repeat(part, 20) + strings.Repeat("n", length-4000)
				on := func(what string, err error) { note(fmt.Sprintf("%s of %d bytes", what, length), err) }
				var st unix.Stat_t
				on("open", touch(path))
				on("stat", unix.Stat(path, &st))
				on("chmod", unix.Chmod(path, 0o600))
				on("truncate", unix.Truncate(path, 5))
				on("rename", unix.Rename(path, "f"))
				on("rename back", unix.Rename("f", path))
				on("link", unix.Link(path, "f"))
				on("unlink", unix.Unlink(path))
				on("link back", unix.Link("f", path))
				unix.Unlink("f")
				on("symlink", unix.Symlink("x", path+"x"))
				on("unlink", unix.Unlink(path))
				on("mkdir", unix.Mkdir(path, 0o755))
				on("rmdir", unix.Rmdir(path))
				on("mknod", unix.Mknod(path, unix.S_IFIFO|0o600, 0))
				on("unlink", unix.Unlink(path))
			}
		})
	}
	plain, tree := differing(logs[s.Plain], logs[s.Dir])
	if plain+tree != "" {
		t.Errorf("plain: %s\ntree:  %s", plain, tree)
	}
}
