package plan_test

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/plan"
	"pgregory.net/rapid"
)

func drawEntries(t *rapid.T) format.Row {
	row := format.Row{Kind: format.CatalogRow, First: rapid.Uint64Max(50).Draw(t, "first")}
	at, when := row.First, core.Ms(100)
	for range rapid.IntRange(1, 6).Draw(t, "entries") {
		n := rapid.Uint64Range(1, 9).Draw(t, "count")
		e := format.Entry{First: at, Count: n, LiveFrom: at, Oldest: when, Lost: rapid.IntRange(0, 9).Draw(t, "lost") == 0}
		if !e.Lost {
			e.LiveFrom += rapid.Uint64Max(n).Draw(t, "dead")
		}
		when += core.Ms(rapid.IntRange(0, 9).Draw(t, "span"))
		e.Newest = when
		when += core.Ms(rapid.IntRange(0, 3).Draw(t, "gap"))
		at += n
		row.Entries = append(row.Entries, e)
	}
	row.End = at
	return row
}

// A row that shed something is still a row; what it lost is exactly what lies
// below the point; shedding again loses nothing more (C27).
func TestShed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := drawEntries(t)
		point := rapid.Uint64Range(row.First, row.End-1).Draw(t, "point")
		before := row.Encode()
		kept, below := plan.Shed(&row, point)
		if row.Encode() != before {
			t.Fatalf("the row itself was changed")
		}
		if _, err := format.DecodeRow(kept.Encode()); err != nil {
			t.Fatalf("%v", err)
		}
		if kept.End != row.End || kept.Entries[0].End() <= point {
			t.Fatalf("point %d: kept %+v", point, kept)
		}
		gone := len(row.Entries) - len(kept.Entries)
		if len(below) != gone && len(below) != gone+1 {
			t.Fatalf("%d entries went, %d are below", gone, len(below))
		}
		for i := range kept.Entries {
			was, is := row.Entries[gone+i], kept.Entries[i]
			if is.LiveFrom < was.LiveFrom || is.LiveFrom > was.LiveFrom && (i > 0 || is.LiveFrom != point) {
				t.Fatalf("live from %d became %d at point %d", was.LiveFrom, is.LiveFrom, point)
			}
			is.LiveFrom = was.LiveFrom
			if is != was {
				t.Fatalf("%+v became %+v", was, is)
			}
		}
		if _, again := plan.Shed(&kept, point); len(again) != 0 {
			t.Fatalf("shedding twice lost %d more", len(again))
		}
	})
}

// What expires is a prefix, and it ends where the first record stands that has
// not expired, as far as the row can say.
func TestExpire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := drawEntries(t)
		cutoff := core.Ms(rapid.IntRange(90, 180).Draw(t, "cutoff"))
		x := plan.Expire(&row, cutoff)
		for i := range row.Entries {
			if e := &row.Entries[i]; e.End() <= x.Point && e.Newest > cutoff {
				t.Fatalf("cutoff %d: %+v expires to %d with an entry of %d", cutoff, row, x.Point, e.Newest)
			}
		}
		if x.Whole {
			if x.Point != row.End {
				t.Fatalf("whole, to %d of %d", x.Point, row.End)
			}
			return
		}
		e := &row.Entries[x.Entry]
		if e.First != x.Point || e.Newest <= cutoff || x.Straddles != (e.Oldest <= cutoff && !e.Lost) {
			t.Fatalf("cutoff %d: %+v at %+v", cutoff, x, e)
		}
		if next := plan.NextExpiry(&format.Row{Entries: row.Entries[x.Entry:]}, 1000); next != e.Newest+1000 {
			t.Fatalf("next expiry %d", next)
		}
	})
}

func TestBoundary(t *testing.T) {
	chunks := []format.Chunk{
		{Stream: 7, First: 10, Count: 5, Newest: 100}, {Stream: 7, First: 15, Count: 5, Newest: 110}, {Stream: 7, First: 20, Count: 5, Newest: 120},
	}
	f := format.EncodeFooter(chunks)
	for _, c := range []struct {
		from   uint64
		cutoff core.Ms
		want   uint64
	}{
		{10, 99, 10}, {10, 100, 15}, {10, 115, 20}, {17, 99, 17}, {10, 500, 10},
	} {
		if got := plan.Boundary(f, 7, c.from, c.cutoff); got != c.want {
			t.Errorf("from %d, cutoff %d: %d, want %d", c.from, c.cutoff, got, c.want)
		}
	}
}

// A row that lost slots covers what it covered: lost ranges in entries that say
// so, the rest in span rows as before.
func TestLose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := format.Row{Kind: format.SpanRow, First: 5, Star: "s", Epoch: 3, Stores: []core.Store{"a"}}
		at, slot := row.First, uint64(0)
		gone := map[uint64]bool{}
		for range rapid.IntRange(1, 8).Draw(t, "spans") {
			slot += rapid.Uint64Max(2).Draw(t, "slot")
			n := rapid.Uint32Range(1, 4).Draw(t, "count")
			row.Spans = append(row.Spans, format.Span{Slot: slot, Chunk: format.Chunk{Stream: 1, First: at, Count: n, Len: 1}})
			at += uint64(n)
			if rapid.IntRange(0, 2).Draw(t, "gone") == 0 {
				gone[slot] = true
			}
		}
		row.End = at
		parts, ranges := plan.Lose(&row, func(s uint64) bool { return gone[s] })
		next, lost := row.First, 0
		spans := []format.Span(nil)
		for i := range parts {
			p := &parts[i]
			if _, err := format.DecodeRow(p.Encode()); err != nil || p.First != next {
				t.Fatalf("part %d: %v, begins at %d, not %d", i, err, p.First, next)
			}
			next = p.End
			if p.Kind == format.CatalogRow {
				lost++
				if len(p.Entries) != 1 || !p.Entries[0].Lost {
					t.Fatalf("part %+v", p)
				}
			}
			spans = append(spans, p.Spans...)
		}
		if next != row.End || lost != ranges {
			t.Fatalf("ends at %d of %d, %d ranges of %d", next, row.End, lost, ranges)
		}
		k := 0
		for _, s := range row.Spans {
			if gone[s.Slot] {
				continue
			}
			if k >= len(spans) || spans[k] != s {
				t.Fatalf("span %+v went", s)
			}
			k++
		}
		if k != len(spans) {
			t.Fatalf("%d spans of %d", len(spans), k)
		}
	})
}
