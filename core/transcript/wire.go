package transcript

import (
	"nova/core"
	"nova/core/format"
)

// wire appends the fields of a record.
type wire []byte

func (w *wire) u(v uint64) {
	for v >= 0x80 {
		*w = append(*w, byte(v)|0x80)
		v >>= 7
	}
	*w = append(*w, byte(v))
}

func (w *wire) i(v int64) { w.u(uint64(v)<<1 ^ uint64(v>>63)) }

func (w *wire) byte(c byte) { *w = append(*w, c) }

func (w *wire) flag(on bool) {
	if on {
		w.byte(1)
	} else {
		w.byte(0)
	}
}

func (w *wire) text(s string) {
	w.u(uint64(len(s)))
	*w = append(*w, s...)
}

// blanked is a text that may begin with many zeros.
func (w *wire) blanked(s string) {
	n := 0
	for n < min(len(s), maxBlank) && s[n] == 0 {
		n++
	}
	w.u(uint64(n))
	w.text(s[n:])
}

func (w *wire) path(p core.Path) {
	w.byte(byte(p.Len()))
	for i := range p.Len() {
		w.u(uint64(p.At(i)))
	}
}

func (w *wire) mark(m core.Mark) {
	w.text(m.Key)
	w.i(m.Rev)
}

func (w *wire) obj(o core.Obj) {
	w.text(string(o.Store))
	w.text(o.Key)
}

// unwire takes them back, strictly. The first field that does not fit makes it bad,
// and every field after it zero. Texts share the bytes of s.
type unwire struct {
	s   string
	bad bool
}

func (p *unwire) need(ok bool) {
	if !ok {
		p.bad, p.s = true, ""
	}
}

func (p *unwire) byte() byte {
	if p.s == "" {
		p.need(false)
		return 0
	}
	c := p.s[0]
	p.s = p.s[1:]
	return c
}

// below is a byte below n.
func (p *unwire) below(n int) byte {
	c := p.byte()
	p.need(int(c) < n)
	if p.bad {
		return 0
	}
	return c
}

func (p *unwire) flag() bool { return p.below(2) == 1 }

func (p *unwire) u() uint64 {
	v, rest, ok := format.Uvarint(p.s)
	if p.need(ok); !ok {
		return 0
	}
	p.s = rest
	return v
}

func (p *unwire) i() int64 {
	v := p.u()
	return int64(v>>1) ^ -int64(v&1)
}

func (p *unwire) u32() uint32 {
	v := p.u()
	p.need(v <= 1<<32-1)
	return uint32(v)
}

func (p *unwire) i32() int32 {
	v := p.i()
	p.need(v == int64(int32(v)))
	return int32(v)
}

func (p *unwire) text() (s string) {
	n := p.u()
	if p.need(n <= uint64(len(p.s))); p.bad {
		return ""
	}
	s, p.s = p.s[:n], p.s[n:]
	return s
}

// maxBlank bounds the zeros that a text begins with as a number: a few bytes must not
// become many.
const maxBlank = 1 << 20

func (p *unwire) blanked() string {
	n := p.u()
	p.need(n <= maxBlank)
	s := p.text()
	p.need(s == "" || s[0] != 0 || n == maxBlank)
	if n == 0 || p.bad {
		return s
	}
	b := make([]byte, int(n)+len(s))
	copy(b[n:], s)
	return string(b)
}

// count is a number of values that take at least least bytes each.
func (p *unwire) count(least int) int {
	n := p.u()
	if p.need(n <= uint64(len(p.s)/least)); p.bad {
		return 0
	}
	return int(n)
}

func (p *unwire) path() (at core.Path) {
	for range p.below(core.MaxDepth + 1) {
		v := p.u()
		p.need(v <= 1<<16-1)
		at = at.Then(core.Slot(v))
	}
	return at
}

func (p *unwire) mark() (m core.Mark) {
	m.Key = p.text()
	m.Rev = p.i()
	return m
}

func (p *unwire) obj() (o core.Obj) {
	o.Store = core.Store(p.text())
	o.Key = p.text()
	return o
}

// list takes a list of values that take at least least bytes each.
func list[T any](p *unwire, least int, one func() T) []T {
	n := p.count(least)
	if n == 0 {
		return nil
	}
	all := make([]T, 0, min(n, 4096))
	for range n {
		if all = append(all, one()); p.bad {
			return nil
		}
	}
	return all
}
