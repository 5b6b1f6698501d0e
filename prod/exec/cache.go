package exec

import (
	"container/list"
	"context"
	"sync"

	"nova/core"
)

// Cache holds whole objects, for pieces that are too small to be fetched one by
// one: the slots of a batch have a chunk for every member. It is bounded by
// bytes and gives up what was not read for longest. An object that is asked for
// by many is fetched once. Objects never change under their keys, so what it
// holds stays true; what its bytes are is checked again at every use.
type Cache struct {
	max, object int64 // bytes of all, and of one at most

	mu   sync.Mutex
	used int64
	all  map[core.Obj]*cached
	old  *list.List            // of *cached that hold bytes, the least recently used first
	big  map[core.Obj]struct{} // known not to fit

	footers footers
}

// cached is one object: on its way until ready is closed.
type cached struct {
	obj   core.Obj
	ready chan struct{}
	bytes []byte
	ok    bool
	at    *list.Element
}

// bigMax bounds how many objects are remembered for not fitting.
const bigMax = 4096

// NewCache makes a cache of at most max bytes; an object of more than a quarter
// of that, or of more than 64 MiB, is not held. Beside them it holds footers, of at
// most a sixteenth more.
func NewCache(max int64) *Cache {
	return &Cache{max: max, object: min(max/4, 64<<20), all: map[core.Obj]*cached{}, old: list.New(), big: map[core.Obj]struct{}{},
		footers: footers{max: max / 16, all: map[core.Obj]*list.Element{}, old: list.New()}}
}

// has is the bytes of an object if the cache holds them.
func (c *Cache) has(o core.Obj) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.all[o]
	if e == nil || e.at == nil {
		return nil, false
	}
	c.old.MoveToBack(e.at)
	return e.bytes, true
}

// fits reports whether an object may be asked for: false once it was found to be
// too large.
func (c *Cache) fits(o core.Obj) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, big := c.big[o]
	return !big
}

// load is the bytes of an object, fetched by whoever asks first. fill runs in the
// background and outlives its asker; it reserves room before it reads. It is
// false when the object could not be had or does not fit: read it directly, which
// also says why.
func (c *Cache) load(ctx context.Context, o core.Obj, start func(func()), fill func(reserve func(n int64) bool) ([]byte, bool)) ([]byte, bool) {
	c.mu.Lock()
	e := c.all[o]
	if e == nil {
		e = &cached{obj: o, ready: make(chan struct{})}
		c.all[o] = e
		start(func() { c.fill(e, fill) })
	} else if e.at != nil {
		c.old.MoveToBack(e.at)
	}
	c.mu.Unlock()
	select {
	case <-e.ready:
		return e.bytes, e.ok
	case <-ctx.Done():
		return nil, false
	}
}

func (c *Cache) fill(e *cached, fill func(reserve func(n int64) bool) ([]byte, bool)) {
	var reserved int64
	b, ok := fill(func(n int64) bool {
		if c.reserve(e.obj, n) {
			reserved = n
			return true
		}
		return false
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if ok {
		e.bytes, e.ok = b, true
		e.at = c.old.PushBack(e)
	} else {
		c.used -= reserved
		delete(c.all, e.obj)
	}
	close(e.ready)
}

// reserve makes room for n bytes.
func (c *Cache) reserve(o core.Obj, n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > c.object {
		if len(c.big) >= bigMax {
			clear(c.big)
		}
		c.big[o] = struct{}{}
		return false
	}
	for c.used+n > c.max {
		first := c.old.Front()
		if first == nil {
			return false // the rest is on its way
		}
		c.drop(first.Value.(*cached))
	}
	c.used += n
	return true
}

// forget drops an object that is not there any more, or not what it should be.
func (c *Cache) forget(o core.Obj) {
	if c == nil {
		return
	}
	c.footers.forget(o)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.all[o]; e != nil && e.at != nil {
		c.drop(e)
	}
}

// drop gives an object up. c.mu is held. Who reads its bytes keeps them.
func (c *Cache) drop(e *cached) {
	c.old.Remove(e.at)
	delete(c.all, e.obj)
	c.used -= int64(len(e.bytes))
}

// Used is the bytes of objects that the cache holds or has reserved.
func (c *Cache) Used() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}
