package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

func TestKernels(t *testing.T) {
	for release, want := range map[string]Status{
		"6.1.0-18-amd64": OK, "6.18.44-fc": OK, "10.0": OK, "6.0.19": Warn, "5.15.0-generic": Warn, "4.18.0-553.el8": Warn, "odd": Warn, "": Warn,
	} {
		if got := judgeKernel("Linux", release); got.Status != want || !strings.Contains(got.Detail, release) {
			t.Errorf("%q: %+v, want %s", release, got, want)
		}
	}
}

func TestDescriptorLimits(t *testing.T) {
	for hard, want := range map[uint64]Status{1024: Warn, 4095: Warn, 4096: OK, 1 << 20: OK, unix.RLIM_INFINITY: OK} {
		if got := judgeDescriptors(hard); got.Status != want {
			t.Errorf("%d: %+v, want %s", hard, got, want)
		}
	}
}

func TestSpace(t *testing.T) {
	const gib = 1 << 30 / 4096
	for name, c := range map[string]struct {
		fs   unix.Statfs_t
		want Status
	}{
		"plenty":                   {unix.Statfs_t{Bsize: 4096, Blocks: 100 * gib, Bavail: 50 * gib, Files: 1 << 20, Ffree: 1 << 19}, OK},
		"small and empty":          {unix.Statfs_t{Bsize: 4096, Blocks: gib / 2, Bavail: gib / 4, Files: 4000, Ffree: 3000}, OK},
		"large and nearly full":    {unix.Statfs_t{Bsize: 4096, Blocks: 100 * gib, Bavail: gib / 2, Files: 1 << 20, Ffree: 1 << 19}, Warn},
		"few inodes":               {unix.Statfs_t{Bsize: 4096, Blocks: 100 * gib, Bavail: 50 * gib, Files: 1 << 20, Ffree: 500}, Warn},
		"inodes as they come":      {unix.Statfs_t{Bsize: 4096, Blocks: 100 * gib, Bavail: 50 * gib}, OK},
		"full":                     {unix.Statfs_t{Bsize: 4096, Blocks: 100 * gib, Files: 1 << 20, Ffree: 1 << 19}, Fail},
		"no inode":                 {unix.Statfs_t{Bsize: 4096, Blocks: 100 * gib, Bavail: 50 * gib, Files: 1 << 20}, Fail},
		"a file system of no size": {unix.Statfs_t{Bsize: 4096}, OK},
	} {
		if got, detail := judgeSpace(c.fs); got != c.want {
			t.Errorf("%s: %s (%s), want %s", name, got, detail, c.want)
		}
	}
}

func TestKindsOfFileSystems(t *testing.T) {
	for magic, want := range map[int64]trust{
		unix.EXT4_SUPER_MAGIC: onDisk, unix.XFS_SUPER_MAGIC: onDisk, unix.TMPFS_MAGIC: vanishes, unix.NFS_SUPER_MAGIC: network, unix.V9FS_MAGIC: network,
		unix.FUSE_SUPER_MAGIC: unknown, 0x12345: unknown,
		0xff534d42:         network, // smb, as f_type of 64 bits has it
		0xff534d42 - 1<<32: network, // and as one of 32 bits, with its sign
	} {
		if got := kindOf(magic); got.trust != want || got.name == "" {
			t.Errorf("%#x: %+v, want trust %d", magic, got, want)
		}
	}
}

func TestOurMounts(t *testing.T) {
	const text = `30 1 0:26 / / rw - ext4 /dev/vda rw
31 30 0:30 / /home/u/my\040tree rw,nosuid - fuse.sandboxfs sandboxfs rw,user_id=1000,group_id=1000
32 30 0:31 / /srv/roots rw - fuse.sandboxfs sandboxfs rw,user_id=0,group_id=0,allow_other
33 30 0:32 / /mnt/other rw - fuse.sshfs host: rw,user_id=1000
34 30 0:33 / /plain rw - fuse sandboxfs rw,user_id=1000
a line that is none
`
	for uid, want := range map[int]string{0: "/home/u/my tree|/srv/roots|/plain", 1000: "/home/u/my tree|/plain", 100: ""} {
		if got := strings.Join(ours(mountinfo.Parse(text), uid), "|"); got != want {
			t.Errorf("uid %d: %q, want %q", uid, got, want)
		}
	}
}

func TestUnmountIsOneCommand(t *testing.T) {
	points := []string{"/a", "/it's b"}
	if got, want := (&machine{}).unmount(points), `umount -l '/a' '/it'\''s b'`; got != want {
		t.Errorf("root: %s, want %s", got, want)
	}
	if got, want := (&machine{UID: 1}).unmount(points), `fusermount3 -u -z '/a' && fusermount3 -u -z '/it'\''s b'`; got != want {
		t.Errorf("user: %s, want %s", got, want)
	}
}

func TestFuseConf(t *testing.T) {
	for text, want := range map[string]bool{"": false, "#user_allow_other\n": false, "mount_max = 1\n  user_allow_other \n": true, "user_allow_other": true, "user_allow_others\n": false} {
		if got := hasLine(strings.NewReader(text), "user_allow_other"); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestWorse(t *testing.T) {
	for _, c := range [][3]Status{{OK, OK, OK}, {OK, Warn, Warn}, {Fail, Warn, Fail}, {Warn, Fail, Fail}, {Warn, OK, Warn}} {
		if got := worse(c[0], c[1]); got != c[2] {
			t.Errorf("worse(%s, %s) = %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

// What a doctor that was killed left is removed, and nothing that may be
// another one's.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * scratchAge)
	for _, name := range []string{".doctor-old/users", ".doctor-new", "users", ".other"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		top, _, _ := strings.Cut(name, "/")
		if top != ".doctor-new" {
			if err := os.Chtimes(filepath.Join(dir, top), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	home, err := hostpath.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	sweep(home)
	entries, _ := filepath.Glob(filepath.Join(dir, ".*[a-z]"))
	if got := strings.ReplaceAll(strings.Join(entries, " "), dir+"/", ""); got != ".doctor-new .other" {
		t.Errorf("left %s, want .doctor-new .other", got)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	seen := 0
	_, err := Run(ctx, Options{Config: provider.Config{Home: dir + "/home", RuntimeDir: dir + "/run"}}, func(Finding) {
		if seen++; seen == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || seen > 3 {
		t.Errorf("Run = %v after %d findings, want it to be cancelled", err, seen)
	}
	if _, err := os.Stat(dir + "/home"); err == nil {
		t.Error("the data directory was made")
	}
}

func TestRunRefusesABadConfiguration(t *testing.T) {
	_, err := Run(t.Context(), Options{Config: provider.Config{Home: "relative"}}, func(f Finding) { t.Errorf("a check was made: %+v", f) })
	if !errors.Is(err, provider.Invalid) {
		t.Errorf("Run = %v, want invalid", err)
	}
}
