package serve

import "nova/core/format"

// wire appends the fields of a request or an answer: varints in their shortest
// form, signed numbers zigzag.
type wire []byte

func (w *wire) u(v uint64) {
	for v >= 0x80 {
		*w = append(*w, byte(v)|0x80)
		v >>= 7
	}
	*w = append(*w, byte(v))
}

func (w *wire) i(v int64) { w.u(uint64(v)<<1 ^ uint64(v>>63)) }

// unwire takes them back. The first field that does not fit makes it bad, and
// every field after it zero.
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

func (p *unwire) size() int64 {
	v := p.u()
	p.need(v <= 1<<40) // sums of them stay numbers
	return int64(v)
}

func (p *unwire) reason() Reason {
	r := Reason(p.byte())
	p.need(r < reasons)
	return r
}
