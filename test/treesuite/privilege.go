package treesuite

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"
)

// testPrivilegeBits checks that set-user-id bits and capabilities never
// survive a change of contents by an unprivileged user, and are not stored at
// all where one owner is shown.
func testPrivilegeBits(t *testing.T, s Subject) {
	if os.Geteuid() != 0 {
		testenv.SkipArchitectural(t, "setting privilege bits needs root")
	}
	if s.Single != nil {
		t.Run("not stored", func(t *testing.T) { testNotStored(t, s) })
	}
	if s.Host == "" {
		testenv.SkipArchitectural(t, "the host's side is not reachable")
	}
	who := Account{4321, 4321}
	if s.Single != nil {
		who = *s.Single
	}
	if who.UID == 0 {
		testenv.SkipArchitectural(t, "the only user there is is root")
	}
	buf := []byte("evil")
	changes := map[string]func(name string) error{
		"write": func(name string) error {
			fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_, err = unix.Write(fd, buf)
			return err
		},
		"truncate": func(name string) error { return unix.Truncate(name, 1) },
		"O_TRUNC": func(name string) error {
			fd, err := unix.Open(name, unix.O_WRONLY|unix.O_TRUNC|unix.O_CLOEXEC, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		},
	}
	for what, change := range changes {
		t.Run(what, func(t *testing.T) {
			dir, host := fresh(t, s)
			hostName := filepath.Join(host, "f")
			put(t, hostName, "text")
			must(t, os.Chown(hostName, who.UID, who.GID))
			must(t, unix.Chmod(hostName, 0o6777))
			capable := unix.Setxattr(hostName, "security.capability", someCapability(), 0) == nil
			as(t, who, func() { want(t, what, change(filepath.Join(dir, "f"))) })
			if got := lstat(t, hostName).Mode & 0o7777; got != 0o777 {
				t.Errorf("afterwards the mode on the host is %o, want 777", got)
			}
			if capable {
				if n, err := unix.Getxattr(hostName, "security.capability", make([]byte, 64)); err == nil {
					t.Errorf("afterwards the file has capabilities (%d bytes)", n)
				}
			}
		})
	}
}

// someCapability is a revision 2 attribute that permits CAP_NET_RAW.
func someCapability() []byte {
	b := make([]byte, 20)
	binary.LittleEndian.PutUint32(b, 0x02000001)
	binary.LittleEndian.PutUint32(b[4:], 1<<13)
	return b
}

func testNotStored(t *testing.T, s Subject) {
	dir, host := fresh(t, s)
	name := filepath.Join(dir, "f")
	put(t, name, "")
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	want(t, "chmod", unix.Chmod(name, 0o6755))
	want(t, "chmod of a directory", unix.Chmod(filepath.Join(dir, "d"), 0o2755))
	fd, err := unix.Open(filepath.Join(dir, "new"), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o4755)
	want(t, "create", err)
	unix.Close(fd)
	want(t, "mknod", unix.Mknod(filepath.Join(dir, "node"), unix.S_IFREG|0o6755, 0))
	for _, entry := range []string{"f", "d", "new", "node"} {
		for _, at := range []string{dir, host} {
			if at == "" {
				continue
			}
			if st := lstat(t, filepath.Join(at, entry)); st.Mode&0o6000 != 0 {
				t.Errorf("%s has mode %o", entry, st.Mode)
			}
		}
	}
	err = unix.Setxattr(name, "security.capability", someCapability(), 0)
	want(t, "setting a capability", err, unix.EOPNOTSUPP, unix.EPERM)
}
