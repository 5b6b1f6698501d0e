package plain

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// printMax is how many bytes of a string and how many values of a slice are shown.
const printMax = 48

// Print shows what ptr points to on one line, for logs: fields that are zero are
// left out, enums show their names, long strings are cut.
func Print(ptr any) string {
	p, at := pointee(ptr)
	return string(show(nil, reflect.NewAt(p.typ, at).Elem()))
}

// show appends a value; v is addressable, so that unexported fields can be read.
func show(b []byte, v reflect.Value) []byte {
	if s, ok := named(v); ok {
		return append(b, s...)
	}
	switch v.Kind() {
	case reflect.String:
		return showString(b, v.String())
	case reflect.Slice, reflect.Array:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ' ')
			}
			if i == printMax {
				b = fmt.Appendf(b, "… %d more", v.Len()-i)
				break
			}
			b = show(b, v.Index(i))
		}
		return append(b, ']')
	case reflect.Struct:
		return showStruct(b, v)
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.AppendUint(b, v.Uint(), 10)
	default:
		return strconv.AppendInt(b, v.Int(), 10)
	}
}

// named is the name that an enum gives itself.
func named(v reflect.Value) (string, bool) {
	switch v.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.String:
		return "", false // a String method of those hides what is inside
	}
	open := reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
	if s, ok := open.Interface().(fmt.Stringer); ok {
		return s.String(), true
	}
	return "", false
}

func showString(b []byte, s string) []byte {
	if len(s) > printMax {
		return fmt.Appendf(strconv.AppendQuote(b, s[:printMax]), "…+%d", len(s)-printMax)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) {
		return append(b, s...)
	}
	return strconv.AppendQuote(b, s)
}

func showStruct(b []byte, v reflect.Value) []byte {
	name := v.Type().Name()
	if owner(v.Type()) {
		name, _, _ = strings.Cut(name, "[")
	}
	if strings.HasPrefix(name, "Lane[") {
		name = ""
	}
	b = append(append(b, name...), '{')
	first := true
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 {
			continue
		}
		if !first {
			b = append(b, ' ')
		}
		first = false
		if v.NumField() > 1 {
			b = append(append(b, v.Type().Field(i).Name...), ':')
		}
		b = show(b, reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem())
	}
	return append(b, '}')
}
