package transcript

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Magic is what a segment begins with.
const Magic = "NVJRNL\x001"

// FrameSize is what a frame adds to its record.
const FrameSize = 8

// MaxRecord is the most bytes that a record may have.
const MaxRecord = 1 << 28

var (
	// ErrTorn is wrapped by the error of a frame that does not end: the segment's
	// writer was stopped while it wrote.
	ErrTorn = errors.New("the segment ends inside of a record")
	// ErrDamaged is wrapped by every error of what is no record.
	ErrDamaged = errors.New("damaged")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Frame begins a frame: append the record to what it returns, then call Seal.
func Frame(b []byte) []byte { return append(b, make([]byte, FrameSize)...) }

// Seal ends the frame that begins at from.
func Seal(b []byte, from int) {
	f := b[from:]
	binary.LittleEndian.PutUint32(f, uint32(len(f)-FrameSize))
	binary.LittleEndian.PutUint32(f[4:], sum(f[:4], f[FrameSize:]))
}

func sum(length, record []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, record)
}

// follows reports whether a whole frame begins somewhere in s: then what is before it
// is no torn tail. It looks at a bounded part, for frames that are not large.
func follows(s string) bool {
	for at := 0; at+FrameSize < len(s) && at < 1<<20; at++ {
		head := []byte(s[at : at+FrameSize])
		n := int(binary.LittleEndian.Uint32(head))
		if n == 0 || n > 1<<16 || n > len(s)-at-FrameSize {
			continue
		}
		if sumString(head[:4], s[at+FrameSize:at+FrameSize+n]) == binary.LittleEndian.Uint32(head[4:]) {
			return true
		}
	}
	return false
}

// sumString is sum without a copy of the whole record.
func sumString(length []byte, record string) uint32 {
	v := crc32.Checksum(length, castagnoli)
	var buf [512]byte
	for record != "" {
		n := copy(buf[:], record)
		v = crc32.Update(v, castagnoli, buf[:n])
		record = record[n:]
	}
	return v
}

// AppendFrame appends a record in its frame.
func AppendFrame(b []byte, r *Record) []byte {
	from := len(b)
	b = Append(Frame(b), r)
	Seal(b, from)
	return b
}

// Scan calls f for every record of a segment, with the offset of its frame, until f
// returns an error, which it returns. A segment that ends inside of its last frame
// gives ErrTorn, anything else that is no record ErrDamaged; at is where. Everything
// before that was given to f.
func Scan(segment string, f func(at int, r *Record) error) (at int, err error) {
	if len(segment) < len(Magic) {
		return 0, ErrTorn
	}
	if segment[:len(Magic)] != Magic {
		return 0, fmt.Errorf("%w: it does not begin as a segment of a journal does", ErrDamaged)
	}
	for at = len(Magic); at < len(segment); {
		rest := segment[at:]
		if len(rest) < FrameSize {
			return at, ErrTorn
		}
		head := []byte(rest[:FrameSize])
		n := binary.LittleEndian.Uint32(head)
		if n > MaxRecord {
			return at, fmt.Errorf("%w: a record of %d bytes", ErrDamaged, n)
		}
		if uint64(len(rest)-FrameSize) < uint64(n) {
			if follows(rest[1:]) {
				return at, fmt.Errorf("%w: a length beyond the end of the segment, and records behind it", ErrDamaged)
			}
			return at, ErrTorn
		}
		record := rest[FrameSize : FrameSize+int(n)]
		if sumString(head[:4], record) != binary.LittleEndian.Uint32(head[4:]) {
			return at, fmt.Errorf("%w: wrong checksum", ErrDamaged)
		}
		r, err := Decode(record)
		if err == nil {
			err = f(at, &r)
		}
		if err != nil {
			return at, err
		}
		at += FrameSize + int(n)
	}
	return at, nil
}
