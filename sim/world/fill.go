package world

import (
	"hash/crc32"
	"slices"

	"nova/core"
)

// A world that is not empty at the beginning: what a recording of production told of
// it. Nothing of this is a change: Changes stays empty.

// PutRow puts a row at its revision, under a session ("": none), which must be alive.
func (w *World) PutRow(r core.Row, lease string) {
	m := &w.Meta
	m.rev = max(m.rev, r.Rev)
	x := &row{r, lease}
	if i, ok := m.find(r.Key); ok {
		m.rows[i] = x
	} else {
		m.rows = slices.Insert(m.rows, i, x)
	}
}

// Raise makes a revision the current one, if the current one is lower.
func (w *World) Raise(rev int64) { w.Meta.rev = max(w.Meta.rev, rev) }

// PutObject puts an object that stood already.
func (w *World) PutObject(s core.Store, key string, body Body, born core.Ms) {
	b := w.Bucket(s)
	o := &Object{Key: key, Body: body, Born: born}
	if i, ok := b.find(key); ok {
		b.objects[i] = o
	} else {
		b.objects = slices.Insert(b.objects, i, o)
	}
}

// PutUpload puts an unfinished upload that stood already; its parts must be sorted by
// number.
func (w *World) PutUpload(s core.Store, key, id string, parts []Part) {
	b := w.Bucket(s)
	u := &Upload{ID: id, Key: key, Parts: parts}
	if i, ok := b.upload(key, id); ok {
		b.uploads[i] = u
	} else {
		b.uploads = slices.Insert(b.uploads, i, u)
	}
}

// Join is bodies one after another.
func Join(bodies ...Body) (all Body) {
	for _, b := range bodies {
		all.join(b)
	}
	return all
}

// Forge is n bytes whose CRC-32C is crc: in place of bytes of which a recording has
// no more than that. Two of the same length and checksum are the same bytes. With
// fewer than four bytes there is no choice: the checksum is what it is.
func Forge(n int64, crc uint32) Body {
	if n < 4 {
		return Literal(string(make([]byte, n)))
	}
	// The register before the last four bytes, which follow zeros; and what they must
	// be for it to end as ^crc.
	before := ^zeroSum(n - 4)
	end := ^crc
	for range 4 {
		k := topOf[end>>24]
		end = (end^castagnoli[k])<<8 | uint32(k)
	}
	var b Body
	b.add(Seg{Blob: uint64(crc)<<31 ^ uint64(n) | 1<<63, Len: n, Whole: n, Fix: end ^ before})
	return b
}

// topOf finds an entry of the table by its first byte.
var topOf = func() (of [256]uint8) {
	for k, v := range castagnoli {
		of[v>>24] = uint8(k)
	}
	return of
}()

// zeroSum is the CRC-32C of n zeros.
func zeroSum(n int64) (sum uint32) {
	var zeros [4096]byte
	for n > 0 {
		k := min(n, int64(len(zeros)))
		sum = crc32.Update(sum, castagnoli, zeros[:k])
		n -= k
	}
	return sum
}

// forged fills p with the bytes of a forged blob from off on.
func forged(p []byte, s *Seg, off int64) {
	for i := range p {
		p[i] = 0
		if at := off + int64(i) - (s.Whole - 4); at >= 0 {
			p[i] = byte(s.Fix >> (8 * uint(at)))
		}
	}
}
