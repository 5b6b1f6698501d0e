package format

import (
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"nova/core"
)

// codec is one value type behind any.
type codec struct {
	name   string
	encode func(v any) string
	decode func(s string) (any, error)
	gen    func(t *rapid.T) any
	sample any
	golden string // hex
}

func of[T any](name string, enc func(T) string, dec func(string) (T, error), gen func(*rapid.T) T, sample T, golden string) codec {
	return codec{name: name, sample: sample, golden: golden,
		encode: func(v any) string { return enc(v.(T)) },
		decode: func(s string) (any, error) { return dec(s) },
		gen:    func(t *rapid.T) any { return gen(t) },
	}
}

var equal = []cmp.Option{cmpopts.EquateEmpty()}

func drawMs(t *rapid.T) core.Ms       { return core.Ms(rapid.Int64().Draw(t, "ms")) }
func drawSize(t *rapid.T) int64       { return rapid.Int64Min(0).Draw(t, "size") }
func drawClass(t *rapid.T) core.Class { return core.Class(rapid.IntRange(0, 1).Draw(t, "class")) }
func drawBool(t *rapid.T) bool        { return rapid.Bool().Draw(t, "flag") }
func drawText(t *rapid.T) string      { return rapid.String().Draw(t, "text") }
func drawAttempts(t *rapid.T) Attempts {
	return Attempts(rapid.Uint16().Draw(t, "attempts"))
}

func drawWindow(t *rapid.T) Window {
	off := drawSize(t)
	return Window{Off: off, Len: rapid.Int64Range(0, 1<<63-1-off).Draw(t, "len")}
}

func drawStores(t *rapid.T) []core.Store {
	return rapid.SliceOfNDistinct(rapid.Map(rapid.String(), func(s string) core.Store { return core.Store(s) }),
		1, MaxStores, rapid.ID[core.Store]).Draw(t, "stores")
}

// drawChunk draws a chunk that begins at first and leaves room for more after it.
func drawChunk(t *rapid.T, stream, first uint64) Chunk {
	w := drawWindow(t)
	return Chunk{Stream: stream, First: first, Count: rapid.Uint32Range(1, 1<<32-1).Draw(t, "count"),
		CRC: rapid.Uint32().Draw(t, "crc"), Off: w.Off, Len: w.Len, Oldest: drawMs(t), Newest: drawMs(t)}
}

func drawRow(t *rapid.T) Row {
	row := Row{First: rapid.Uint64Max(1<<62).Draw(t, "first")}
	row.End = row.First
	n := rapid.IntRange(1, 5).Draw(t, "parts")
	if drawBool(t) {
		row.Kind, row.Star, row.Epoch, row.Class, row.Stores = SpanRow, drawText(t), rapid.Uint64().Draw(t, "epoch"), drawClass(t), drawStores(t)
		stream, slot := rapid.Uint64().Draw(t, "stream"), rapid.Uint64Max(1<<62).Draw(t, "slot")
		for range n {
			c := drawChunk(t, stream, row.End)
			row.Spans = append(row.Spans, Span{Slot: slot, Footer: drawWindow(t), Chunk: c})
			row.End = c.End()
			slot += rapid.Uint64Max(3).Draw(t, "gap")
		}
		return row
	}
	row.Kind = CatalogRow
	for range n {
		e := Entry{Epoch: rapid.Uint64().Draw(t, "epoch"), First: row.End, Count: rapid.Uint64Range(1, 1<<40).Draw(t, "count"),
			Revision: rapid.Uint32().Draw(t, "revision"), Generation: rapid.Uint32().Draw(t, "generation"), Created: rapid.Int64().Draw(t, "created"),
			Class: drawClass(t), Footer: drawWindow(t), Bytes: drawSize(t), Oldest: drawMs(t), Newest: drawMs(t), Lost: drawBool(t)}
		e.LiveFrom = rapid.Uint64Max(e.End()).Draw(t, "live")
		row.Entries = append(row.Entries, e)
		row.End = e.End()
	}
	return row
}

