package plain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// ErrEncoding is wrapped by every error of Decode.
var ErrEncoding = errors.New("no encoding of this type")

// maxEmpty is how many values a slice may have whose values take no bytes.
const maxEmpty = 1 << 16

// decode fills the zero value at v from the beginning of b, and returns the rest.
func (p *Plan) decode(b string, v unsafe.Pointer) (rest string, err error) {
	for i := range p.prog {
		in := &p.prog[i]
		f := unsafe.Add(v, in.off)
		switch in.op {
		case opRaw:
			if uintptr(len(b)) < in.size {
				return "", fmt.Errorf("%w: it ends inside of a number", ErrEncoding)
			}
			copy(unsafe.Slice((*byte)(f), in.size), b)
			b = b[in.size:]
		case opStr:
			var n uint64
			if n, b, err = length(b); err != nil {
				return "", err
			}
			if n > uint64(len(b)) {
				return "", fmt.Errorf("%w: a string of %d bytes, %d are left", ErrEncoding, n, len(b))
			}
			*(*string)(f), b = b[:n], b[n:]
		case opSlice:
			if b, err = in.slice(b, f); err != nil {
				return "", err
			}
		}
	}
	for _, off := range p.flags { // a flag that is neither true nor false is no value of Go
		if *(*byte)(unsafe.Add(v, off)) > 1 {
			return "", fmt.Errorf("%w: a flag that is neither set nor unset", ErrEncoding)
		}
	}
	return b, nil
}

// slice fills the nil slice at f.
func (in *instr) slice(b string, f unsafe.Pointer) (rest string, err error) {
	n, b, err := length(b)
	switch least := uint64(in.elem.least()); {
	case err != nil:
		return "", err
	case n == 0:
		return b, nil
	case least == 0 && n > maxEmpty, least > 0 && n > uint64(len(b))/least:
		return "", fmt.Errorf("%w: %d values in %d bytes", ErrEncoding, n, len(b))
	}
	s := reflect.MakeSlice(in.typ, int(n), int(n))
	reflect.NewAt(in.typ, f).Elem().Set(s)
	h := (*header)(f)
	for k := range h.n {
		if b, err = in.elem.decode(b, unsafe.Add(h.p, uintptr(k)*in.elem.typ.Size())); err != nil {
			return "", err
		}
	}
	return b, nil
}

// least is how many bytes an encoding has at least.
func (p *Plan) least() (n uintptr) {
	for i := range p.prog {
		if p.prog[i].op == opRaw {
			n += p.prog[i].size
		} else {
			n++
		}
	}
	return n
}

// length takes a length, in its shortest form.
func length(b string) (n uint64, rest string, err error) {
	for k := range min(len(b), binary.MaxVarintLen64) {
		c := b[k]
		n |= uint64(c&0x7f) << (7 * uint(k))
		if c >= 0x80 {
			continue
		}
		if k > 0 && c == 0 || k == binary.MaxVarintLen64-1 && c > 1 {
			break
		}
		return n, b[k+1:], nil
	}
	return 0, "", fmt.Errorf("%w: no length", ErrEncoding)
}
