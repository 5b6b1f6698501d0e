package plan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

const id = uint64(7)

var stores = core.Stores{Of: [core.Classes][]core.Store{{"std"}, {"x1", "x2"}}}

// lane makes rows and footers of one stream on one chain.
type lane struct {
	next uint64
	slot uint64
	rev  int64
	foot map[core.Obj][]format.Chunk // by object
}

func newLane(first uint64) *lane {
	return &lane{next: first, rev: 100, foot: map[core.Obj][]format.Chunk{}}
}

func (l *lane) chunk(n uint32, size int64) format.Chunk {
	c := format.Chunk{Stream: id, First: l.next, Count: n, CRC: uint32(l.next)*31 + n, Len: size, Oldest: core.Ms(l.next), Newest: core.Ms(l.next) + 5}
	l.next += uint64(n)
	return c
}

// row is a span row of one slot a chunk; other streams' chunks lie between.
func (l *lane) row(epoch uint64, sizes ...int64) Held {
	row := format.Row{Kind: format.SpanRow, First: l.next, Star: "star", Epoch: epoch, Class: core.Express, Stores: []core.Store{"x1", "std"}}
	for _, size := range sizes {
		c := l.chunk(3, size)
		other := format.Chunk{Stream: id + 1, First: c.First, Count: 1, Len: 10}
		c.Off = 10
		cs := []format.Chunk{other, c}
		for _, s := range row.Stores {
			l.foot[core.Obj{Store: s, Key: keys.Slot("star", epoch, l.slot)}] = cs
		}
		_, w := format.Finish(format.SlotObject, 10+size, cs)
		row.Spans = append(row.Spans, format.Span{Slot: l.slot, Footer: w, Chunk: c})
		l.slot++
	}
	row.End = l.next
	l.rev++
	return Held{Mark: core.Mark{Key: keys.Ref(id, row.End-1), Rev: l.rev}, Row: row}
}

// tail is a catalog row with one object of these chunks.
func (l *lane) tail(sizes ...int64) Held {
	e := format.Entry{Epoch: 1, First: l.next, LiveFrom: l.next, Generation: 1, Created: 50}
	cs, off := []format.Chunk(nil), int64(0)
	for _, size := range sizes {
		c := l.chunk(3, size)
		c.Off, off = off, off+size
		cs = append(cs, c)
	}
	tail, w := format.Finish(format.SettledObject, off, cs)
	e.Count, e.Footer, e.Bytes = l.next-e.First, w, off+int64(len(tail))
	l.foot[core.Obj{Store: "std", Key: ObjectOf("b", id, &e).Key()}] = cs
	l.rev++
	row := format.Row{Kind: format.CatalogRow, First: e.First, End: l.next, Entries: []format.Entry{e}}
	return Held{Mark: core.Mark{Key: keys.Ref(id, l.next-1), Rev: l.rev}, Row: row}
}

func (l *lane) reads(o *Output) []Read {
	reads := make([]Read, len(o.Sources))
	for i := range reads {
		reads[i].Footer = format.EncodeFooter(l.foot[o.Sources[i].At[0]])
	}
	return reads
}

func (l *lane) choice(watermark uint64, before Held, rows ...Held) Choice {
	return Choice{Bucket: "b", ID: id, Stream: core.Mark{Key: keys.Stream(id), Rev: 9}, Watermark: watermark, Before: before, Rows: rows}
}

func dials() core.Dials {
	d := core.Spec()
	d.OutputCap = 1000
	return d
}