func codecs() []codec {
	return []codec{
		of("Row/span", Row.Encode, DecodeRow, drawRow, Row{Kind: SpanRow, First: 7, End: 12, Star: "s1", Epoch: 3, Class: core.Express,
			Stores: []core.Store{"a", "b"}, Spans: []Span{
				{Slot: 4, Footer: Window{100, 64}, Chunk: Chunk{Stream: 9, First: 7, Count: 2, CRC: 0xdeadbeef, Off: 10, Len: 20, Oldest: 1000, Newest: 2000}},
				{Slot: 5, Footer: Window{50, 64}, Chunk: Chunk{Stream: 9, First: 9, Count: 3, CRC: 1, Off: 0, Len: 50, Oldest: 2000, Newest: 2001}},
			}},
			"010101070c0273310301020161016202046440090702effdb6f50d0a14d00fa01f0532400909030100"+"32a01fa21f"),
		of("Row/catalog", Row.Encode, DecodeRow, drawRow, Row{Kind: CatalogRow, First: 7, End: 12, Entries: []Entry{
			{Epoch: 3, First: 7, Count: 5, LiveFrom: 8, Revision: 2, Generation: 1, Created: 77, Class: core.Standard, Footer: Window{300, 120}, Bytes: 452, Oldest: 1000, Newest: 2001},
		}}, "010102070c010307050802019a0100ac0278c403d00fa21f00"),
		of("ChainConst", ChainConst.Encode, DecodeChainConst, func(t *rapid.T) ChainConst {
			return ChainConst{drawClass(t), drawStores(t), rapid.Uint32Range(1, 64).Draw(t, "pipeline"), drawMs(t)}
		}, ChainConst{core.Standard, []core.Store{"a"}, 4, 5}, "0102000101"+"61040a"),
		of("ChainHead", ChainHead.Encode, DecodeChainHead, func(t *rapid.T) ChainHead {
			return ChainHead{ChainState(rapid.IntRange(1, 4).Draw(t, "state")), rapid.Uint64().Draw(t, "checkpoint"), rapid.Uint64().Draw(t, "cut"), drawMs(t), drawMs(t)}
		}, ChainHead{ChainCut, 5, 9, 1000, 0}, "0103020509d00f00"),
		of("ChainTrim", ChainTrim.Encode, DecodeChainTrim, func(t *rapid.T) ChainTrim {
			return ChainTrim{rapid.Uint64().Draw(t, "trimmed"), rapid.Uint64().Draw(t, "rewritten"), drawMs(t)}
		}, ChainTrim{1, 300, 5}, "010401ac020a"),
		of("Stream", Stream.Encode, DecodeStream, func(t *rapid.T) Stream {
			return Stream{drawText(t), drawText(t), drawClass(t), core.Ms(drawSize(t)), drawMs(t), rapid.Uint32().Draw(t, "policy"), drawBool(t), drawMs(t)}
		}, Stream{"b", "n", core.Express, 60_000, 5, 2, true, 9}, "01050162016e01c0a9070a020112"),
		of("Writer", Writer.Encode, DecodeWriter, func(t *rapid.T) Writer {
			total := drawSize(t)
			return Writer{drawText(t), rapid.Uint64().Draw(t, "epoch"), rapid.Uint64().Draw(t, "end"), total, rapid.Int64Range(0, total).Draw(t, "base")}
		}, Writer{"s1", 3, 12, 1000, 8}, "010602733103"+"0ce80708"),
		of("Gone", Gone.Encode, DecodeGone, func(t *rapid.T) Gone {
			return Gone{GonePhase(rapid.IntRange(1, 3).Draw(t, "phase")), drawMs(t), drawMs(t), drawStores(t)}
		}, Gone{GoneSwept, 5, 9, []core.Store{"a", "b"}}, "0110020a120201610162"),
		of("RetentionMark", RetentionMark.Encode, DecodeRetentionMark, func(t *rapid.T) RetentionMark {
			return RetentionMark{drawAttempts(t), rapid.Uint32().Draw(t, "policy")}
		}, RetentionMark{2, 3}, "010f0203"),
		of("SettleMark", SettleMark.Encode, DecodeSettleMark, func(t *rapid.T) SettleMark { return SettleMark{drawAttempts(t)} }, SettleMark{2}, "010702"),
		of("ReapMark", ReapMark.Encode, DecodeReapMark, func(t *rapid.T) ReapMark {
			return ReapMark{drawAttempts(t), drawClass(t), drawWindow(t), drawBool(t), drawSize(t), drawMs(t)}
		}, ReapMark{1, core.Standard, Window{300, 120}, true, 7, 9}, "01080100ac0278010712"),
		of("TrimMark", TrimMark.Encode, DecodeTrimMark, func(t *rapid.T) TrimMark { return TrimMark{drawAttempts(t)} }, TrimMark{300}, "0109ac02"),
		of("TeardownMark", TeardownMark.Encode, DecodeTeardownMark, func(t *rapid.T) TeardownMark {
			return TeardownMark{drawAttempts(t), drawMs(t)}
		}, TeardownMark{0, -1}, "010a0001"),
		of("BatchMark", BatchMark.Encode, DecodeBatchMark, func(t *rapid.T) BatchMark {
			m := BatchMark{Attempts: drawAttempts(t), Class: drawClass(t), Birth: drawMs(t), Ready: drawMs(t), Crossing: drawBool(t), Parked: drawBool(t)}
			slot := rapid.Uint64Max(1<<62).Draw(t, "slot")
			for range rapid.IntRange(1, 5).Draw(t, "slots") {
				m.Slots = append(m.Slots, Inventory{slot, drawWindow(t)})
				slot += rapid.Uint64Range(1, 9).Draw(t, "gap")
			}
			return m
		}, BatchMark{Class: core.Express, Birth: 1, Ready: 2, Crossing: true, Slots: []Inventory{{4, Window{100, 64}}, {5, Window{50, 64}}}},
			"010b0001020401020464400532"+"40"),
		of("Intent", Intent.Encode, DecodeIntent, func(t *rapid.T) Intent {
			return Intent{drawAttempts(t), drawClass(t), core.Store(drawText(t)), drawMs(t), drawText(t), drawBool(t), rapid.Uint32().Draw(t, "generation"),
				rapid.Int64().Draw(t, "created"), drawBool(t), drawMs(t), Look(rapid.IntRange(0, 3).Draw(t, "look"))}
		}, Intent{Store: "a", Birth: 5, Attempt: "p/1", Generation: 1, Created: 77, Condemned: true, Since: 6, Look: LookDead},
			"010c000001610a03702f31019a01010c02"),
		of("Parked", Parked.Encode, DecodeParked, func(t *rapid.T) Parked { return Parked{drawText(t), drawMs(t), drawText(t)} },
			Parked{"why", 5, "\x01\x07\x02"}, "010d037768790a03010702"),
		of("Number", EncodeNumber, DecodeNumber, func(t *rapid.T) uint64 { return rapid.Uint64().Draw(t, "n") }, 300, "010eac02"),
	}
}

