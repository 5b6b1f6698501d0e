package world

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"sync"
)

// Seg is one run of an object's bytes: Bytes as they stand, or bytes
// [Off, Off+Len) of a blob.
type Seg struct {
	Bytes string // literal, if Len is 0
	Blob  uint64
	Off   int64
	Len   int64
	// Of a blob that was forged (Forge): its length, if it was, and its last bytes.
	// They follow from Blob.
	Whole int64
	Fix   uint32
}

func (s *Seg) size() int64 {
	if s.Len > 0 {
		return s.Len
	}
	return int64(len(s.Bytes))
}

// Body is the bytes of an object or a part. It is immutable and normal: no empty
// run, and no two runs that touch and could be one.
type Body struct {
	segs []Seg
	size int64
}

// Literal is a body of the bytes of s.
func Literal(s string) Body {
	var b Body
	b.add(Seg{Bytes: s})
	return b
}

// BlobRange is a body of bytes [off, off+n) of a blob.
func BlobRange(blob uint64, off, n int64) Body {
	var b Body
	b.add(Seg{Blob: blob, Off: off, Len: n})
	return b
}

// Size is the number of bytes.
func (b *Body) Size() int64 { return b.size }

// add appends a run; only while the body is being built.
func (b *Body) add(s Seg) {
	n := s.size()
	if n == 0 {
		return
	}
	b.size += n
	if k := len(b.segs); k > 0 {
		switch l := &b.segs[k-1]; {
		case l.Len > 0 && s.Len > 0 && l.Blob == s.Blob && l.Off+l.Len == s.Off:
			l.Len += s.Len
			return
		case l.Len == 0 && s.Len == 0:
			l.Bytes += s.Bytes
			return
		}
	}
	b.segs = append(b.segs, s)
}

// join appends another body; only while b is being built.
func (b *Body) join(o Body) {
	for _, s := range o.segs {
		b.add(s)
	}
}

// Slice is bytes [off, off+n); the range must lie inside.
func (b *Body) Slice(off, n int64) Body {
	var out Body
	for i := range b.segs {
		s := b.segs[i]
		k := s.size()
		if off >= k {
			off -= k
			continue
		}
		if n <= 0 {
			break
		}
		take := min(k-off, n)
		if s.Len > 0 {
			s.Off, s.Len = s.Off+off, take
		} else {
			s.Bytes = s.Bytes[off : off+take]
		}
		out.add(s)
		off, n = 0, n-take
	}
	return out
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC is the CRC-32C of bytes [off, off+n).
func (b *Body) CRC(off, n int64) (sum uint32) {
	b.each(off, n, func(p []byte) { sum = crc32.Update(sum, castagnoli, p) })
	return sum
}

// Read is bytes [off, off+n), made real.
func (b *Body) Read(off, n int64) string {
	if len(b.segs) > 0 { // the usual read is inside of the footer: no copy
		if l := &b.segs[len(b.segs)-1]; l.Len == 0 {
			if at := off - (b.size - int64(len(l.Bytes))); at >= 0 {
				return l.Bytes[at : at+n]
			}
		}
	}
	var out strings.Builder
	out.Grow(int(n))
	b.each(off, n, func(p []byte) { out.Write(p) })
	return out.String()
}

// scratches are what each makes bytes real in.
var scratches = sync.Pool{New: func() any { return new([512]byte) }}

// each calls f on consecutive pieces of bytes [off, off+n).
func (b *Body) each(off, n int64, f func([]byte)) {
	scratch := scratches.Get().(*[512]byte)
	defer scratches.Put(scratch)
	for i := range b.segs {
		s := &b.segs[i]
		k := s.size()
		if off >= k {
			off -= k
			continue
		}
		if n <= 0 {
			return
		}
		take := min(k-off, n)
		for at := off; at < off+take; {
			m := min(off+take-at, int64(len(scratch)))
			switch {
			case s.Whole > 0:
				forged(scratch[:m], s, s.Off+at)
			case s.Len > 0:
				content(scratch[:m], s.Blob, s.Off+at)
			default:
				copy(scratch[:m], s.Bytes[at:at+m])
			}
			f(scratch[:m])
			at += m
		}
		off, n = 0, n-take
	}
}

// Equal reports whether two bodies have the same bytes.
func (b *Body) Equal(o *Body) bool {
	if b.size != o.size {
		return false
	}
	same := len(b.segs) == len(o.segs)
	for i := 0; same && i < len(b.segs); i++ {
		same = b.segs[i] == o.segs[i]
	}
	// Runs that differ may still spell the same bytes.
	return same || b.Read(0, b.size) == o.Read(0, o.size)
}

// BlobCRC is the CRC-32C of bytes [off, off+n) of a blob.
func BlobCRC(blob uint64, off, n int64) uint32 {
	b := BlobRange(blob, off, n)
	return b.CRC(0, n)
}

// content fills p with the bytes of a blob from off on.
func content(p []byte, blob uint64, off int64) {
	w := mix(blob, uint64(off)>>3) >> (8 * (uint64(off) & 7))
	if uint64(off)&7 == 0 {
		for ; len(p) >= 8; p, off = p[8:], off+8 {
			binary.LittleEndian.PutUint64(p, mix(blob, uint64(off)>>3))
		}
	}
	for i := range p {
		if at := uint64(off) + uint64(i); at&7 == 0 {
			w = mix(blob, at>>3)
		}
		p[i] = byte(w)
		w >>= 8
	}
}

// mix is splitmix64 over a blob and a word of it.
func mix(blob, word uint64) uint64 {
	z := blob*0xbf58476d1ce4e5b9 + word*0x9e3779b97f4a7c15 + 0x2545f4914f6cdd1d
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Blob says which bytes of which blob the body is, if it is of one blob only.
func (b *Body) Blob() (blob uint64, off, n int64, ok bool) {
	if len(b.segs) != 1 || b.segs[0].Len == 0 {
		return 0, 0, 0, false
	}
	s := &b.segs[0]
	return s.Blob, s.Off, s.Len, true
}
