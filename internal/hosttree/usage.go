package hosttree

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// Used is what a directory holds: bytes on the disk, and files, itself and
// other directories included.
type Used struct{ Bytes, Files int64 }

// Usage counts what dir holds, a file with several names more than once. What
// cannot be read, or lies too deep, is not counted.
func Usage(ctx context.Context, dir *os.File) (Used, error) {
	var u Used
	f, err := openAt(dir, ".", dirFlags)
	if err != nil {
		return u, err
	}
	d := Plain(f)
	defer d.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return u, failed("stat", ".", err)
	}
	u.add(&st)
	return u, u.below(ctx, d, 0)
}

func (u *Used) add(st *unix.Stat_t) {
	u.Files++
	u.Bytes += st.Blocks * 512
}

func (u *Used) below(ctx context.Context, d *Dir, depth int) error {
	var stop error
	_ = d.EachName(func(name string) error { // what cannot be read holds nothing that we know of
		if stop = ctx.Err(); stop != nil {
			return stop
		}
		st, err := d.Stat(name)
		if err != nil {
			return nil // gone by now
		}
		u.add(&st)
		if st.Mode&unix.S_IFMT != unix.S_IFDIR || depth == maxDepth {
			return nil
		}
		child, err := d.Open(name)
		if err != nil {
			return nil
		}
		defer child.Close()
		stop = u.below(ctx, child, depth+1)
		return stop
	})
	return stop
}
