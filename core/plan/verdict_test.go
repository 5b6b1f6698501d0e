package plan

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

func TestFold(t *testing.T) {
	d := core.Spec()
	for _, c := range []struct {
		spans      int
		live, dead int64
		want       Finding
	}{
		{0, 0, 0, Reapable},
		{0, 0, 900 * mib, Reapable},
		{1, 0, 0, Stand}, // a live span of no bytes is live
		{1, 1, 64*mib - 1, Stand},
		{1, 1, 64 * mib, GCWorthy},
		{1, 64 * mib, 64 * mib, GCWorthy},
		{1, 64*mib + 2, 64 * mib, Stand},
		{1, 200 * mib, 199 * mib, Stand},
		{1, 200 * mib, 200 * mib, GCWorthy},
	} {
		if got := Fold(&d, c.spans, c.live, c.dead); got != c.want {
			t.Errorf("%d spans, %d live, %d dead: %v, want %v", c.spans, c.live, c.dead, got, c.want)
		}
	}
}

func TestLives(t *testing.T) {
	e := format.Entry{Epoch: 1, First: 10, Count: 20, LiveFrom: 14, Revision: 2, Generation: 3, Created: 44}
	before := format.Entry{Epoch: 1, First: 0, Count: 10, Generation: 3, Created: 40}
	row := format.Row{Kind: format.CatalogRow, First: 0, End: 30, Entries: []format.Entry{before, e}}
	o := ObjectOf("b", id, &e)
	chunk := func(first uint64, n uint32) format.Chunk { return format.Chunk{Stream: id, First: first, Count: n} }
	lives := func(r format.Row, o keys.Settled, c format.Chunk) bool { return Lives(&r, &o, &c) }
	if !lives(row, o, chunk(14, 3)) || !lives(row, o, chunk(12, 3)) || !lives(row, o, chunk(29, 1)) {
		t.Error("live chunks")
	}
	if lives(row, o, chunk(10, 4)) {
		t.Error("a chunk below what is live of the entry")
	}
	if lives(row, o, chunk(5, 3)) {
		t.Error("a chunk that another entry of the row covers")
	}
	if lives(row, o, chunk(30, 3)) {
		t.Error("a chunk beyond the row")
	}
	other := chunk(14, 3)
	other.Stream++
	if lives(row, o, other) {
		t.Error("another stream's chunk")
	}
	for i, change := range []func(*keys.Settled){
		func(o *keys.Settled) { o.Epoch++ }, func(o *keys.Settled) { o.First++ }, func(o *keys.Settled) { o.Revision++ },
		func(o *keys.Settled) { o.Inc.Created++ }, func(o *keys.Settled) { o.Inc.Generation++ },
	} {
		o := o
		if change(&o); lives(row, o, chunk(14, 3)) {
			t.Errorf("another object (%d)", i)
		}
	}
	lost := row
	lost.Entries = []format.Entry{before, e}
	lost.Entries[1].Lost = true
	if lives(lost, o, chunk(14, 3)) {
		t.Error("a lost range names no object")
	}

	span := format.Row{Kind: format.SpanRow, First: 10, End: 16, Star: "s", Epoch: 2, Spans: []format.Span{
		{Slot: 4, Chunk: chunk(10, 3)}, {Slot: 5, Chunk: chunk(13, 3)}}}
	in := func(star string, epoch, slot uint64, c format.Chunk) bool {
		return LivesInSlot(&span, star, epoch, slot, &c)
	}
	if !in("s", 2, 4, chunk(10, 3)) || !in("s", 2, 5, chunk(13, 3)) {
		t.Error("live spans")
	}
	if in("s", 2, 5, chunk(10, 3)) || in("s", 3, 4, chunk(10, 3)) || in("t", 2, 4, chunk(10, 3)) || lives(span, o, chunk(10, 3)) {
		t.Error("dead spans")
	}
}

func TestReady(t *testing.T) {
	d := core.Spec()
	b := format.BatchMark{Class: core.Express, Birth: 1000, Crossing: true}
	if got := Ready(&d, core.Express, 1000, true); got != 1000+d.Linger[core.Express] {
		t.Error(got)
	}
	cap := 1000 + d.AgeCap[core.Express]
	if r := Residue(&d, b); r.Crossing || r.Ready != cap || r.Birth != 1000 {
		t.Errorf("%+v", r)
	}
	if !Lingered(&d, &b, cap-1) || Lingered(&d, &b, cap) {
		t.Error("a marker at its age cap takes everything")
	}
	if b.Crossing = false; Lingered(&d, &b, 0) {
		t.Error("a marker that crossed nothing did not ripen by linger")
	}
}

func TestBackoff(t *testing.T) {
	d := core.Spec()
	last := core.Ms(0)
	for a := range format.Attempts(100) {
		w := Backoff(&d, a)
		if w < last || w > d.BackoffMax || a == 0 && w != d.BackoffFirst || a < 9 && a > 0 && w != 2*last {
			t.Errorf("attempt %d: %d after %d", a, w, last)
		}
		last = w
	}
	if last != d.BackoffMax {
		t.Error(last)
	}
}

func TestOrphanTimes(t *testing.T) {
	d := core.Spec()
	x := format.Intent{Birth: 9_000_000}
	ripe := func(now core.Ms) bool { return OrphanRipe(&d, &x, now) }
	if at := OrphanAt(&d, &x) + d.OrphanGrace; !ripe(at) || ripe(at-1) {
		t.Error("an intent ripens one orphan grace after its birth")
	}
	x.Condemned, x.Since = true, 20_000_000
	if !ripe(x.Since) {
		t.Error("its first look is due at once")
	}
	x.Look = format.LookDead
	if at := OrphanAt(&d, &x) + d.OrphanGrace; at != x.Since+d.ReadGrace || !ripe(at) || ripe(at-1) {
		t.Error("its second look is due one read grace after the first")
	}
}
