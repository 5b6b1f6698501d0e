package format

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var twoChunks = []Chunk{
	{Stream: 9, First: 7, Count: 2, CRC: 0xdeadbeef, Off: 0, Len: 5, Oldest: 1000, Newest: 2000},
	{Stream: 10, First: 1, Count: 3, CRC: 1, Off: 5, Len: 3, Oldest: -1, Newest: 2001},
}

func TestObjectGolden(t *testing.T) {
	tail, w := Finish(SettledObject, 8, twoChunks)
	want := "6e764601" +
		"00000000000000090000000000000007" + "00000002deadbeef" + "00000000000000000000000000000005" + "00000000000003e800000000000007d0" +
		"000000000000000a0000000000000001" + "0000000300000001" + "00000000000000050000000000000003" + "ffffffffffffffff00000000000007d1" +
		"b02fcb4d" +
		"4e4f564101020000" + "0000000000000008" + "0000000000000078" + "9548b515eca5650d"
	if got := hex.EncodeToString([]byte(tail)); got != want {
		t.Errorf("tail is\n%s\nwant\n%s", got, want)
	}
	if w != (Window{8, FooterSize(2)}) {
		t.Errorf("window %+v", w)
	}
	if got := CRC([]byte("123456789")); got != 0xe3069283 {
		t.Errorf("CRC-32C check value is %08x", got)
	}
	if got := crcString(strings.Repeat("123456789", 100)); got != CRC([]byte(strings.Repeat("123456789", 100))) {
		t.Errorf("crcString differs")
	}
}

func TestTail(t *testing.T) {
	tail, w := Finish(SlotObject, 8, twoChunks)
	object := "01234567" + tail
	size := int64(len(object))
	for n := TrailerSize; n <= len(object); n++ {
		got, err := ParseTail(object[len(object)-n:], size)
		if err != nil {
			t.Fatalf("tail of %d bytes: %v", n, err)
		}
		if whole := n >= len(tail); got.Whole != whole || got.Window != w || got.Kind != SlotObject {
			t.Fatalf("tail of %d bytes: %+v", n, got)
		}
		if !got.Whole {
			continue
		}
		if d := cmp.Diff(twoChunks, got.Footer.Chunks()); d != "" {
			t.Fatal(d)
		}
	}
	f, err := DecodeFooter(object[w.Off : w.Off+w.Len])
	if err != nil || f.Len() != 2 || f.At(1) != twoChunks[1] {
		t.Fatalf("footer window: %v", err)
	}
	for n := range TrailerSize {
		if _, err := ParseTail(object[len(object)-n:], size); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d bytes were a tail: %v", n, err)
		}
	}
	for _, s := range []int64{0, size - 1, size + 1, 1 << 62, -1} {
		if _, err := ParseTail(tail, s); !errors.Is(err, ErrDamaged) {
			t.Errorf("an object of %d bytes: %v", s, err)
		}
	}
	for i := range tail {
		b := []byte(object)
		b[8+i] ^= 1
		if _, err := ParseTail(string(b), size); !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d of the tail changed: %v", i, err)
		}
	}
}

func TestRefusedFooters(t *testing.T) {
	for name, cs := range map[string][]Chunk{
		"no records":       {{Stream: 1, Len: 3}},
		"negative length":  {{Stream: 1, Count: 1, Len: -1}},
		"bytes overflow":   {{Stream: 1, Count: 1, Off: 1<<63 - 1, Len: 1}},
		"records overflow": {{Stream: 1, First: 1<<64 - 1, Count: 1}},
		"overlap":          {{Stream: 1, Count: 1, Off: 0, Len: 4}, {Stream: 2, Count: 1, Off: 3, Len: 4}},
		"descending":       {{Stream: 1, Count: 1, Off: 5, Len: 4}, {Stream: 2, Count: 1, Off: 0, Len: 4}},
	} {
		if _, err := DecodeFooter(string(EncodeFooter(cs))); !errors.Is(err, ErrDamaged) {
			t.Errorf("footer with %s: %v", name, err)
		}
	}
	tail, _ := Finish(SlotObject, 7, twoChunks)
	if _, err := ParseTail("0123456"+tail, int64(7+len(tail))); !errors.Is(err, ErrDamaged) {
		t.Errorf("chunks that reach into the footer: %v", err)
	}
	if _, err := DecodeFooter(""); !errors.Is(err, ErrDamaged) {
		t.Errorf("empty window: %v", err)
	}
}

func TestFence(t *testing.T) {
	f := Fence("a star", 3, 7)
	got, err := ParseTail(f, int64(len(f)))
	if err != nil || got.Kind != FenceObject || !got.Whole || got.Footer.Len() != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if f != Fence("a star", 3, 7) || f == Fence("a star", 3, 8) || f == Fence("a star", 4, 7) || f == Fence("b star", 3, 7) {
		t.Error("fences of one slot must be the same bytes, and of two slots must not")
	}
	if len(f) >= TailRead {
		t.Error("a fence is read whole by one tail read")
	}
}

func TestFooterDoesNotAllocate(t *testing.T) {
	f := EncodeFooter(twoChunks)
	var n uint64
	if got := testing.AllocsPerRun(100, func() {
		for i := range f.Len() {
			c := f.At(i)
			n += c.End()
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
	if Footer("").Len() != 0 {
		t.Error("the zero footer has chunks")
	}
}

func TestFooterRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var cs []Chunk
		at := int64(0)
		for range rapid.IntRange(0, 6).Draw(t, "chunks") {
			c := drawChunk(t, rapid.Uint64().Draw(t, "stream"), rapid.Uint64Max(1<<62).Draw(t, "first"))
			c.Off = at + rapid.Int64Range(0, 9).Draw(t, "gap")
			c.Len = rapid.Int64Range(0, 1<<30).Draw(t, "len")
			at = c.Off + c.Len
			cs = append(cs, c)
		}
		tail, w := Finish(SlotObject, at, cs)
		got, err := ParseTail(tail, at+int64(len(tail)))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(cs, got.Footer.Chunks(), equal...); d != "" || got.Window != w {
			t.Fatalf("%s, window %+v want %+v", d, got.Window, w)
		}
	})
}

func FuzzTail(f *testing.F) {
	tail, _ := Finish(SlotObject, 8, twoChunks)
	f.Add([]byte(tail), int64(8+len(tail)))
	f.Add([]byte(tail[len(tail)-TrailerSize:]), int64(8+len(tail)))
	f.Add([]byte(Fence("s", 1, 2)), int64(len(Fence("s", 1, 2))))
	f.Add([]byte{}, int64(0))
	f.Fuzz(func(t *testing.T, b []byte, size int64) {
		got, err := ParseTail(string(b), size)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if got.Window.Off+got.Window.Len+TrailerSize != size || got.Whole != (got.Window.Len+TrailerSize <= int64(len(b))) {
			t.Fatalf("%+v of %d bytes", got, size)
		}
		for i := range got.Footer.Len() {
			if c := got.Footer.At(i); c.Off+c.Len > got.Window.Off {
				t.Fatalf("chunk %+v reaches beyond %+v", c, got.Window)
			}
		}
	})
}

func FuzzFooter(f *testing.F) {
	f.Add([]byte(EncodeFooter(twoChunks)))
	f.Add([]byte(EncodeFooter(nil)))
	f.Add([]byte("nvF\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := DecodeFooter(string(b))
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if string(EncodeFooter(got.Chunks())) != string(b) {
			t.Fatalf("%x is not what encodes", b)
		}
	})
}
