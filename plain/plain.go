package plain

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"reflect"

	"nova/core"
)

// Clone copies a value, sharing only what is immutable.
func Clone[T any](v *T) *T {
	p, at := pointee(v)
	return (*T)(p.Clone(at))
}

// Machine copies a root machine, which must be a pointer to plain data.
func Machine(m core.Machine) core.Machine {
	p, at := pointee(m)
	return reflect.NewAt(p.typ, p.Clone(at)).Interface().(core.Machine)
}

// Append appends the canonical encoding of what ptr points to.
func Append(b []byte, ptr any) []byte {
	p, at := pointee(ptr)
	return p.Append(b, at)
}

// Equal reports whether two values of one type are equal.
func Equal[T any](a, b *T) bool {
	return bytes.Equal(Append(nil, a), Append(nil, b))
}

// Hash is a 64-bit hash of a value, the same in every process.
func Hash(ptr any) uint64 {
	h := fnv.New64a()
	h.Write(Append(nil, ptr))
	return h.Sum64()
}

// Decode is Append the other way: it fills what ptr points to, which must be the
// zero value of the type that was encoded, and wraps ErrEncoding where b is no
// encoding of one. Strings of it may share b's bytes: b must not change any more.
// Whether b was made of this very type Shape tells.
func Decode(b string, ptr any) error {
	p, at := pointee(ptr)
	rest, err := p.decode(b, at)
	if err == nil && rest != "" {
		err = fmt.Errorf("%w: %d bytes are left over", ErrEncoding, len(rest))
	}
	if err != nil {
		return fmt.Errorf("decode a %s: %w", p.typ, err)
	}
	return nil
}

// Shape is a hash of the type of what ptr points to: the names, kinds and order of
// all that its encoding is made of, and the order of bytes on this machine. Two
// types with one shape have one encoding.
func Shape(ptr any) uint64 {
	p, _ := pointee(ptr)
	h := fnv.New64a()
	fmt.Fprintf(h, "%d ", binary.NativeEndian.Uint16([]byte{1, 0}))
	shape(h, p.typ)
	return h.Sum64()
}

func shape(w io.Writer, t reflect.Type) {
	fmt.Fprintf(w, "%s/%d", t.Kind(), t.Size())
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(w, "{%s ", f.Name)
			shape(w, f.Type)
			fmt.Fprint(w, "}")
		}
	case reflect.Array, reflect.Slice:
		fmt.Fprintf(w, "[%d ", arrayLen(t))
		shape(w, t.Elem())
		fmt.Fprint(w, "]")
	}
}

func arrayLen(t reflect.Type) int {
	if t.Kind() == reflect.Array {
		return t.Len()
	}
	return -1
}
