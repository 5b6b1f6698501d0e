package plain

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"
)

// opcode is what one instruction reads.
type opcode uint8

const (
	opRaw   opcode = iota // size bytes as they lie: numbers and flags without padding
	opStr                 // a string
	opSlice               // a slice of elem
)

// instr is one step of a type's program.
type instr struct {
	op   opcode
	own  bool // opSlice: changes in place, so a clone copies it
	off  uintptr
	size uintptr // opRaw
	elem *Plan   // opSlice
	typ  reflect.Type
}

// Plan is a type, compiled. Plans are immutable and safe for concurrent use.
type Plan struct {
	typ   reflect.Type
	prog  []instr   // everything, for encoding
	owns  []instr   // what a clone must copy
	flags []uintptr // where the booleans lie: not every byte is one
}

var plans sync.Map // reflect.Type → *Plan

// Of compiles a type that passes Check; it panics on one that does not.
func Of(t reflect.Type) *Plan {
	if p, ok := plans.Load(t); ok {
		return p.(*Plan)
	}
	if err := Check(t); err != nil {
		panic(err)
	}
	p, _ := plans.LoadOrStore(t, compile(t))
	return p.(*Plan)
}

// For is Of for a type known at compile time.
func For[T any]() *Plan { return Of(reflect.TypeFor[T]()) }

func compile(t reflect.Type) *Plan {
	p := &Plan{typ: t}
	p.add(t, 0, false)
	for _, in := range p.prog {
		if in.own {
			p.owns = append(p.owns, in)
		}
	}
	return p
}

// add appends the program of a value of type t at offset off.
func (p *Plan) add(t reflect.Type, off uintptr, owned bool) {
	switch t.Kind() {
	case reflect.Struct:
		own := owner(t)
		for i := range t.NumField() {
			p.add(t.Field(i).Type, off+t.Field(i).Offset, own)
		}
	case reflect.Array:
		for i := range t.Len() {
			p.add(t.Elem(), off+uintptr(i)*t.Elem().Size(), false)
		}
	case reflect.String:
		p.prog = append(p.prog, instr{op: opStr, off: off})
	case reflect.Slice:
		p.prog = append(p.prog, instr{op: opSlice, own: owned, off: off, elem: compile(t.Elem()), typ: t})
	default:
		if t.Kind() == reflect.Bool {
			p.flags = append(p.flags, off)
		}
		p.raw(off, t.Size())
	}
}

// raw appends size bytes, joined to the instruction before where they touch.
func (p *Plan) raw(off, size uintptr) {
	if n := len(p.prog); n > 0 {
		if l := &p.prog[n-1]; l.op == opRaw && l.off+l.size == off {
			l.size += size
			return
		}
	}
	p.prog = append(p.prog, instr{op: opRaw, off: off, size: size})
}

// header is a slice as it lies in memory.
type header struct {
	p    unsafe.Pointer
	n, c int
}

// Append encodes the value at v canonically: two values have the same encoding
// exactly if they are equal (a nil slice is an empty one; capacity and what lies
// beyond the length are no part of a value).
func (p *Plan) Append(b []byte, v unsafe.Pointer) []byte {
	for i := range p.prog {
		in := &p.prog[i]
		f := unsafe.Add(v, in.off)
		switch in.op {
		case opRaw:
			b = append(b, unsafe.Slice((*byte)(f), in.size)...)
		case opStr:
			s := *(*string)(f)
			b = append(uvarint(b, uint64(len(s))), s...)
		case opSlice:
			h := (*header)(f)
			b = uvarint(b, uint64(h.n))
			for k := range h.n {
				b = in.elem.Append(b, unsafe.Add(h.p, uintptr(k)*in.elem.typ.Size()))
			}
		}
	}
	return b
}

// Clone returns a copy of the value at v that shares nothing that can change.
func (p *Plan) Clone(v unsafe.Pointer) unsafe.Pointer {
	q := reflect.New(p.typ)
	q.Elem().Set(reflect.NewAt(p.typ, v).Elem())
	p.detach(q.UnsafePointer())
	return q.UnsafePointer()
}

// detach gives the value at v slices of its own.
func (p *Plan) detach(v unsafe.Pointer) {
	for i := range p.owns {
		in := &p.owns[i]
		h := (*header)(unsafe.Add(v, in.off))
		if h.n == 0 {
			*h = header{}
			continue
		}
		old := reflect.NewAt(in.typ, unsafe.Pointer(h)).Elem()
		fresh := reflect.MakeSlice(in.typ, h.n, h.n)
		reflect.Copy(fresh, old)
		old.Set(fresh)
		for k := range h.n {
			in.elem.detach(unsafe.Add(h.p, uintptr(k)*in.elem.typ.Size()))
		}
	}
}

func uvarint(b []byte, x uint64) []byte {
	for x >= 0x80 {
		b = append(b, byte(x)|0x80)
		x >>= 7
	}
	return append(b, byte(x))
}

// pointee is the plan and the address of what the pointer ptr points to.
func pointee(ptr any) (*Plan, unsafe.Pointer) {
	v := reflect.ValueOf(ptr)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		panic(fmt.Sprintf("plain: %T is no pointer to a value", ptr))
	}
	return Of(v.Type().Elem()), v.UnsafePointer()
}
