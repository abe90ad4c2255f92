package quota

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxHolders bounds the ledgers of one thread that are open at once.
const maxHolders = 128

// magic begins a valid file. Its last byte is the layout's version.
const magic = 0x73627871756f7401

// header is the shared file. All is zero in a new one.
type header struct {
	magic atomic.Uint64
	// stop is not 0 while somebody counts and no operation may begin.
	stop atomic.Int64
	// valid is 1 when bytes and files are right.
	valid atomic.Int64
	// holders is how many slots are in use.
	holders      atomic.Int64
	bytes, files atomic.Int64
	// walks is how often the thread was counted, countedAt when last, on the
	// machine's monotonic clock, and countTook how long; nanoseconds.
	walks, countedAt, countTook atomic.Int64

	_     [256 - 9*8]byte
	slots [maxHolders]slot
}

// slot is one holder's part. Whether the holder lives is what the kernel says
// of the lock on the slot's byte.
type slot struct {
	used atomic.Int64
	pid  atomic.Int64
	// inflight is how many operations are at work, ops how many have begun.
	inflight, ops atomic.Int64

	_ [64 - 4*8]byte // a cache line of its own
}

const headerSize = int(unsafe.Sizeof(header{}))

// pageSize is what the file's length is rounded up to.
const pageSize = 4096

const fileSize = (headerSize + pageSize - 1) / pageSize * pageSize

// reset makes a file that nobody uses a new one. All of it is written, so that
// the mapping never meets a page for which there is no room.
func reset(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(make([]byte, fileSize), 0)
	return err
}

// mapHeader maps the file, which has its full length.
func mapHeader(f *os.File) ([]byte, *header, error) {
	mem, err := unix.Mmap(int(f.Fd()), 0, fileSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return mem, (*header)(unsafe.Pointer(unsafe.SliceData(mem))), nil
}

// monotonic is a clock that all processes of the machine share.
func monotonic() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano()
}
