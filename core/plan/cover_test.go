package plan

import (
	"errors"
	"testing"

	"nova/core"
	"nova/core/format"
)

// standing is the footer of an object with some of the output's candidates.
func standing(cs []format.Chunk) (format.Footer, format.Window) {
	var off int64
	cs = append([]format.Chunk(nil), cs...)
	for i := range cs {
		cs[i].Off, off = off, off+cs[i].Len
	}
	tail, w := format.Finish(format.SettledObject, off, cs)
	return format.Footer(tail[:w.Len]), w
}

func TestCover(t *testing.T) {
	d, l := dials(), newLane(0)
	tail := l.tail(10, 10, 10)                  // 0..9
	a, b := l.row(4, 10, 10), l.row(4, 10)      // 9..15, 15..18
	w := choose(t, &d, l.choice(5, tail, a, b)) // the first chunk is dead
	reads := l.reads(&w.Output)
	lay, err := Lay(&w.Output, "std", reads)
	if err != nil {
		t.Fatal(err)
	}
	if lay.Drop != 1 || lay.Base != 3 || lay.Live() != 3 {
		t.Fatalf("%+v", lay)
	}
	all := lay.All
	other := append([]format.Chunk(nil), all...)
	other[4].CRC++
	more := append(append([]format.Chunk(nil), all...), l.chunk(3, 5))
	for _, c := range []struct {
		why   string
		cs    []format.Chunk
		rows  int
		match Match
	}{
		{"itself", all[1:], 2, Covers},
		{"an older watermark's", all, 2, Covers},
		{"a newer watermark's", all[2:], 0, Other},
		{"one row", all[1:5], 1, Covers},
		{"GC of the tail", all[1:3], 0, Covers},
		{"half the tail", all[1:2], 0, MidRow},
		{"half a row", all[1:4], 0, MidRow},
		{"more rows", more[1:], 0, Other},
		{"other bytes", other[1:], 0, Foreign},
		{"other bytes beyond a longer one", append(append([]format.Chunk(nil), other...), more[6])[1:], 0, Foreign},
		{"nothing", nil, 0, Foreign},
		{"later records", more[6:], 0, Foreign},
	} {
		f, w2 := standing(c.cs)
		rows, m := lay.Cover(f)
		if rows != c.rows || m != c.match {
			t.Errorf("%s: %v, %d rows; want %v, %d", c.why, m, rows, c.match, c.rows)
		}
		if err := Conserve(&w.Output, reads, rows, f, w2); m == Covers && err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}

// TestConserve: each kind of difference between inputs and output is caught by
// the second check alone (C8).
func TestConserve(t *testing.T) {
	d, l := dials(), newLane(0)
	tail := l.tail(10, 10)
	a, b := l.row(4, 10, 10), l.row(4, 10)
	w := choose(t, &d, l.choice(0, tail, a, b))
	o, reads := &w.Output, l.reads(&w.Output)
	lay, err := Lay(o, "std", reads)
	if err != nil {
		t.Fatal(err)
	}
	good := lay.Foot.Chunks()
	check := func(why string, rows int, w format.Window, change func([]format.Chunk) []format.Chunk) {
		t.Helper()
		f := format.EncodeFooter(change(append([]format.Chunk(nil), good...)))
		if err := Conserve(o, reads, rows, f, w); !errors.Is(err, ErrContradiction) {
			t.Errorf("%s: %v", why, err)
		}
	}
	same := func(cs []format.Chunk) []format.Chunk { return cs }
	if err := Conserve(o, reads, 2, lay.Foot, lay.Where); err != nil {
		t.Error(err)
	}
	check("fewer rows claimed", 1, lay.Where, same)
	check("window elsewhere", 2, format.Window{Off: lay.Where.Off + 1, Len: lay.Where.Len}, same)
	set := func(f func(c *format.Chunk)) func([]format.Chunk) []format.Chunk {
		return func(cs []format.Chunk) []format.Chunk { f(&cs[3]); return cs }
	}
	check("stream", 2, lay.Where, set(func(c *format.Chunk) { c.Stream++ }))
	check("count", 2, lay.Where, set(func(c *format.Chunk) { c.Count++ }))
	check("checksum", 2, lay.Where, set(func(c *format.Chunk) { c.CRC++ }))
	check("length", 2, lay.Where, set(func(c *format.Chunk) { c.Len++ }))
	check("offset", 2, lay.Where, set(func(c *format.Chunk) { c.Off++ }))
	check("times", 2, lay.Where, set(func(c *format.Chunk) { c.Newest++ }))
	check("a hole", 2, lay.Where, func(cs []format.Chunk) []format.Chunk { return append(cs[:2], cs[3:]...) })
	check("the head missing", 2, lay.Where, func(cs []format.Chunk) []format.Chunk { return cs[1:] })
	check("the end missing", 2, lay.Where, func(cs []format.Chunk) []format.Chunk { return cs[:4] })
	check("empty", 2, lay.Where, func(cs []format.Chunk) []format.Chunk { return nil })
	check("a swap", 2, lay.Where, func(cs []format.Chunk) []format.Chunk { cs[2], cs[3] = cs[3], cs[2]; return cs })
}

func TestLayRefuses(t *testing.T) {
	d, l := dials(), newLane(0)
	tail := l.tail(10, 10)
	a := l.row(4, 10, 10)
	w := choose(t, &d, l.choice(0, tail, a))
	refuse := func(why string, change func(o *Output, reads []Read) []Read) {
		t.Helper()
		o := w.Output
		o.Before.Entries = append([]format.Entry(nil), o.Before.Entries...)
		reads := change(&o, l.reads(&o))
		if _, err := Lay(&o, "std", reads); !errors.Is(err, ErrContradiction) {
			t.Errorf("%s: %v", why, err)
		}
	}
	edit := func(r *Read, f func(cs []format.Chunk) []format.Chunk) {
		r.Footer = format.EncodeFooter(f(r.Footer.Chunks()))
	}
	refuse("a footer missing", func(o *Output, r []Read) []Read { return r[1:] })
	refuse("another checksum in the slot", func(o *Output, r []Read) []Read {
		edit(&r[1], func(cs []format.Chunk) []format.Chunk { cs[1].CRC++; return cs })
		return r
	})
	refuse("the chunk is not in the slot", func(o *Output, r []Read) []Read {
		edit(&r[2], func(cs []format.Chunk) []format.Chunk { return cs[:1] })
		return r
	})
	refuse("another stream in the tail object", func(o *Output, r []Read) []Read {
		edit(&r[0], func(cs []format.Chunk) []format.Chunk { cs[0].Stream++; return cs })
		return r
	})
	refuse("a shorter tail object", func(o *Output, r []Read) []Read {
		edit(&r[0], func(cs []format.Chunk) []format.Chunk { return cs[:1] })
		return r
	})
	refuse("a tail object without its head", func(o *Output, r []Read) []Read {
		edit(&r[0], func(cs []format.Chunk) []format.Chunk { return cs[1:] })
		return r
	})
	gc := Rewrite(&stores, "b", id, core.Mark{}, tail.End, tail, 0)
	if _, err := Lay(&gc, "std", l.reads(&gc)); !errors.Is(err, ErrEmpty) {
		t.Errorf("a GC of what is dead: %v", err)
	}
	gc = Rewrite(&stores, "b", id, core.Mark{}, tail.End-1, tail, 0)
	if lay, err := Lay(&gc, "std", l.reads(&gc)); err != nil || lay.Drop != 1 || lay.Live() != 3 {
		t.Errorf("a GC of what is half dead: %+v, %v", lay, err)
	}
}
