package plain

import (
	"bytes"
	"hash/fnv"
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
