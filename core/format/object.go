package format

import (
	"fmt"
	"hash/crc32"
	"strconv"

	"nova/core"
)

// ObjectKind says what an object is.
type ObjectKind uint8

const (
	SlotObject    ObjectKind = 1
	SettledObject ObjectKind = 2
	FenceObject   ObjectKind = 3 // takes a slot's key, so that no slot can
)

func (k ObjectKind) String() string {
	switch k {
	case SlotObject:
		return "slot"
	case SettledObject:
		return "settled"
	case FenceObject:
		return "fence"
	}
	return "object?"
}

// An object is its chunks, then a footer, then a trailer. All numbers are
// big-endian.
//
//	footer:  magic (4), one entry a chunk (56), CRC-32C of what comes before (4)
//	entry:   stream, first (8 each), count, CRC-32C (4 each), offset, length, oldest, newest (8 each)
//	trailer: magic (4), version, kind, two zeros, footer offset, footer length (8 each), CRC-32C of the footer, CRC-32C of what comes before (4 each)
const (
	footerMagic  = "nvF\x01"
	trailerMagic = "NOVA"
	entrySize    = 56
	footerFrame  = len(footerMagic) + 4

	// TrailerSize is how long a trailer is: the last bytes of every object.
	TrailerSize = 32
	// TailRead is what a ReadTail asks for when the footer's length is not known:
	// enough for a footer of a thousand chunks.
	TailRead = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC is the CRC-32C of bytes.
func CRC(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// crcString is CRC without a copy of the whole string.
func crcString(s string) (sum uint32) {
	var buf [256]byte
	for s != "" {
		n := copy(buf[:], s)
		sum = crc32.Update(sum, castagnoli, buf[:n])
		s = s[n:]
	}
	return sum
}

// Footer is the bytes of a footer that DecodeFooter found sound, or that
// EncodeFooter made. The zero Footer has no chunks.
type Footer string

// FooterSize is how long the footer of n chunks is.
func FooterSize(n int) int64 { return int64(footerFrame + n*entrySize) }

// Len is how many chunks the object has.
func (f Footer) Len() int {
	if len(f) < footerFrame {
		return 0
	}
	return (len(f) - footerFrame) / entrySize
}

// At is chunk i, from 0. It does not allocate.
func (f Footer) At(i int) Chunk {
	p := len(footerMagic) + i*entrySize
	e := string(f[p : p+entrySize])
	return Chunk{
		Stream: get64(e, 0), First: get64(e, 8), Count: get32(e, 16), CRC: get32(e, 20),
		Off: int64(get64(e, 24)), Len: int64(get64(e, 32)),
		Oldest: core.Ms(get64(e, 40)), Newest: core.Ms(get64(e, 48)),
	}
}

// Chunks is every chunk, in the order of their bytes.
func (f Footer) Chunks() []Chunk {
	cs := make([]Chunk, f.Len())
	for i := range cs {
		cs[i] = f.At(i)
	}
	return cs
}

// EncodeFooter makes the footer of an object with these chunks. They must be in
// the order of their bytes.
func EncodeFooter(chunks []Chunk) Footer {
	b := make([]byte, 0, FooterSize(len(chunks)))
	b = append(b, footerMagic...)
	for i := range chunks {
		c := &chunks[i]
		b = put64(b, c.Stream)
		b = put64(b, c.First)
		b = put32(b, c.Count)
		b = put32(b, c.CRC)
		b = put64(b, uint64(c.Off))
		b = put64(b, uint64(c.Len))
		b = put64(b, uint64(c.Oldest))
		b = put64(b, uint64(c.Newest))
	}
	return Footer(put32(b, CRC(b)))
}

// DecodeFooter checks the bytes of a footer window. Every chunk of what it
// returns has records, and the chunks' bytes ascend and do not overlap.
func DecodeFooter(b string) (Footer, error) {
	n := len(b) - footerFrame
	switch {
	case n < 0 || n%entrySize != 0:
		return "", damaged("footer", "%d bytes, which no footer has", len(b))
	case b[:len(footerMagic)] != footerMagic:
		return "", damaged("footer", "wrong magic")
	case get32(b, len(b)-4) != crcString(b[:len(b)-4]):
		return "", damaged("footer", "wrong checksum")
	}
	f, at := Footer(b), int64(0)
	for i := range f.Len() {
		c := f.At(i)
		if !c.sound() || c.Off < at {
			return "", damaged("footer", "chunk %d is empty, out of order, or beyond every object", i)
		}
		at = c.Off + c.Len
	}
	return f, nil
}

// end is where the last chunk's bytes end.
func (f Footer) end() int64 {
	if n := f.Len(); n > 0 {
		c := f.At(n - 1)
		return c.Off + c.Len
	}
	return 0
}

// EncodeTrailer makes the trailer of an object whose footer lies at w.
func EncodeTrailer(kind ObjectKind, w Window, footer Footer) string {
	b := make([]byte, 0, TrailerSize)
	b = append(b, trailerMagic...)
	b = append(b, version, byte(kind), 0, 0)
	b = put64(b, uint64(w.Off))
	b = put64(b, uint64(w.Len))
	b = put32(b, crcString(string(footer)))
	return string(put32(b, CRC(b)))
}

// Finish makes what follows bodyLen bytes of chunks: footer and trailer, and
// where the footer lies.
func Finish(kind ObjectKind, bodyLen int64, chunks []Chunk) (tail string, w Window) {
	f := EncodeFooter(chunks)
	w = Window{Off: bodyLen, Len: int64(len(f))}
	return string(f) + EncodeTrailer(kind, w, f), w
}

// Tail is what the last bytes of an object say about it.
type Tail struct {
	Kind   ObjectKind
	Window Window // of the footer
	CRC    uint32 // of the footer
	Footer Footer // only when Whole
	Whole  bool   // the footer was inside the bytes that were read
}

// ParseTail judges an object of objectSize bytes by its last ones. An object that
// is shorter than a trailer, or whose trailer or footer is not sound, is
// ErrDamaged. When the footer begins before the bytes that were read, Whole is
// false: read Window and call DecodeFooter.
func ParseTail(tail string, objectSize int64) (Tail, error) {
	if len(tail) < TrailerSize || objectSize < int64(len(tail)) {
		return Tail{}, damaged("trailer", "%d of %d bytes are no trailer of %d", len(tail), objectSize, TrailerSize)
	}
	b := tail[len(tail)-TrailerSize:]
	t := Tail{
		Kind:   ObjectKind(b[5]),
		Window: Window{Off: int64(get64(b, 8)), Len: int64(get64(b, 16))},
		CRC:    get32(b, 24),
	}
	switch {
	case b[:len(trailerMagic)] != trailerMagic:
		return Tail{}, damaged("trailer", "wrong magic")
	case get32(b, TrailerSize-4) != crcString(b[:TrailerSize-4]):
		return Tail{}, damaged("trailer", "wrong checksum")
	case b[4] != version:
		return Tail{}, damaged("trailer", "version %d", b[4])
	case t.Kind < SlotObject || t.Kind > FenceObject || b[6] != 0 || b[7] != 0:
		return Tail{}, damaged("trailer", "kind %d", b[5])
	}
	// The footer ends where the trailer begins; no sum here can overflow.
	body := objectSize - TrailerSize
	if t.Window.Off < 0 || t.Window.Off > body || t.Window.Len != body-t.Window.Off || t.Window.Len < int64(footerFrame) {
		return Tail{}, damaged("trailer", "a footer at %d+%d in an object of %d bytes", t.Window.Off, t.Window.Len, objectSize)
	}
	have := int64(len(tail) - TrailerSize)
	if have < t.Window.Len {
		return t, nil
	}
	f, err := DecodeFooter(tail[have-t.Window.Len : have])
	if err != nil {
		return Tail{}, err
	}
	if crcString(string(f)) != t.CRC {
		return Tail{}, damaged("footer", "another than the trailer's")
	}
	if f.end() > t.Window.Off {
		return Tail{}, damaged("footer", "chunks that reach into it")
	}
	t.Footer, t.Whole = f, true
	return t, nil
}

// Fence is a whole object that takes a slot's key: no chunks, and a body that
// says which slot it closes. Two fences of one slot are the same bytes.
func Fence(star string, epoch, slot uint64) string {
	body := "fence " + strconv.FormatUint(epoch, 10) + " " + strconv.FormatUint(slot, 10) + " " + star
	tail, _ := Finish(FenceObject, int64(len(body)), nil)
	return body + tail
}

func damaged(what, why string, args ...any) error {
	return fmt.Errorf("decode %s: %s: %w", what, fmt.Sprintf(why, args...), ErrDamaged)
}

func put64(b []byte, v uint64) []byte { return put32(put32(b, uint32(v>>32)), uint32(v)) }

func put32(b []byte, v uint32) []byte {
	return append(b, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

func get64(s string, at int) uint64 { return uint64(get32(s, at))<<32 | uint64(get32(s, at+4)) }

func get32(s string, at int) uint32 {
	return uint32(s[at])<<24 | uint32(s[at+1])<<16 | uint32(s[at+2])<<8 | uint32(s[at+3])
}
