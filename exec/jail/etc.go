package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// generated returns the files of /etc that are made anew, so that no user,
// home, host or domain of the host is named in them.
func generated(w *world) map[string]string {
	hosts := "files"
	if w.Net == NetHost {
		hosts = "files dns"
	}
	return map[string]string{
		"passwd": "root:x:0:0:root:/:/usr/sbin/nologin\n" +
			fmt.Sprintf("agent:x:%d:%d:agent:%s:/bin/bash\n", w.UID, w.GID, w.Home) +
			"nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
		"group":    "root:x:0:\ntty:x:5:\n" + fmt.Sprintf("agent:x:%d:\n", w.GID) + "nogroup:x:65534:\n",
		"hosts":    "127.0.0.1 localhost " + w.Hostname + "\n::1 localhost ip6-localhost\n",
		"hostname": w.Hostname + "\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: " + hosts +
			"\nnetworks: files\nprotocols: files\nservices: files\nethers: files\nrpc: files\n",
		"resolv.conf": resolvConf(w),
		"shells":      "/bin/sh\n/bin/bash\n",
	}
}

// resolvConf keeps the host's name servers and options where its network is
// shared, and leaves out its search domains.
func resolvConf(w *world) string {
	if w.Net != NetHost {
		return "# no network\n"
	}
	b, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return "" // the resolver's default is the local host
	}
	return filterResolv(string(b))
}

func filterResolv(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 1 && (f[0] == "nameserver" || f[0] == "options") {
			out.WriteString(strings.Join(f, " ") + "\n")
		}
	}
	return out.String()
}

// hostEtc are the entries of the host's /etc that are shown when present:
// what programs need to run, with nothing in it that names this host or its
// people. A trailing '*' stands for any ending.
var hostEtc = [...]string{
	"ImageMagick-*", "alternatives", "crypto-policies", "debian_version", "fonts", "inputrc", "java*",
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "magic", "magic.mime", "maven/m2.conf", "mime.types",
	"os-release", "papersize", "perl", "pki/ca-trust", "pki/tls/cert.pem", "pki/tls/certs", "pki/tls/openssl.cnf",
	"protocols", "python*", "redhat-release", "rpc", "services", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf",
	"terminfo", "texmf", "timezone",
}

// copyMax is the size up to which a file is copied; a larger one is bound, so
// that a sandbox does not hold a copy of it in memory.
const copyMax = 16 << 10

// buildEtc makes /etc.
func buildEtc(w *world, root int) error {
	if err := makeDir(root, "etc"); err != nil {
		return failed("mkdir /etc", err)
	}
	for name, text := range generated(w) {
		if err := writeFile(root, "etc/"+name, []byte(text), 0o644); err != nil {
			return failed("write /etc/"+name, err)
		}
	}
	if err := unix.Symlinkat("../proc/self/mounts", root, "etc/mtab"); err != nil {
		return failed("symlink /etc/mtab", err)
	}
	names, err := os.ReadDir("/etc")
	if err != nil {
		return failed("list /etc", err)
	}
	for _, pattern := range hostEtc {
		if !strings.HasSuffix(pattern, "*") {
			if err := showEtc(root, pattern); err != nil {
				return err
			}
			continue
		}
		for _, n := range names {
			if strings.HasPrefix(n.Name(), strings.TrimSuffix(pattern, "*")) {
				if err := showEtc(root, n.Name()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// showEtc shows one entry of the host's /etc. What is absent or not readable
// for this user is left out.
func showEtc(root int, name string) error {
	var st unix.Stat_t
	host, at := "/etc/"+name, "etc/"+name
	if err := unix.Lstat(host, &st); err != nil {
		return nil
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if err := makeParents(root, "etc/"+dir); err != nil {
			return failed("mkdir /etc/"+dir, err)
		}
	}
	var err error
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		err = linkEtc(root, name)
	case unix.S_IFDIR:
		if unix.Access(host, unix.R_OK|unix.X_OK) != nil {
			return nil
		}
		if err = makeDir(root, at); err == nil {
			err = bindReadOnly(host, root, at)
		}
	case unix.S_IFREG:
		if unix.Access(host, unix.R_OK) != nil {
			return nil
		}
		err = fileEtc(root, name, st.Size)
	}
	if err != nil {
		return failed("show /"+at, err)
	}
	return nil
}

// makeParents makes a directory with those above it.
func makeParents(root int, at string) error {
	if err := makeDir(root, at); !errors.Is(err, unix.ENOENT) {
		return err
	}
	if err := makeParents(root, path.Dir(at)); err != nil {
		return err
	}
	return makeDir(root, at)
}

// linkEtc copies a symbolic link whose target is public too.
func linkEtc(root int, name string) error {
	target, err := os.Readlink("/etc/" + name)
	if err != nil {
		return err
	}
	abs := target
	if !path.IsAbs(abs) {
		abs = path.Join("/etc", path.Dir(name), target)
	}
	if !underAny(path.Clean(abs), []string{"/usr", "/etc", "/opt"}) {
		return nil
	}
	return unix.Symlinkat(target, root, "etc/"+name)
}

// fileEtc copies a small file and binds a larger one, or one that is too large
// for an inherited limit on files.
func fileEtc(root int, name string, size int64) error {
	host, at := "/etc/"+name, "etc/"+name
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if size > copyMax || uint64(size) > limit.Cur {
		if err := writeFile(root, at, nil, 0o644); err != nil {
			return err
		}
		return bindReadOnly(host, root, at)
	}
	b, err := os.ReadFile(host)
	if err != nil {
		return err
	}
	return writeFile(root, at, b, 0o644)
}