func choose(t testing.TB, d *core.Dials, c Choice) Window {
	t.Helper()
	w, err := Choose(d, &stores, &c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestChooseFresh(t *testing.T) {
	d, l := dials(), newLane(0)
	a, b, c := l.row(4, 300, 200), l.row(4, 400), l.row(4, 200)
	w := choose(t, &d, l.choice(0, Held{}, a, b, c))
	if w.Act != ActSettle || len(w.Output.Rows) != 2 || w.Output.Revise {
		t.Fatalf("%v of %d rows", w.Act, len(w.Output.Rows))
	}
	want := keys.Settled{Bucket: "b", Stream: id, Epoch: 4}
	if diff := cmp.Diff(want, w.Output.Key); diff != "" {
		t.Error(diff)
	}
	if got := w.Output.Sources[0].At; len(got) != 2 || got[0].Store != "std" {
		t.Errorf("sources at %v: the output's own store comes first", got)
	}
	w = choose(t, &d, l.choice(0, Held{}, l.row(4, 5000), l.row(4, 1)))
	if len(w.Output.Rows) != 1 {
		t.Errorf("a row over the cap goes alone: %d rows", len(w.Output.Rows))
	}
}

func TestChooseWatermark(t *testing.T) {
	d, l := dials(), newLane(0)
	a, b, c := l.row(4, 10), l.row(4, 10, 10), l.row(4, 10) // [0,3) [3,6)[6,9) [9,12)
	if w := choose(t, &d, l.choice(12, Held{}, a, b, c)); w.Act != ActRetire || len(w.Rows) != 3 {
		t.Errorf("all below: %v %d", w.Act, len(w.Rows))
	}
	if w := choose(t, &d, l.choice(6, Held{}, a, b, c)); w.Act != ActRetire || len(w.Rows) != 1 {
		t.Errorf("the first below: %v %d", w.Act, len(w.Rows))
	}
	w := choose(t, &d, l.choice(6, Held{}, b, c))
	if w.Act != ActSettle || w.Output.Key.First != 6 || w.Output.Claims[0].Source != -1 || len(w.Output.Sources) != 2 {
		t.Errorf("straddling: %v %+v", w.Act, w.Output)
	}
	if w := choose(t, &d, l.choice(7, Held{}, b, c)); w.Output.Key.First != 6 {
		t.Errorf("a chunk that straddles the watermark is kept: %+v", w.Output.Key)
	}
}

func TestChooseTrigger(t *testing.T) {
	d, l := dials(), newLane(0)
	c := l.choice(0, Held{}, l.row(4, 300), l.row(4, 200))
	for trigger, want := range map[int64]Act{0: ActSettle, 500: ActSettle, 501: ActResidue} {
		if c.Trigger = trigger; choose(t, &d, c).Act != want {
			t.Errorf("trigger %d: not %v", trigger, want)
		}
	}
	if w := choose(t, &d, l.choice(0, Held{})); w.Act != ActNone {
		t.Errorf("no row: %v", w.Act)
	}
}

func TestChooseStaysOnItsChain(t *testing.T) {
	d, l := dials(), newLane(0)
	a, b := l.row(4, 10), l.row(5, 10)
	if w := choose(t, &d, l.choice(0, Held{}, a, b)); len(w.Output.Rows) != 1 {
		t.Errorf("a window of two chains: %d rows", len(w.Output.Rows))
	}
	l.next += 2
	c := l.row(4, 10)
	if w := choose(t, &d, l.choice(0, Held{}, a, c)); len(w.Output.Rows) != 1 {
		t.Errorf("a window over a gap: %d rows", len(w.Output.Rows))
	}
	if _, err := Choose(&d, &stores, &Choice{Rows: []Held{l.tail(10)}}); !errors.Is(err, ErrContradiction) {
		t.Errorf("a catalog row among the spans: %v", err)
	}
}

func TestChooseTailFill(t *testing.T) {
	d, l := dials(), newLane(0)
	tail := l.tail(100, 100)
	a, b := l.row(4, 300), l.row(4, 900)
	w := choose(t, &d, l.choice(0, tail, a, b))
	if o := &w.Output; !o.Revise || len(o.Rows) != 1 || o.Key.Revision != 1 || o.Key.First != 0 || o.Key.Epoch != 1 {
		t.Fatalf("%+v", o)
	}
	if w := choose(t, &d, l.choice(0, tail, b)); w.Output.Revise || w.Output.Before.Rev != 0 {
		t.Errorf("a row that does not touch: %+v", w.Output)
	}
	refuse := func(why string, change func(*format.Entry, *core.Dials)) {
		before := tail
		before.Entries = append([]format.Entry(nil), tail.Entries...)
		d := d
		change(&before.Entries[0], &d)
		if w := choose(t, &d, l.choice(0, before, a, b)); w.Output.Revise || w.Output.Before.Rev == 0 || w.Output.Key.First != a.First {
			t.Errorf("%s: %+v", why, w.Output.Key)
		}
	}
	refuse("lost", func(e *format.Entry, _ *core.Dials) { e.Lost = true })
	refuse("express", func(e *format.Entry, _ *core.Dials) { e.Class = core.Express })
	refuse("full", func(e *format.Entry, _ *core.Dials) { e.Bytes = 701 })
	refuse("chunks", func(_ *format.Entry, d *core.Dials) { d.OutputChunks = 2 })
	refuse("dead", func(e *format.Entry, _ *core.Dials) { e.LiveFrom = e.End() })
	if w := choose(t, &d, l.choice(tail.End, tail, a, b)); w.Output.Revise {
		t.Error("a tail below the watermark")
	}
	if w := choose(t, &d, l.choice(tail.End-1, tail, a, b)); !w.Output.Revise {
		t.Error("a tail that straddles the watermark")
	}
}

func TestCommitWrites(t *testing.T) {
	d, l := dials(), newLane(0)
	tail := l.tail(100, 100)
	a, b, c := l.row(4, 100), l.row(4, 100), l.row(4, 100)
	intent, lease := core.Mark{Key: "intent", Rev: 70}, core.Mark{Key: "lease", Rev: 60}
	commit := func(o *Output, rows int, lease core.Mark) []core.Write {
		l, err := Lay(o, "std", l.reads(o))
		if err != nil {
			t.Fatal(err)
		}
		du := Durable{Key: o.Key.At(keys.Incarnation{Generation: 1, Created: 70}), Window: l.Where, Size: l.Size, Rows: rows, LiveFrom: l.Live()}
		n := l.Base
		if rows > 0 {
			n = l.Ends[rows-1]
		}
		cs := l.Foot.Chunks()[:n-l.Drop]
		du.Footer = format.EncodeFooter(cs)
		ws := CommitWrites(&d, o, &du, intent, lease, 5000)
		if err := core.CheckTxn(ws); err != nil {
			t.Fatal(err)
		}
		return ws
	}
	text := func(ws []core.Write) (s []string) {
		for i := range ws {
			s = append(s, ws[i].String())
		}
		return s
	}
	key := func(h Held) string { return h.Key }
	ifs := func(ms ...core.Mark) (s []string) {
		for _, m := range ms {
			w := core.If(m)
			s = append(s, w.String())
		}
		return s
	}
	stream := core.Mark{Key: keys.Stream(id), Rev: 9}

	w := choose(t, &d, l.choice(0, tail, a, b, c))
	old := w.Output.BaseKey().Key()
	arm := "put(" + keys.DueReap(keys.ShardOfObject(old, d.Shards), d.GraceEnd(5000), old) + ")"
	got := text(commit(&w.Output, 3, lease))
	want := append(ifs(stream, intent, lease, tail.Mark, a.Mark, c.Mark), "del-range("+key(tail)+", "+key(c)+")", "put("+key(c)+")", arm)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tail-fill: %s", diff)
	}
	got = text(commit(&w.Output, 1, lease))
	want = append(ifs(stream, intent, lease, tail.Mark, a.Mark), "del-range("+key(tail)+", "+key(a)+")", "put("+key(a)+")", arm)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tail-fill, truncated: %s", diff)
	}
	got = text(commit(&w.Output, 0, lease))
	want = append(ifs(stream, intent, lease, tail.Mark), "put("+key(tail)+")", arm)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tail-fill, truncated to the tail alone: %s", diff)
	}
	gc := Rewrite(&stores, "b", id, stream, 0, tail, 0)
	if diff := cmp.Diff(want[0:2], text(commit(&gc, 0, core.Mark{}))[0:2]); diff != "" {
		t.Errorf("GC: %s", diff)
	}

	d.OutputCap = 201 // no room in the tail object, but in its row
	w = choose(t, &d, l.choice(0, tail, a, b, c))
	ws := commit(&w.Output, 2, lease)
	want = append(ifs(stream, intent, lease, tail.Mark, a.Mark, b.Mark), "del-range("+key(tail)+", "+key(b)+")", "put("+key(b)+")")
	if diff := cmp.Diff(want, text(ws)); diff != "" {
		t.Errorf("taken over: %s", diff)
	}
	row, err := format.DecodeRow(ws[len(ws)-1].Val)
	if err != nil || len(row.Entries) != 2 || row.Entries[0] != tail.Entries[0] {
		t.Errorf("%+v, %v", row, err)
	}
	d.EntriesPerRow = 1
	got = text(commit(&w.Output, 2, lease))
	want = append(ifs(stream, intent, lease, a.Mark, b.Mark), "del-range("+key(a)+", "+key(b)+")", "put("+key(b)+")")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a full row: %s", diff)
	}
	got = text(commit(&w.Output, 1, lease))
	want = append(ifs(stream, intent, lease, a.Mark), "put("+key(a)+")")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("one row: %s", diff)
	}

	for n, rows := range [][]Held{1: {a}, 2: {a, b}, 3: {a, b, c}} {
		if n == 0 {
			continue
		}
		ws := RetireWrites(stream, lease, rows)
		if err := core.CheckTxn(ws); err != nil {
			t.Error(err)
		}
		want := ifs(stream, lease, a.Mark)
		if n > 1 {
			last := rows[n-1]
			want = append(append(want, ifs(last.Mark)...), "del-range("+key(a)+", "+key(last)+")")
		}
		if diff := cmp.Diff(append(want, "del("+key(rows[n-1])+")"), text(ws)); diff != "" {
			t.Errorf("retire %d: %s", n, diff)
		}
	}
}

