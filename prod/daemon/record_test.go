package daemon

import (
	"bytes"
	"errors"
	"testing"

	"nova/core"

	"pgregory.net/rapid"
)

func TestChunksComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 300), 1, 20).Draw(t, "records")
		times := rapid.SliceOfN(rapid.Int64Range(0, 1000), len(data), len(data)).Draw(t, "times")
		var c chunk
		for i := range data {
			c.add(core.Ms(times[i]), data[i])
		}
		i, last := 0, core.Ms(0)
		err := decodeChunk(c.bytes, 7, c.count, func(r Record) error {
			if r.Seq != 7+uint64(i) || !bytes.Equal(r.Data, data[i]) || r.Time < last || r.Time < core.Ms(times[i]) {
				t.Fatalf("record %d came back as %d, %q at %d", i, r.Seq, r.Data, r.Time)
			}
			i, last = i+1, r.Time
			return nil
		})
		if err != nil || i != len(data) || last != c.newest {
			t.Fatalf("%d of %d records, the last at %d of %d: %v", i, len(data), last, c.newest, err)
		}
	})
}

func TestADamagedChunkIsRefused(t *testing.T) {
	var c chunk
	c.add(5, []byte("one"))
	c.add(6, []byte("two"))
	none := func(Record) error { return nil }
	for name, f := range map[string]func() error{
		"without a time":      func() error { return decodeChunk([]byte{1}, 0, 0, none) },
		"before all time":     func() error { return decodeChunk([]byte{1, 1}, 0, 0, none) },
		"empty":               func() error { return decodeChunk(nil, 0, 1, none) },
		"of another version":  func() error { return decodeChunk([]byte{9, 0}, 0, 0, none) },
		"cut short":           func() error { return decodeChunk(c.bytes[:len(c.bytes)-1], 0, 2, none) },
		"more than its count": func() error { return decodeChunk(c.bytes, 0, 1, none) },
		"less than its count": func() error { return decodeChunk(c.bytes, 0, 3, none) },
		"a length beyond it":  func() error { return decodeChunk([]byte{1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x7f}, 0, 1, none) },
		"a length of 64 bits": func() error {
			return decodeChunk([]byte{1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 0, 1, none)
		},
		"an overlong a number": func() error { return decodeChunk(append([]byte{1, 0}, bytes.Repeat([]byte{0x80}, 12)...), 0, 1, none) },
	} {
		if err := f(); !errors.Is(err, ErrChunk) {
			t.Errorf("a chunk %s: %v, want ErrChunk", name, err)
		}
	}
}

func FuzzDecodeChunk(f *testing.F) {
	var c chunk
	c.add(5, []byte("one"))
	f.Add(c.bytes, uint32(1))
	f.Fuzz(func(t *testing.T, b []byte, count uint32) {
		_ = decodeChunk(b, 0, count, func(Record) error { return nil })
	})
}
