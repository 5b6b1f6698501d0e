package cache

import (
	"container/list"
	"net/http"
	"sync"
	"time"
)

// entry is one answer to a GET of a whole object.
type entry struct {
	key     string
	status  int
	header  http.Header // immutable, like body
	body    []byte
	pass    bool // no answer: it is known that the key is not to be held
	until   time.Time
	cost    int64
	readers int           // that are being answered from it
	at      *list.Element // nil once it was dropped
}

// overhead is what an entry costs beside its bytes and its key.
const overhead = 512

// flight is a read of an object that all who want it wait for.
type flight struct {
	key   string
	done  chan struct{}
	stale bool // the key was evicted meanwhile: the answer is not held
	wait  int
	got   *entry // once done; nil: everyone asks for themselves
}

// memory holds entries, least recently used first out. What it holds and what is
// being read into it is at most max bytes; an entry that was dropped counts until
// its last reader is through.
type memory struct {
	max  int64
	life time.Duration
	now  func() time.Time

	mu      sync.Mutex
	used    int64
	order   list.List // of *entry, most recently used first
	of      map[string]*entry
	held    map[string]int // keys with a mutation in flight: nothing of them is cached
	flights map[string]*flight
}

func newMemory(max int64, life time.Duration, now func() time.Time) *memory {
	return &memory{max: max, life: life, now: now, of: map[string]*entry{}, held: map[string]int{}, flights: map[string]*flight{}}
}

// take finds what to answer a read with: an entry, to be released; or a flight to
// wait for, which the caller leads or, with join false, nothing instead; or
// nothing: ask the store.
func (m *memory) take(key string, join bool) (e *entry, f *flight, lead bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held[key] > 0 {
		return nil, nil, false
	}
	if e = m.of[key]; e != nil && !m.now().Before(e.until) {
		m.drop(e)
		e = nil
	}
	if e != nil {
		m.order.MoveToFront(e.at)
		if e.pass {
			return nil, nil, false
		}
		e.readers++
		return e, nil, false
	}
	if !join {
		return nil, nil, false
	}
	if f = m.flights[key]; f == nil {
		f, lead = &flight{key: key, done: make(chan struct{})}, true
		m.flights[key] = f
	}
	f.wait++
	return nil, f, lead
}

// release ends a reader's use of an entry.
func (m *memory) release(e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.readers--
	if e.at == nil && e.readers == 0 {
		m.used -= e.cost
	}
}

// leave ends a wait before its time.
func (m *memory) leave(f *flight) {
	m.mu.Lock()
	select {
	case <-f.done:
		m.mu.Unlock()
		if f.got != nil {
			m.release(f.got)
		}
		return
	default:
		f.wait--
	}
	m.mu.Unlock()
}

// reserve makes room for an entry's cost, if it can.
func (m *memory) reserve(n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.room(n)
}

// room evicts until n more bytes fit, and takes them. m.mu is held.
func (m *memory) room(n int64) bool {
	for at := m.order.Back(); m.used+n > m.max && at != nil; {
		e := at.Value.(*entry)
		if at = at.Prev(); e.readers == 0 { // else its bytes would stay all the same
			m.drop(e)
		}
	}
	if m.used+n > m.max {
		return false
	}
	m.used += n
	return true
}

// finish ends a flight with an answer whose cost is reserved, or with none. Keep
// says whether it is to be held.
func (m *memory) finish(f *flight, e *entry, keep bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer close(f.done)
	if m.flights[f.key] == f {
		delete(m.flights, f.key)
	}
	f.got = e
	if e == nil {
		return
	}
	e.key, e.readers = f.key, f.wait
	if keep && !f.stale {
		m.put(e)
	} else if e.readers == 0 {
		m.used -= e.cost
	}
}

// hold evicts a key and keeps it out until unhold: called before a mutation of it
// is sent on. A read that began before it may have the bytes that were; what it
// read is not held.
func (m *memory) hold(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held[key]++
	m.evict(key)
}

// unhold evicts a key again. After a mutation whose end is not known, what may be
// read of it until that end is not worth holding either.
func (m *memory) unhold(key string, unsure bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held[key]--; m.held[key] == 0 {
		delete(m.held, key)
	}
	m.evict(key)
	if unsure {
		m.shun(key)
	}
}

// pass remembers that an object is too large to be held.
func (m *memory) pass(f *flight) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !f.stale {
		m.shun(f.key)
	}
}

// shun keeps a key out for an entry's life. m.mu is held.
func (m *memory) shun(key string) {
	e := &entry{key: key, pass: true, cost: overhead + int64(len(key))}
	if m.room(e.cost) {
		m.put(e)
	}
}

// put adds an entry whose cost is taken. m.mu is held.
func (m *memory) put(e *entry) {
	if old := m.of[e.key]; old != nil {
		m.drop(old)
	}
	e.until = m.now().Add(m.life)
	e.at = m.order.PushFront(e)
	m.of[e.key] = e
}

// evict drops a key, and makes sure that no flight brings it back. m.mu is held.
func (m *memory) evict(key string) {
	if e := m.of[key]; e != nil {
		m.drop(e)
	}
	if f := m.flights[key]; f != nil {
		f.stale = true
		delete(m.flights, key)
	}
}

// drop takes an entry out. m.mu is held.
func (m *memory) drop(e *entry) {
	m.order.Remove(e.at)
	delete(m.of, e.key)
	if e.at = nil; e.readers == 0 {
		m.used -= e.cost
	}
}

// level is how many bytes and entries there are.
func (m *memory) level() (used int64, entries int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, len(m.of)
}
