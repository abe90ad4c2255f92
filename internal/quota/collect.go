package quota

import (
	"errors"

	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"golang.org/x/sys/unix"
)

// Collect removes the ledgers of a runtime directory that nobody has in use,
// which killed holders left, and returns how many those were. The thread's
// next holder would not believe them anyway.
func Collect(root *rundir.Root) (removed int, err error) {
	names, err := root.Ledgers()
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		gone, cerr := collect(name)
		if gone {
			removed++
		}
		err = errors.Join(err, cerr)
	}
	return removed, err
}

func collect(name *rundir.Ledger) (bool, error) {
	f, err := name.Open()
	if err != nil {
		return false, err
	}
	defer f.Close() // the gate too
	l := &Ledger{file: f, slot: -1}
	if !l.setLock(unix.F_WRLCK, gateByte, 1) || !name.Named(f) || l.lockedElsewhere(slotBytes, maxHolders) {
		return false, nil
	}
	return true, name.Remove()
}
