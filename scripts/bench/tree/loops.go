package main

// The workloads that are loops of system calls, in the process that measures.

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	block = 1 << 20
	page  = 4096
)

// bulk writes a new large file, then reads the one that is there.
func (w *worker) bulk() error {
	const name = "written"
	buf := make([]byte, block)
	fill(buf)
	if err := w.timed(rowWrite, func() error { return writeFile(name, buf, w.Sizes.Big) }); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil {
		return err
	}
	if err := w.warm(rowRead, func() error { return readFile(bigFile, buf, w.Sizes.Big) }); err != nil {
		return err
	}
	return w.timed(rowRandom, func() error { return w.randomReads(w.Sizes.Reads) })
}

func (w *worker) randomCold() error {
	return w.timed(rowRandomCold, func() error { return w.randomReads(w.Sizes.ColdReads) })
}

func writeFile(name string, buf []byte, size int64) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	for done := int64(0); done < size; done += int64(len(buf)) {
		if _, err := f.Write(buf); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

func readFile(name string, buf []byte, size int64) error {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var total int64
	for {
		n, err := unix.Read(fd, buf)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		total += int64(n)
	}
	if total != size {
		return fmt.Errorf("%d bytes were read, not %d", total, size)
	}
	return nil
}

// randomReads reads pages at the same random places in every process.
func (w *worker) randomReads(count int) error {
	fd, err := unix.Open(bigFile, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	random := rand.New(rand.NewPCG(1, 2))
	var buf [page]byte
	for range count {
		n, err := unix.Pread(fd, buf[:], random.Int64N(w.Sizes.Big/page)*page)
		if err != nil || n != page {
			return fmt.Errorf("%d bytes were read: %w", n, err)
		}
	}
	return nil
}

// files creates small files in one directory, then removes them.
func (w *worker) files() error {
	const dir = "small"
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	names := make([]string, w.Sizes.Small)
	for i := range names {
		names[i] = dir + "/" + strconv.Itoa(i)
	}
	var content [page]byte
	fill(content[:])
	err := w.timed(rowCreate, func() error {
		for _, name := range names {
			if err := create(name, content[:]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = w.timed(rowUnlink, func() error {
		for _, name := range names {
			if err := unix.Unlink(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return os.Remove(dir)
}

func create(name string, content []byte) error {
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	n, err := unix.Write(fd, content)
	if err == nil && n != len(content) {
		err = fmt.Errorf("%d bytes were written", n)
	}
	return errors.Join(err, unix.Close(fd))
}

func (w *worker) walk() error {
	if err := w.warm(rowStat, w.statAll); err != nil {
		return err
	}
	return w.warm(rowFind, w.find)
}

func (w *worker) statCold() error { return w.timed(rowStatCold, w.statAll) }

// statAll lists every directory of the tree and looks at every name in it.
func (w *worker) statAll() error {
	found := 0
	err := filepath.WalkDir(treeDir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		found++
		return unix.Lstat(name, &st)
	})
	if err == nil && found != w.Data.Entries {
		err = fmt.Errorf("%d entries were found, not %d", found, w.Data.Entries)
	}
	return err
}

// open opens and closes the files of the tree.
func (w *worker) open() error {
	names, err := regularFiles(treeDir)
	if err != nil {
		return err
	}
	return w.warm(rowOpen, func() error {
		for i := range w.Sizes.Opens {
			fd, err := unix.Open(names[i%len(names)], unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			if err := unix.Close(fd); err != nil {
				return err
			}
		}
		return nil
	})
}

// readOnly opens, reads and closes the files of a read-only region, then
// searches it.
func (w *worker) readOnly() error {
	names, err := regularFiles(w.ReadOnly)
	if err != nil {
		return err
	}
	err = w.warm(rowReadOnlyOpen, func() error {
		buf := make([]byte, 64<<10)
		for i := range w.Sizes.Opens / 2 {
			fd, err := unix.Open(names[i%len(names)], unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			n, err := unix.Read(fd, buf)
			if err == nil && n == 0 {
				err = errors.New("an empty file")
			}
			if err := errors.Join(err, unix.Close(fd)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.warm(rowReadOnlySearch, func() error { return w.grep(w.ReadOnly, w.Data.ReadOnlyMatches) })
}

// fsyncs writes pages, each followed by fsync(2).
func (w *worker) fsyncs() error {
	fd, err := unix.Open("synced", unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var content [page]byte
	fill(content[:])
	return w.timed(rowFsync, func() error {
		for i := range w.Sizes.Syncs {
			if _, err := unix.Pwrite(fd, content[:], int64(i)*page); err != nil {
				return err
			}
			if err := unix.Fsync(fd); err != nil {
				return err
			}
		}
		return nil
	})
}

// regularFiles returns those below a directory, in the order of a walk.
func regularFiles(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s has no files", filepath.Base(dir))
	}
	return names, err
}

// fill writes what does not compress and is the same every time.
func fill(p []byte) {
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(p) // it never fails
}