func TestGolden(t *testing.T) {
	for _, c := range codecs() {
		got := c.encode(c.sample)
		if hex.EncodeToString([]byte(got)) != c.golden {
			t.Errorf("%s: bytes %x, golden %s: values on disk never change", c.name, got, c.golden)
		}
		back, err := c.decode(got)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if d := cmp.Diff(c.sample, back, equal...); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, rapid.MakeCheck(func(t *rapid.T) {
			v := c.gen(t)
			s := c.encode(v)
			back, err := c.decode(s)
			if err != nil {
				t.Fatalf("decode %x: %v", s, err)
			}
			if d := cmp.Diff(v, back, equal...); d != "" {
				t.Fatal(d)
			}
			// One bit is changed, or bytes are lost or appended: refused, or another value.
			cut := s[:rapid.IntRange(0, len(s)-1).Draw(t, "cut")]
			if _, err := c.decode(cut); !errors.Is(err, ErrDamaged) {
				t.Fatalf("a value cut to %d bytes was decoded: %v", len(cut), err)
			}
			if _, err := c.decode(s + "\x00"); !errors.Is(err, ErrDamaged) {
				t.Fatalf("a trailing byte was accepted: %v", err)
			}
			b := []byte(s)
			b[rapid.IntRange(0, len(b)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			if v, err := c.decode(string(b)); err == nil && c.encode(v) != string(b) {
				t.Fatalf("%x decodes to what encodes as %x", b, c.encode(v))
			}
		}))
	}
}

func TestKindsAreTold(t *testing.T) {
	cs := codecs()
	for _, a := range cs {
		for _, b := range cs {
			if tagOf(a) == tagOf(b) {
				continue
			}
			if _, err := b.decode(a.encode(a.sample)); !errors.Is(err, ErrDamaged) {
				t.Errorf("a %s was decoded as a %s", a.name, b.name)
			}
		}
	}
}

func tagOf(c codec) byte { return c.encode(c.sample)[1] }

func TestRefusedValues(t *testing.T) {
	span := func(change func(*Row)) string {
		r := codecs()[0].sample.(Row)
		change(&r)
		return r.Encode()
	}
	catalog := func(change func(*Row)) string {
		r := codecs()[1].sample.(Row)
		r.Entries = append([]Entry(nil), r.Entries...)
		change(&r)
		return r.Encode()
	}
	rows := map[string]string{
		"empty":           "",
		"no kind":         Row{}.Encode(),
		"no spans":        span(func(r *Row) { r.Spans = nil }),
		"no stores":       span(func(r *Row) { r.Stores = nil }),
		"four stores":     span(func(r *Row) { r.Stores = []core.Store{"a", "b", "c", "d"} }),
		"one store twice": span(func(r *Row) { r.Stores = []core.Store{"a", "a"} }),
		"end too late":    span(func(r *Row) { r.End++ }),
		"first too early": span(func(r *Row) { r.First-- }),
		"class":           span(func(r *Row) { r.Class = 2 }),
		"no entries":      catalog(func(r *Row) { r.Entries = nil }),
		"entries overlap": catalog(func(r *Row) { r.Entries = append(r.Entries, r.Entries[0]); r.End += 5 }),
		"live beyond end": catalog(func(r *Row) { r.Entries[0].LiveFrom = 13 }),
		"negative bytes":  catalog(func(r *Row) { r.Entries[0].Bytes = -1 }),
		"a million spans": "\x01\x01\x01\x00\x01\x00\x00\x00\x01\x00\xc0\x84\x3d",
	}
	for name, v := range rows {
		if _, err := DecodeRow(v); !errors.Is(err, ErrDamaged) {
			t.Errorf("row with %s: %v", name, err)
		}
	}
	if _, err := DecodeBatchMark(BatchMark{}.Encode()); !errors.Is(err, ErrDamaged) {
		t.Errorf("empty inventory: %v", err)
	}
	if _, err := DecodeBatchMark((BatchMark{Slots: []Inventory{{Slot: 2}, {Slot: 2}}}).Encode()); !errors.Is(err, ErrDamaged) {
		t.Errorf("inventory that does not ascend: %v", err)
	}
	if _, err := DecodeNumber("\x01\x0e\x80\x00"); !errors.Is(err, ErrDamaged) {
		t.Errorf("a long form of zero: %v", err)
	}
	if _, err := DecodeNumber("\x02\x0e\x01"); !errors.Is(err, ErrDamaged) {
		t.Errorf("another version: %v", err)
	}
}

// FuzzDecode feeds every decoder: it must not panic, must wrap ErrDamaged, and
// what it accepts must be the bytes that its encoder writes.
func FuzzDecode(f *testing.F) {
	cs := codecs()
	for _, c := range cs {
		f.Add([]byte(c.encode(c.sample)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, c := range cs {
			v, err := c.decode(string(b))
			if err != nil {
				if !errors.Is(err, ErrDamaged) {
					t.Fatalf("%s: %v", c.name, err)
				}
			} else if got := c.encode(v); got != string(b) {
				t.Fatalf("%s: %x decodes to what encodes as %x", c.name, b, got)
			}
		}
	})
}

func ExampleDecodeNumber() {
	_, err := DecodeNumber("\x01\x0e")
	fmt.Println(err)
	// Output: decode number: a number that is cut short or not in its shortest form: damaged
}
