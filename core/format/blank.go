package format

import "strings"

// BlankTail is what a ReadTail of an object of objectSize bytes returned, with
// zeros instead of every byte that is neither footer nor trailer: a recording of
// it holds no record. ParseTail says of it what it says of the original.
func BlankTail(tail string, objectSize int64) string {
	if len(tail) < TrailerSize {
		return zeros(len(tail))
	}
	at := len(tail) - TrailerSize
	b := tail[at:]
	switch {
	case b[:len(trailerMagic)] != trailerMagic:
		return zeros(len(tail))
	case get32(b, TrailerSize-4) != crcString(b[:TrailerSize-4]):
		return zeros(at) + trailerMagic + zeros(TrailerSize-len(trailerMagic))
	}
	w := Window{Off: int64(get64(b, 8)), Len: int64(get64(b, 16))}
	body := objectSize - TrailerSize
	if w.Off < 0 || w.Off > body || w.Len != body-w.Off || w.Len < int64(footerFrame) || w.Len > int64(at) {
		return zeros(at) + b
	}
	from := at - int(w.Len)
	return zeros(from) + BlankFooter(tail[from:at]) + b
}

// BlankFooter is what a ReadRange of a footer's window returned, with zeros in
// place of what is no footer. DecodeFooter says of it what it says of the original.
func BlankFooter(b string) string {
	n := len(b) - footerFrame
	switch {
	case n < 0 || n%entrySize != 0 || b[:len(footerMagic)] != footerMagic:
		return zeros(len(b))
	case get32(b, len(b)-4) != crcString(b[:len(b)-4]):
		return footerMagic + zeros(len(b)-len(footerMagic))
	}
	return b
}

func zeros(n int) string { return strings.Repeat("\x00", n) }
