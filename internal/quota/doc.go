// Package quota counts what a thread holds, for all processes that write for
// it at once: the keeper of its sandbox, servers of mounts, and the operator's
// own writes beside the tree.
//
// A regular file and a symbolic link count by their size, rounded up to 4096
// bytes, a directory counts 4096 bytes, anything else none; each inode counts
// as one file. An inode with several names counts once, and one without a name
// for as long as somebody has it open. It is the size that counts and not the
// blocks: a page that a mapping has dirtied lies within the size, so writing it
// back never fails, and a sparse file pays for what it promises.
//
// The counters lie in a small file that every holder maps. No holder believes
// a file that nobody else has in use: the first one counts by a walk. The
// kernel's locks on the file say who lives, so a holder that was killed is
// noticed, and its share is found out by a walk too.
//
// What it must never do:
//   - let the sum of two reservations exceed the limit;
//   - believe a number that no living holder vouches for;
//   - follow a symbolic link, or open a path with more than one component;
//   - wait without a bound for another process: a stopped one holds its locks.
//
// What somebody changes on the host without this package is not refused. It is
// counted with the next walk: before a write fails for want of quota, and
// every so often while there are writes.
//
// # For a verb that writes into a thread
//
// [ForThread] attaches to the thread's ledger, and [Ledger.Mkdir],
// [Ledger.Create], [Ledger.Symlink], [Ledger.Rename], [Ledger.Remove] and
// [Ledger.WriteFile] do what their namesakes do, counted. All of them work on
// a nil *Ledger, which counts nothing: that is what ForThread returns where
// nothing is bounded. Close it in the end.
//
// # Where to read next
//
// ledger.go for the parts, gate.go for how a walk and writes keep out of each
// other's way, resize.go for the shape of a counted operation. Package fs
// declares, as its Quota, what it asks of a Ledger.
package quota
