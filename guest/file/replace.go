package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// replaceTries is how often a replacement starts anew because a command
// wrote the file meanwhile.
const replaceTries = 10

// Replace replaces text in a file atomically. Other writes of this guest wait
// for it. A command's write that lands before the rename is noticed and the
// replacement done again on the new content; what a command writes later
// through a descriptor that it opened before goes to the old file, as with
// every editor that renames. Kinds: as [provider.Sandbox.ReplaceInFile] says.
func (f *Files) Replace(ctx context.Context, p string, r provider.Replacement) (*provider.ReplaceResult, error) {
	const op = "replace in file"
	if r.Old == "" {
		return nil, refuse(provider.Invalid, op, p, "the text to replace is empty", "give the text as it stands in the file")
	}
	if len(r.Old)+len(r.New) > provider.MaxWriteFile {
		return nil, refuse(provider.TooLarge, op, p, "the text is more than 64 MiB", "use a command")
	}
	for range replaceTries {
		if err := ctx.Err(); err != nil {
			return nil, fail(op, p, err)
		}
		res, err := f.replaceOnce(ctx, op, p, r)
		if !errors.Is(err, errChanged) {
			return res, err
		}
	}
	return nil, refuse(provider.Conflict, op, p, "a command keeps writing this file", "try again when it has ended")
}

// errChanged reports that the file is no longer what was read.
var errChanged = errors.New("the file changed meanwhile")

func (f *Files) replaceOnce(ctx context.Context, op, p string, r provider.Replacement) (*provider.ReplaceResult, error) {
	// Only an existing file: looking must not make directories.
	place, st, err := openPlace(op, p)
	if err != nil {
		return nil, err
	}
	unix.Close(place)
	if err := wantRegular(op, p, st.Mode); err != nil {
		return nil, err
	}
	t, err := locate(op, p)
	if err != nil {
		return nil, err
	}
	defer t.close()
	unlock, err := f.lock(t.dir, t.name)
	if err != nil {
		return nil, fail(op, p, err)
	}
	defer unlock()

	content, before, err := readTarget(ctx, op, p, t)
	if err != nil {
		return nil, err
	}
	count, lines := matchLines(content, r.Old)
	switch {
	case count == 0:
		return nil, refuse(provider.NotFound, op, p, "the text to replace is not in the file", "read the file and give the text exactly, white space and line ends included")
	case count > 1 && !r.All:
		return nil, refuse(provider.Conflict, op, p, fmt.Sprintf("the text to replace is there %d times, at lines %s", count, joinLines(lines)), "give more of the text around it, or ask for all to be replaced")
	}
	if size := int64(len(content)) + int64(count)*int64(len(r.New)-len(r.Old)); size > provider.MaxWriteFile {
		return nil, refuse(provider.TooLarge, op, p, "the file would be more than 64 MiB", "use a command")
	}
	changed := bytes.ReplaceAll(content, []byte(r.Old), []byte(r.New))
	t.old = before
	if err := checkReplaceable(op, p, t); err != nil {
		return nil, err
	}
	tmp, err := newTemp(t)
	if err != nil {
		return nil, fail(op, p, err)
	}
	defer tmp.discard()
	if err := tmp.fill(ctx, bytes.NewReader(changed), int64(len(changed))); err != nil {
		return nil, fail(op, p, err)
	}
	if f.beforeRename != nil {
		f.beforeRename()
	}
	if err := t.refresh(); err != nil {
		return nil, fail(op, p, err)
	}
	if t.old == nil || !same(t.old, before) {
		return nil, errChanged
	}
	if err := tmp.become(t); err != nil {
		return nil, fail(op, p, err)
	}
	return &provider.ReplaceResult{Count: count, Lines: lines}, nil
}

// same reports whether nobody wrote the file between two looks at it.
func same(a, b *unix.Stat_t) bool {
	return a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size && a.Mtim == b.Mtim && a.Ctim == b.Ctim
}

// readTarget reads the whole file at a target and what it was before.
func readTarget(ctx context.Context, op, p string, t *target) ([]byte, *unix.Stat_t, error) {
	content, err := openRegular(op, p, t.dir, t.name, unix.O_NOFOLLOW)
	if err != nil {
		return nil, nil, err
	}
	defer content.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(content.Fd()), &st); err != nil {
		return nil, nil, fail(op, p, err)
	}
	if st.Size > provider.MaxWriteFile {
		return nil, nil, refuse(provider.TooLarge, op, p, "the file is more than 64 MiB", "use a command such as sed")
	}
	b, err := readLines(ctx, content, provider.LineRange{}, provider.MaxWriteFile, st.Size, time.Now().Add(maxRead))
	if errors.Is(err, errTooLarge) {
		return nil, nil, errChanged
	}
	if err != nil {
		return nil, nil, fail(op, p, err)
	}
	return b, &st, nil
}

// maxLines bounds the line numbers in one answer.
const maxLines = 10000

// matchLines counts the matches and returns the line, from 1, at which each
// begins, of the first ones alone where there are very many.
func matchLines(content []byte, old string) (count int, lines []int) {
	line, at := 1, 0
	for {
		i := bytes.Index(content[at:], []byte(old))
		if i < 0 {
			return count, lines
		}
		count++
		line += bytes.Count(content[at:at+i], []byte{'\n'})
		if count <= maxLines {
			lines = append(lines, line)
		}
		line += strings.Count(old, "\n")
		at += i + len(old)
	}
}

// joinLines writes the first few numbers.
func joinLines(lines []int) string {
	const most = 10
	var b strings.Builder
	for i, n := range lines {
		if i == most {
			b.WriteString(", ...")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}
