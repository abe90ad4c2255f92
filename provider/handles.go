package provider

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// handleCache keeps the handles used last. What leaves it is discarded, once,
// without the lock.
type handleCache struct {
	discard func(Sandbox)

	mu   sync.Mutex
	lru  *simplelru.LRU[string, Sandbox]
	gone []Sandbox // left the cache while mu was held
}

func newHandleCache(size int, discard func(Sandbox)) (*handleCache, error) {
	c := &handleCache{discard: discard}
	lru, err := simplelru.NewLRU(size, func(_ string, s Sandbox) { c.gone = append(c.gone, s) })
	if err != nil {
		return nil, err
	}
	c.lru = lru
	return c, nil
}

// get returns a handle and makes it the one used last.
func (c *handleCache) get(id string) (Sandbox, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(id)
}

func (c *handleCache) add(id string, s Sandbox) {
	c.mu.Lock()
	// A value that is replaced is not evicted in the eyes of the LRU.
	if old, ok := c.lru.Peek(id); ok && old != s {
		c.gone = append(c.gone, old)
	}
	c.lru.Add(id, s)
	c.unlockAndDiscard()
}

func (c *handleCache) drop(id string) {
	c.mu.Lock()
	c.lru.Remove(id)
	c.unlockAndDiscard()
}

// dropIf drops a handle only where it is still the one meant: a verdict about
// an old one must not remove its successor.
func (c *handleCache) dropIf(id string, s Sandbox) {
	c.mu.Lock()
	if current, ok := c.lru.Peek(id); ok && current == s {
		c.lru.Remove(id)
	}
	c.unlockAndDiscard()
}

func (c *handleCache) dropAll() {
	c.mu.Lock()
	c.lru.Purge()
	c.unlockAndDiscard()
}

func (c *handleCache) unlockAndDiscard() {
	gone := c.gone
	c.gone = nil
	c.mu.Unlock()
	if c.discard == nil {
		return
	}
	for _, s := range gone {
		c.discard(s)
	}
}