func TestHold(t *testing.T) {
	l := newLane(0)
	r := l.row(4, 10)
	good := core.Row{Mark: r.Mark, Val: r.Row.Encode()}
	if h, err := Hold(good); err != nil || h.End != 3 {
		t.Errorf("%+v, %v", h, err)
	}
	other := good
	other.Key = keys.Ref(id, 9)
	if _, err := Hold(other); !errors.Is(err, ErrContradiction) {
		t.Errorf("another end: %v", err)
	}
	other.Key = keys.Ref(id+1, 2)
	if _, err := Hold(other); !errors.Is(err, ErrContradiction) {
		t.Errorf("another stream: %v", err)
	}
	other.Val = "x"
	if _, err := Hold(other); !errors.Is(err, format.ErrDamaged) {
		t.Errorf("damaged: %v", err)
	}
}

// TestSettleAny: whatever the rows, the tail and the watermark, committing
// window after window ends with every live record in the catalog, in rows that
// touch above the watermark, and no window breaks a contract.
func TestSettleAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := dials()
		d.OutputCap = rapid.Int64Range(50, 2000).Draw(t, "cap")
		d.OutputChunks = rapid.IntRange(2, 12).Draw(t, "chunks")
		d.EntriesPerRow = rapid.IntRange(1, 3).Draw(t, "entries")
		l := newLane(rapid.Uint64Range(0, 5).Draw(t, "first"))
		start := l.next
		before := Held{}
		if rapid.Bool().Draw(t, "tail") {
			before = l.tail(rapid.SliceOfN(rapid.Int64Range(0, 400), 1, 4).Draw(t, "tail")...)
		}
		var rows []Held
		for range rapid.IntRange(1, 8).Draw(t, "rows") {
			rows = append(rows, l.row(4, rapid.SliceOfN(rapid.Int64Range(0, 400), 1, 4).Draw(t, "spans")...))
		}
		watermark := rapid.Uint64Range(start, l.next).Draw(t, "watermark")
		live := before.End
		created := int64(500)
		for len(rows) > 0 {
			w, err := Choose(&d, &stores, &Choice{Bucket: "b", ID: id, Stream: core.Mark{Key: keys.Stream(id), Rev: 9}, Watermark: watermark, Before: before, Rows: rows})
			if err != nil {
				t.Fatal(err)
			}
			if w.Act == ActRetire {
				if end := w.Rows[len(w.Rows)-1].End; end > watermark {
					t.Fatalf("retired up to %d, above the watermark %d", end, watermark)
				}
				rows = rows[len(w.Rows):]
				continue
			}
			o := &w.Output
			reads := l.reads(o)
			lay, err := Lay(o, "std", reads)
			if err != nil {
				t.Fatal(err)
			}
			if n := lay.Foot.Len(); n > max(d.OutputChunks, len(o.Rows[0].Spans)) {
				t.Fatalf("%d chunks, at most %d", n, d.OutputChunks)
			}
			body := []core.Piece{}
			for i := range lay.Body {
				body = append(body, lay.Body[i].Piece)
			}
			if core.Size(body) != lay.Size {
				t.Fatalf("%d bytes, not %d", core.Size(body), lay.Size)
			}
			if rows, m := lay.Cover(lay.Foot); m != Covers || rows != len(o.Rows) {
				t.Fatalf("its own footer %v, %d of %d rows", m, rows, len(o.Rows))
			}
			created++
			du := Durable{Key: o.Key.At(keys.Incarnation{Created: created}), Footer: lay.Foot, Window: lay.Where, Size: lay.Size, Rows: len(o.Rows), LiveFrom: lay.Live()}
			ws := CommitWrites(&d, o, &du, core.Mark{Key: "intent", Rev: created}, core.Mark{Key: "lease", Rev: 1}, 1)
			if err := core.CheckTxn(ws); err != nil {
				t.Fatal(err)
			}
			var put core.Row
			for i := range ws {
				if ws[i].Verb == core.VPut && ws[i].At.Key > "ref/" {
					put = core.Row{Mark: core.Mark{Key: ws[i].At.Key, Rev: created}, Val: ws[i].Val}
				}
			}
			before, err = Hold(put)
			if err != nil {
				t.Fatal(err)
			}
			e := before.Entries[len(before.Entries)-1]
			if e.LiveFrom > watermark && e.LiveFrom > o.Key.First || e.First > live && live > 0 && e.First > watermark {
				t.Fatalf("records are missing below %+v (live to %d, watermark %d)", e, live, watermark)
			}
			l.foot[core.Obj{Store: "std", Key: ObjectOf("b", id, &e).Key()}] = lay.Foot.Chunks()
			for i := range lay.Foot.Len() {
				c := lay.Foot.At(i)
				if k := ObjectOf("b", id, &e); Lives(&before.Row, &k, &c) != (c.End() > e.LiveFrom) {
					t.Fatalf("chunk %+v of %+v", c, e)
				}
			}
			live, rows = e.End(), rows[len(o.Rows):]
		}
		if watermark < l.next && live != l.next {
			t.Fatalf("settled to %d of %d", live, l.next)
		}
	})
}
