package explore

import (
	"hash/maphash"
	"math/bits"
)

// name is a 128-bit fingerprint of an encoding.
type name [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func nameOf(b []byte) name { return name{maphash.Bytes(seeds[0], b), maphash.Bytes(seeds[1], b)} }

// pool numbers distinct values in the order in which they are met.
type pool[T any] struct {
	ids map[name]uint32
	all []T
}

// id is the number of the value whose encoding is b; mk makes it where it is new.
func (p *pool[T]) id(b []byte, mk func() T) uint32 {
	n := nameOf(b)
	if i, ok := p.ids[n]; ok {
		return i
	}
	if p.ids == nil {
		p.ids = map[name]uint32{}
	}
	i := uint32(len(p.all))
	p.ids[n] = i
	p.all = append(p.all, mk())
	return i
}

// memo is an open-addressed table from 64-bit keys to 64-bit values. Key 0 is not
// used: every key has a bit set that says so.
type memo struct {
	tab  []entry
	mask uint64
	n    int
}

type entry struct{ key, val uint64 }

const used = 1 << 63

func (m *memo) get(key uint64) (uint64, bool) {
	if m.tab == nil {
		return 0, false
	}
	key |= used
	for i := mix(key) & m.mask; ; i = (i + 1) & m.mask {
		switch e := &m.tab[i]; e.key {
		case key:
			return e.val, true
		case 0:
			return 0, false
		}
	}
}

func (m *memo) put(key, val uint64) {
	if m.n*2 >= len(m.tab) {
		m.grow()
	}
	m.n++
	m.set(entry{key | used, val})
}

func (m *memo) set(e entry) {
	i := mix(e.key) & m.mask
	for m.tab[i].key != 0 {
		i = (i + 1) & m.mask
	}
	m.tab[i] = e
}

func (m *memo) grow() {
	old := m.tab
	m.tab = huge(make([]entry, max(1<<10, 2*len(old))))
	m.mask = uint64(len(m.tab) - 1)
	for _, e := range old {
		if e.key != 0 {
			m.set(e)
		}
	}
}

// mix scrambles 64 bits.
func mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// set is an open-addressed set of 64-bit fingerprints.
type set struct {
	tab  []uint64
	mask uint64
	n    int
}

// add adds a fingerprint and reports whether it was not there.
func (s *set) add(h uint64) bool {
	if s.n*4 >= len(s.tab)*3 {
		s.grow()
	}
	if h == 0 {
		h = 1
	}
	for i := h & s.mask; ; i = (i + 1) & s.mask {
		switch s.tab[i] {
		case h:
			return false
		case 0:
			s.tab[i] = h
			s.n++
			return true
		}
	}
}

// clear empties it.
func (s *set) clear() {
	clear(s.tab)
	s.n = 0
}

// home reports whether a fingerprint is there for sure: it stands where it is
// looked for first.
func (s *set) home(h uint64) bool { return h != 0 && s.tab[h&s.mask] == h }

// grow doubles the table: between 11 and 22 bytes a state, and half as much again
// for as long as it moves over.
func (s *set) grow() {
	old := s.tab
	s.tab = huge(make([]uint64, max(1<<12, 2*len(old))))
	s.mask = uint64(len(s.tab) - 1)
	for _, h := range old {
		if h != 0 {
			i := h & s.mask
			for s.tab[i] != 0 {
				i = (i + 1) & s.mask
			}
			s.tab[i] = h
		}
	}
}
