package guest

import (
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
)

const opDownload = "download file"

// checkDownload accepts a path that lies below root by its letters, with no
// ".." segment. Kinds: invalid, denied.
func checkDownload(root, p string) error {
	switch {
	case !path.IsAbs(p) || strings.ContainsRune(p, 0):
		return &provider.Error{Kind: provider.Invalid, Op: opDownload, Reason: "the path is not absolute", Next: "give a path below " + root}
	case strings.Contains(p+"/", "/../"):
		return &provider.Error{Kind: provider.Denied, Op: opDownload, Path: p, Reason: `a path with ".." is refused`, Next: "give the path without it"}
	case !strings.HasPrefix(path.Clean(p), strings.TrimSuffix(root, "/")+"/"):
		return &provider.Error{Kind: provider.Denied, Op: opDownload, Path: p, Reason: "only files below " + root + " can be downloaded", Next: "copy the file there first"}
	}
	return nil
}

// checkOpened refuses a file that was reached through a link which leads out of
// root. Where there is no /proc to ask, the path's letters must do. Kind:
// denied.
func checkOpened(root, p string, file *os.File) error {
	at, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(file.Fd())))
	if err != nil {
		return nil
	}
	real := root
	if dir, err := filepath.EvalSymlinks(root); err == nil {
		real = dir
	}
	if !strings.HasPrefix(at, strings.TrimSuffix(real, "/")+"/") {
		return &provider.Error{Kind: provider.Denied, Op: opDownload, Path: p, Reason: "it is a link that leads out of " + root, Next: "copy the file itself below " + root}
	}
	return nil
}

// handleDownload streams a file (AIO's GET /v1/file/download). The length is
// announced; a file that shrinks meanwhile breaks the connection, and with
// change_policy=abort so does any other change.
func (s *server) handleDownload(w http.ResponseWriter, r *http.Request) {
	p := query(r, "path")
	if err := checkDownload(s.o.DownloadRoot, p); err != nil {
		s.writeFileFailure(w, p, err)
		return
	}
	file, before, err := s.files.Open(opDownload, p)
	if err != nil {
		s.writeFileFailure(w, p, err)
		return
	}
	defer file.Close()
	if err := checkOpened(s.o.DownloadRoot, p, file); err != nil {
		s.writeFileFailure(w, p, err)
		return
	}
	if before.Size() > provider.MaxDownload {
		s.writeFileFailure(w, p, &provider.Error{Kind: provider.TooLarge, Op: opDownload, Path: p, Reason: "the file is larger than 100 MiB", Next: "split or compress it by a command"})
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+safeName(path.Base(p))+`"`)
	h.Set("Content-Length", strconv.FormatInt(before.Size(), 10))
	h.Set("Last-Modified", before.ModTime().UTC().Format(http.TimeFormat))
	if r.Method == http.MethodHead {
		return
	}
	if !send(w, file, before, query(r, "change_policy") == "abort") {
		panic(http.ErrAbortHandler) // so that the client sees a broken transfer
	}
}

// send copies the announced bytes; false says that they could not all be had
// or, where that matters, that the file changed meanwhile. The last byte is
// held back until that is known: a client that has them all sees no error.
func send(w io.Writer, file *os.File, before os.FileInfo, abort bool) bool {
	size := before.Size()
	if abort && size > 0 {
		size--
	}
	if n, err := io.Copy(w, io.LimitReader(file, size)); err != nil || n != size {
		return false
	}
	if size == before.Size() {
		return true
	}
	if changed(file, before) {
		return false
	}
	n, err := io.Copy(w, io.LimitReader(file, 1))
	return err == nil && n == 1
}

// changed reports whether a file was written since.
func changed(file *os.File, before os.FileInfo) bool {
	now, err := file.Stat()
	return err != nil || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime())
}

// safeName keeps a file's name from ending a quoted header value.
func safeName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' || r > '~' {
			return '_'
		}
		return r
	}, name)
}
