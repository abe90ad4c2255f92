package fs

import (
	"maps"
	"runtime/debug"
	"time"
)

// A held descriptor keeps an inode that was deleted on the host, and its
// space, from being freed, and the host's filesystem from being unmounted. So
// descriptors of files are closed when they have not been used for a while;
// they are reopened when needed. Directories stay: one may be somebody's
// working directory, and it holds no space to speak of.
const (
	idleTick  = 10 * time.Second
	idleTicks = 3 // closed after two to three ticks without use
)

// closeIdle does so until stop is closed, and calls shrink as often.
func (t *Tree) closeIdle(stop <-chan struct{}, shrink func()) {
	tick := time.NewTicker(idleTick)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			t.closeOlder(idleTicks)
			t.freeForgotten()
			t.listings.closeAll(t, time.Now().Add(-CacheTime))
			shrink()
		}
	}
}

// closeOlder advances the clock of uses by one and closes the descriptors of
// files whose last use was age or more ticks ago. They have a name to be
// reopened by, so no handle is asked for.
func (t *Tree) closeOlder(age uint64) {
	var closing []held
	t.mu.Lock()
	t.tick++
	for n := t.files.tail; n != nil && n.used+age <= t.tick; {
		prev := n.prev
		if n.parent != nil || n.lookups == 0 {
			closing = append(closing, held{n, t.takeLocked(n)})
		}
		n = prev
	}
	t.mu.Unlock()
	for _, c := range closing {
		t.closeNode(c.node, c.fd)
	}
}

// manyNodes is from how many inodes on it pays to give their memory back: they
// take some hundred bytes each.
const manyNodes = 1 << 13

// freeForgotten gives memory back when the kernel has forgotten most of the
// inodes that it knew at once. The table would keep the size that it had, and
// the collector runs only where something is allocated.
func (t *Tree) freeForgotten() {
	t.mu.Lock()
	fewer := t.most >= manyNodes && len(t.nodes) < t.most/8
	if fewer {
		t.most = len(t.nodes)
		t.nodes, t.byKey = rebuilt(t.nodes), rebuilt(t.byKey)
	}
	t.mu.Unlock()
	if fewer {
		debug.FreeOSMemory()
	}
}

// rebuilt copies a map into one that is as large as it must be.
func rebuilt[K comparable, V any](m map[K]V) map[K]V {
	n := make(map[K]V, len(m))
	maps.Copy(n, m)
	return n
}
