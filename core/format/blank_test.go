package format

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is blanked is judged as before, and holds nothing but footers and trailers.
func TestBlank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const record = "bytes of a record"
		n := rapid.IntRange(0, 3).Draw(t, "chunks")
		var chunks []Chunk
		body := ""
		for i := range n {
			chunks = append(chunks, Chunk{Stream: 1, First: uint64(i), Count: 1, Off: int64(len(body)), Len: int64(len(record)), CRC: CRC([]byte(record))})
			body += record
		}
		tail, w := Finish(SettledObject, int64(len(body)), chunks)
		whole := []byte(body + tail)
		if at := rapid.IntRange(-1, len(whole)-1).Draw(t, "damage"); at >= 0 {
			whole[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
		}
		size := int64(len(whole))
		read := string(whole[len(whole)-rapid.IntRange(0, len(whole)).Draw(t, "read"):])
		size += int64(rapid.IntRange(-1, 1).Draw(t, "off"))
		blank := BlankTail(read, size)
		was, errWas := ParseTail(read, size)
		is, errIs := ParseTail(blank, size)
		if was != is || !same(errWas, errIs) || len(blank) != len(read) {
			t.Fatalf("of %q\nParseTail says %+v, %v\nblanked %+v, %v", read, was, errWas, is, errIs)
		}
		if strings.Contains(blank, "record") {
			t.Fatalf("%q still holds bytes of a record", blank)
		}
		from := rapid.IntRange(0, len(whole)).Draw(t, "from")
		if rapid.Bool().Draw(t, "exactly") {
			from = min(int(w.Off), len(whole))
		}
		window := string(whole[from:min(from+int(w.Len), len(whole))])
		blank = BlankFooter(window)
		fWas, errWas := DecodeFooter(window)
		fIs, errIs := DecodeFooter(blank)
		if fWas != fIs || !same(errWas, errIs) || len(blank) != len(window) || strings.Contains(blank, "record") {
			t.Fatalf("of %q\nDecodeFooter says %q, %v\nblanked %q, %v", window, fWas, errWas, fIs, errIs)
		}
	})
}

func same(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Error() == b.Error() && errors.Is(b, ErrDamaged)
}
