package format

import (
	"errors"
	"fmt"

	"nova/core"
)

// ErrDamaged is wrapped by every decoder's error: the bytes are not what any
// encoder of this version writes.
var ErrDamaged = errors.New("damaged")

// version is the first byte of every value; the second is its tag.
const version = 1

// tag tells the values apart, so that one read as another is refused. Tags are
// on disk: they never change.
type tag byte

const (
	tagRow tag = iota + 1
	tagChainConst
	tagChainHead
	tagChainTrim
	tagStream
	tagWriter
	tagSettleMark
	tagReapMark
	tagTrimMark
	tagTeardownMark
	tagBatchMark
	tagIntent
	tagParked
	tagNumber
	tagRetentionMark
	tagGone
)

var tagNames = [...]string{"?", "ref row", "chain constants", "chain head", "chain cursors", "stream descriptor", "writer record",
	"settle marker", "reap marker", "trim-check marker", "teardown marker", "batch marker", "intent", "parked marker", "number", "retention marker", "irrevocable record"}

// writer appends a value's fields: unsigned numbers as varints, signed ones
// zigzag, strings with their length before them.
type writer struct{ b []byte }

func begin(t tag, room int) writer {
	b := make([]byte, 0, room+2)
	return writer{append(b, version, byte(t))}
}

func (w *writer) end() string { return string(w.b) }

func (w *writer) u(v uint64) {
	for v >= 0x80 {
		w.b = append(w.b, byte(v)|0x80)
		v >>= 7
	}
	w.b = append(w.b, byte(v))
}

func (w *writer) i(v int64) { w.u(uint64(v)<<1 ^ uint64(v>>63)) }

// size writes a number that is never below zero: an offset, a length, a count of
// bytes. One below zero is written so that the decoder refuses it.
func (w *writer) size(v int64) { w.u(uint64(v)) }

func (w *writer) ms(v core.Ms) { w.i(int64(v)) }

func (w *writer) str(s string) {
	w.u(uint64(len(s)))
	w.b = append(w.b, s...)
}

// flags packs booleans, the first in the lowest bit.
func (w *writer) flags(fs ...bool) {
	var v byte
	for i, f := range fs {
		if f {
			v |= 1 << i
		}
	}
	w.b = append(w.b, v)
}

// reader takes a value's fields. The first that does not fit makes it bad, with
// a reason; after that every field is zero.
type reader struct {
	s   string
	t   tag
	why string
}

func open(t tag, v string) reader {
	r := reader{s: v, t: t}
	switch {
	case len(v) < 2:
		r.fail("shorter than its head")
	case v[0] != version:
		r.fail("of another version")
	case v[1] != byte(t):
		r.fail("a value of another kind")
	default:
		r.s = v[2:]
	}
	return r
}

func (r *reader) fail(why string) {
	if r.why == "" {
		r.why, r.s = why, ""
	}
}

func (r *reader) check(ok bool, why string) {
	if !ok {
		r.fail(why)
	}
}

// close is the decoder's verdict.
func (r *reader) close() error {
	r.check(r.s == "", "longer than its fields")
	if r.why != "" {
		return fmt.Errorf("decode %s: %s: %w", tagNames[r.t], r.why, ErrDamaged)
	}
	return nil
}

// Uvarint reads a number in its shortest form off the front of s: seven bits a
// byte, the lowest first. It reports false where s holds none. It is for the
// decoders of other packages too: serve's requests, and recordings.
func Uvarint(s string) (v uint64, rest string, ok bool) {
	for k := range len(s) {
		c := s[k]
		if k == 9 && c > 1 || k > 0 && c == 0 { // over 64 bits, or not the shortest form
			break
		}
		v |= uint64(c&0x7f) << (7 * uint(k))
		if c < 0x80 {
			return v, s[k+1:], true
		}
	}
	return 0, s, false
}

func (r *reader) u() uint64 {
	v, rest, ok := Uvarint(r.s)
	if !ok {
		r.fail("a number that is cut short or not in its shortest form")
		return 0
	}
	r.s = rest
	return v
}

func (r *reader) i() int64 {
	v := r.u()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *reader) ms() core.Ms { return core.Ms(r.i()) }

func (r *reader) size() int64 {
	v := r.u()
	r.check(v <= 1<<63-1, "a size below zero")
	if r.why != "" {
		return 0
	}
	return int64(v)
}

func (r *reader) u32() uint32 {
	v := r.u()
	r.check(v <= 1<<32-1, "a number that is too large for its field")
	if r.why != "" {
		return 0
	}
	return uint32(v)
}

func (r *reader) byte() byte {
	if r.s == "" {
		r.fail("shorter than its fields")
		return 0
	}
	c := r.s[0]
	r.s = r.s[1:]
	return c
}

func (r *reader) str() string {
	n := r.u()
	if n > uint64(len(r.s)) {
		r.fail("a string that is cut short")
		return ""
	}
	s := r.s[:n]
	r.s = r.s[n:]
	return s
}

func (r *reader) flags(fs ...*bool) {
	v := r.byte()
	for i, f := range fs {
		*f = v&(1<<i) != 0
	}
	r.check(v>>len(fs) == 0, "flags that do not exist")
}

// count reads how many elements follow, of at least atLeast bytes each, so that
// nothing is allocated that the remaining bytes could not fill.
func (r *reader) count(atLeast int) int {
	n := r.u()
	if n > uint64(len(r.s)/atLeast) {
		r.fail("more elements than bytes")
		return 0
	}
	return int(n)
}

func (r *reader) class() core.Class {
	c := r.byte()
	r.check(c < core.Classes, "a storage class that does not exist")
	if r.why != "" {
		return 0
	}
	return core.Class(c)
}

func (w *writer) class(c core.Class) { w.b = append(w.b, byte(c)) }

func (w *writer) window(v Window) {
	w.size(v.Off)
	w.size(v.Len)
}

func (r *reader) window() Window {
	v := Window{Off: r.size()}
	v.Len = r.size()
	r.check(v.Off <= 1<<63-1-v.Len, "a window beyond every object")
	return v
}

func (w *writer) stores(ss []core.Store) {
	w.u(uint64(len(ss)))
	for _, s := range ss {
		w.str(string(s))
	}
}

// MaxStores is how many stores a chain's bucket set has at most.
const MaxStores = 3

func (r *reader) stores() []core.Store { return r.storesUpTo(MaxStores) }

func (r *reader) storesUpTo(most int) []core.Store {
	n := r.count(1)
	r.check(n <= most, "more stores than there may be")
	if r.why != "" || n == 0 {
		return nil
	}
	ss := make([]core.Store, n)
	for i := range ss {
		ss[i] = core.Store(r.str())
		for j := range i {
			r.check(ss[j] != ss[i], "a store twice in one bucket set")
		}
	}
	return ss
}
