package posixsuite

import (
	"regexp"
	"slices"
	"strings"
)

// deviation is a case, or several, in which a tree answers otherwise than a
// plain directory on purpose.
type deviation struct {
	// cases is matched against "CALL on TARGET by USER".
	cases string
	// plain and tree begin the answers; empty: any.
	plain, tree string
	// only is what alone may differ in what is seen afterwards, as a regular
	// expression; all that is seen, and the answers, must be equal without
	// it. Empty: the answers differ, and if the tree's is an error, nothing
	// may have changed.
	only string
	// proof is a case that deviates for certain, "CALL on TARGET", which runs in
	// every share; empty where the answer is the matter of the filesystem
	// behind or of the kernel's caches, so that the two may be equal as well.
	proof string
	// why is the reason.
	why string
}

// deviations lists what docs/SEMANTICS.md says, for a subject.
func deviations(s Subject) []deviation {
	if !s.Tree {
		return nil
	}
	list := []deviation{
		{cases: `xattr`, proof: "setxattr user.test on file", tree: "ENOTSUP", why: "a tree has no extended attributes"},
		{cases: `^FS_IOC_GETFLAGS .* on locked-since `, plain: "ok", why: "the kernel opens the file anew for it"},
		{cases: `^FS_IOC_GETFLAGS`, proof: "FS_IOC_GETFLAGS of R on file", plain: "ok", tree: "ENOTTY", why: "the host's file flags are the operator's"},
		{cases: `^rename WHITEOUT`, proof: "rename WHITEOUT on open/file -> missing", tree: "EINVAL", why: "a whiteout is a device node, for a layer of overlayfs, which a tree cannot be"},
		{cases: `^lseek .* on (directory|full|unlinked-directory) `, why: "where a directory ends is each filesystem's own matter"},
		{cases: `^(fadvise|readahead) `, only: atime, why: "reading ahead reads through the server, which sets the time of access"},
		{cases: `^read 0 `, only: atime, why: "some filesystems set the time of access even if nothing is read"},
		{cases: `^(read|write|splice)[ a-z0-9]* of .* on fifo `, only: `[am]time \S+|ctime \S+`, why: "a FIFO's data never reach the server, so its times stay"},
		{cases: `^(fallocate|f?truncate) .* on set-id-file `, only: `10[0-7]777 nlink|ctime \S+`, why: "the kernel drops set-id bits before it asks the server, so also where that fails"},
		{cases: `^fallocate (COLLAPSE|INSERT)_RANGE `, tree: "ENOTSUP", why: "the kernel's FUSE client has no such request"},
		{cases: `^(name_to_handle_at) `, why: "handles are the kernel's own"},
	}
	if s.Single != nil {
		list = append(list,
			deviation{cases: `^(f?chmod|fchmodat2|creat|mkdir|mknod) `, only: `\b(\d+)[0-7]777 nlink|\b(\d+)[0-7]755 nlink|\b(\d+)[0-7]644 nlink|ctime \S+`, proof: "chmod 2755 on file", why: "set-id bits are not stored"},
			deviation{cases: `^mknod whiteout on `, proof: "mknod whiteout on missing", plain: "ok", tree: "EPERM", why: "no device nodes"},
			deviation{cases: `^[lf]?chown to `, plain: "ok", tree: "EPERM", why: "there is no other owner, for root neither"},
		)
	}
	if s.Single == nil {
		list = append(list, deviation{
			cases: `^truncate 0 on .*empty-file `, only: `mtime \S+|ctime \S+`,
			why: "it cannot be told from an open with O_TRUNC, which sets the times of an empty file",
		})
	}
	if s.Quota {
		list = append(list,
			deviation{cases: `^fallocate (ZERO_RANGE )?KEEP_SIZE `, proof: "fallocate KEEP_SIZE of RW on file", tree: "ENOTSUP", why: "room that no size shows would not count"},
			deviation{cases: `^(fallocate too far|pwrite too far|truncate|ftruncate)`, tree: "EDQUOT", why: "a size counts, whatever of it is a hole"},
		)
	}
	if !s.Passthrough {
		list = append(list, deviation{
			cases: `^pread (at|after) the end|on empty-file `, only: atime,
			why: "without passthrough the kernel does not ask for what is beyond the end",
		})
	}
	return list
}

const atime = `atime \S+`

// covers reports whether a case is one of those listed.
func (d deviation) covers(j job, plain *side) bool {
	return regexp.MustCompile(d.cases).MatchString(j.name) && strings.HasPrefix(plain.answer, d.plain)
}

// proves reports whether a case is to run because of a deviation.
func (d deviation) proves(job string) bool {
	return d.proof != "" && strings.HasPrefix(job, d.proof+" by ")
}

// accepts reports whether a case deviates as it is listed.
func (d deviation) accepts(plain, tree *side) bool {
	if d.only != "" {
		cut := regexp.MustCompile(d.only)
		without := func(s *side) []string {
			lines := []string{cut.ReplaceAllString(s.answer, "")}
			for _, line := range s.after {
				lines = append(lines, cut.ReplaceAllString(line, ""))
			}
			return lines
		}
		return slices.Equal(without(plain), without(tree))
	}
	return tree.answer != plain.answer && strings.HasPrefix(tree.answer, d.tree)
}
