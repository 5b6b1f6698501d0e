package protocol

import (
	"fmt"
	"slices"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
	"nova/sim/world"
)

// rig drives machines over a modelled world, one landing at a time, and holds
// the promise after each: no bytes without a watcher, no ref without bytes.
type rig struct {
	t      *testing.T
	w      *world.World
	dials  core.Dials
	stores core.Stores
	now    core.Ms
	actors []*rigActor
	late   []rigSent // requests in flight that nobody waits for any more
	broken []string

	lawless bool // the laws are not looked at: a large world
}

// rigActor is one process that runs one machine.
type rigActor struct {
	name    string
	env     core.Env
	step    func(core.Turn, *core.Env) bool
	x       core.Exchange
	pending []core.Effect
	done    bool
	dead    bool
	lands   int
	// fault says what happens to the actor's n-th effect (from 0).
	fault func(n int, op *core.Op) rigFault
	notes []core.Note
}

type rigSent struct {
	op   core.Op
	when core.Ms // when a store admitted it
}

type rigFault uint8

const (
	rigFine      rigFault = iota
	rigCutBefore          // the process dies before the effect lands
	rigCutAfter           // the effect lands, and the process dies before its reply
	rigLost               // it lands, and its reply is lost
	rigNever              // it never lands, and its reply is lost
	rigLate               // its reply is lost, and it lands later
	rigCutLate            // the process dies; it lands later
	rigFaults    = int(rigCutLate) + 1
)

const rigStream = uint64(7)

func newRig(t *testing.T) *rig {
	d := core.Spec()
	d.PartMin, d.PartMax, d.PartWidth, d.OutputCap, d.EntriesPerRow = 200, 500, 2, 2000, 3
	d.Shards, d.GCMinDead = 2, 500
	r := &rig{t: t, dials: d, now: 1_000_000_000, stores: core.Stores{Of: [core.Classes][]core.Store{{"std"}, {"x1"}}}}
	r.w = world.New(world.LimitsOf(&d), world.Dialect{RepeatComplete: core.Exists}, "std", "x1")
	r.put(keys.Stream(rigStream), format.Stream{Bucket: "b", Name: "n"}.Encode())
	r.put(keys.ChainLease("star", 4), "era")
	return r
}

func (r *rig) put(key, val string) {
	r.apply(core.Txn(core.Put(key, val)))
}

func (r *rig) apply(op core.Op) core.Reply {
	r.t.Helper()
	rep := r.w.Apply(&op, world.When{Now: r.now, Admitted: r.now})
	if rep.Outcome != core.OK {
		r.t.Fatalf("%s: %v %s", &op, rep.Outcome, rep.Val)
	}
	return rep
}

func (r *rig) row(key string) core.Row {
	row, _ := r.w.Meta.Lookup(key)
	row.Key = key
	return row
}

func (r *rig) rows(from, end string) (rows []core.Row) {
	r.w.Meta.Range(from, end, func(row core.Row) bool { rows = append(rows, row); return true })
	return rows
}

// span writes slots and the span row that names them; each chunk holds 3 records
// and lies alone in its slot, behind another stream's.
func (r *rig) span(first, slot uint64, sizes ...int64) uint64 {
	r.t.Helper()
	row := format.Row{Kind: format.SpanRow, First: first, Star: "star", Epoch: 4, Class: core.Express, Stores: []core.Store{"std", "x1"}}
	for _, n := range sizes {
		other := format.Chunk{Stream: rigStream + 1, First: first, Count: 1, Len: 11, CRC: world.BlobCRC(99, 0, 11)}
		c := format.Chunk{Stream: rigStream, First: first, Count: 3, Off: 11, Len: n, CRC: world.BlobCRC(slot, 5, n), Oldest: core.Ms(first), Newest: core.Ms(first + 2)}
		tail, w := format.Finish(format.SlotObject, 11+n, []format.Chunk{other, c})
		body := []core.Piece{{Kind: core.Blob, Blob: 99, Len: 11, CRC: other.CRC}, {Kind: core.Blob, Blob: slot, Off: 5, Len: n, CRC: c.CRC}, {Kind: core.Literal, Bytes: tail}}
		for _, s := range row.Stores {
			r.apply(core.Create(core.Obj{Store: s, Key: keys.Slot("star", 4, slot)}, body, r.now+1))
		}
		row.Spans = append(row.Spans, format.Span{Slot: slot, Footer: w, Chunk: c})
		first, slot = first+3, slot+1
	}
	row.End = first
	r.put(keys.Ref(rigStream, first-1), row.Encode())
	return first
}

func (r *rig) actor(name string, step func(core.Turn, *core.Env) bool) *rigActor {
	a := &rigActor{name: name, step: step, env: core.Env{Dials: r.dials, Stores: r.stores, Process: name, Generation: 1}}
	r.actors = append(r.actors, a)
	r.turn(a, nil)
	return a
}

func (r *rig) turn(a *rigActor, ev *core.Event) {
	a.x.Now = r.now
	var t core.Turn
	if ev == nil {
		t = a.x.Start()
	} else {
		t = a.x.Deliver(ev.At, ev.Reply)
	}
	a.done = a.step(t, &a.env)
	if !a.x.Consumed() {
		r.t.Fatalf("%s dropped the reply at %s", a.name, ev.At)
	}
	for _, e := range a.x.Out {
		if e.Op.Kind == core.KDelete {
			r.broken = append(r.broken, fmt.Sprintf("%s deletes: %s", a.name, &e.Op))
		}
		a.pending = append(a.pending, e)
	}
	slices.SortFunc(a.pending, func(x, y core.Effect) int {
		if x.At.Less(y.At) {
			return -1
		}
		return 1
	})
	a.notes = append(a.notes, a.x.Notes...)
	if a.done && len(a.pending) > 0 {
		r.t.Fatalf("%s is finished with %d effects in flight", a.name, len(a.pending))
	}
}

// land lets effect i of an actor happen.
func (r *rig) land(a *rigActor, i int) {
	e := a.pending[i]
	a.pending = slices.Delete(a.pending, i, i+1)
	f := rigFine
	if a.fault != nil {
		f = a.fault(a.lands, &e.Op)
	}
	a.lands++
	rep := core.Reply{Outcome: core.Unknown}
	switch f {
	case rigFine, rigCutAfter, rigLost:
		got := r.w.Apply(&e.Op, world.When{Now: r.now, Admitted: r.now})
		if f == rigFine {
			rep = got
		}
	case rigLate, rigCutLate:
		r.late = append(r.late, rigSent{op: e.Op, when: r.now})
	}
	r.laws(&e.Op)
	if r.now++; f == rigCutBefore || f == rigCutAfter || f == rigCutLate {
		a.dead, a.pending = true, nil
		return
	}
	r.turn(a, &core.Event{At: e.At, Reply: rep})
}

// landLate lets what is still in flight land.
func (r *rig) landLate() {
	for _, s := range r.late {
		r.w.Apply(&s.op, world.When{Now: r.now, Admitted: s.when})
		r.laws(&s.op)
	}
	r.late = nil
}

func (a *rigActor) over() bool { return a.done || a.dead }

// run lets actors take turns as pick says, until all are over.
func (r *rig) run(pick func(n int) int, actors ...*rigActor) {
	for range 100_000 {
		var live []*rigActor
		for _, a := range actors {
			if !a.over() {
				live = append(live, a)
			}
		}
		if len(live) == 0 {
			return
		}
		a := live[pick(len(live))]
		r.land(a, pick(len(a.pending)))
	}
	r.t.Fatal("no end")
}

func inOrder(int) int { return 0 }

// laws are the promise, in short: every object and upload under data/ is named by
// an intent, a ref or a marker, and every ref names bytes that stand.
func (r *rig) laws(op *core.Op) {
	r.t.Helper()
	if r.lawless {
		return
	}
	if r.w.Contract != nil {
		r.t.Fatal(r.w.Contract)
	}
	watched, intents := map[string]bool{}, map[string]bool{}
	from, _ := keys.DueAll(keys.Orphan, 0)
	_, end := keys.DueAll(keys.Orphan, r.dials.Shards-1)
	for _, row := range r.rows(from, end) {
		d, err := keys.ParseDue(row.Key)
		if err != nil {
			r.t.Fatal(err)
		}
		x, err := format.DecodeIntent(row.Val)
		if err != nil {
			r.t.Fatal(err)
		}
		if s, _ := keys.ParseSettled(d.Object); !s.HasInc {
			created := row.Rev
			if x.Shared {
				created = x.Created
			}
			d.Object = s.At(keys.Incarnation{Generation: x.Generation, Created: created}).Key()
		}
		watched[d.Object], intents[d.Object] = true, true
	}
	for _, q := range []keys.Queue{keys.Reap, keys.GC} {
		from, _ := keys.DueAll(q, 0)
		_, end := keys.DueAll(q, r.dials.Shards-1)
		for _, row := range r.rows(from, end) {
			d, err := keys.ParseDue(row.Key)
			if err != nil {
				r.t.Fatal(err)
			}
			watched[d.Object] = true
		}
	}
	for _, h := range r.held() {
		for i := range h.Entries {
			e := &h.Entries[i]
			k := plan.ObjectOf("b", rigStream, e).Key()
			watched[k] = true
			o := r.w.Bucket("std").Lookup(k)
			if o == nil {
				r.t.Fatalf("after %s: entry %+v names no object", op, e)
			}
			tail, err := format.ParseTail(o.Tail(format.TailRead), o.Size())
			if err != nil || tail.Window != e.Footer || o.Size() != e.Bytes {
				r.t.Fatalf("after %s: entry %+v: %v", op, e, err)
			}
			next := uint64(0)
			for k := range tail.Footer.Len() {
				c := tail.Footer.At(k)
				if o.Body.CRC(c.Off, c.Len) != c.CRC || k > 0 && c.First != next {
					r.t.Fatalf("after %s: entry %+v: chunk %+v does not match", op, e, c)
				}
				if k == 0 && c.First > e.LiveFrom {
					r.t.Fatalf("after %s: entry %+v lacks records below %d", op, e, c.First)
				}
				next = c.End()
			}
			if next != e.End() {
				r.t.Fatalf("after %s: entry %+v ends at %d", op, e, next)
			}
		}
		for i := range h.Spans {
			if r.w.Bucket("std").Lookup(keys.Slot(h.Star, h.Epoch, h.Spans[i].Slot)) == nil {
				r.t.Fatalf("after %s: span %+v names no slot", op, h.Spans[i])
			}
		}
	}
	b := r.w.Bucket("std")
	for i := range b.Len() {
		if k := b.Object(i).Key; k[:5] == "data/" && !watched[k] {
			r.t.Fatalf("after %s: nothing watches object %s", op, k)
		}
	}
	for _, u := range b.Uploads() {
		if !intents[u.Key] { // neither a ref nor a reap-check looks for uploads
			r.t.Fatalf("after %s: nothing watches upload %s of %s", op, u.ID, u.Key)
		}
	}
}

// held is the stream's rows.
func (r *rig) held() (hs []plan.Held) {
	from, end := keys.RefRange(rigStream, 0)
	for _, row := range r.rows(from, end) {
		h, err := plan.Hold(row)
		if err != nil {
			r.t.Fatal(err)
		}
		hs = append(hs, h)
	}
	return hs
}

// choice is what a member reads: descriptor, watermark, rows.
func (r *rig) choice() plan.Choice {
	c := plan.Choice{Bucket: "b", ID: rigStream, Stream: r.row(keys.Stream(rigStream)).Mark}
	if row := r.row(keys.Trim(rigStream)); row.Rev != 0 {
		c.Watermark, _ = format.DecodeNumber(row.Val)
	}
	for _, h := range r.held() {
		if h.Kind == format.SpanRow {
			c.Rows = append(c.Rows, h)
		} else if len(c.Rows) == 0 {
			c.Before = h
		}
	}
	return c
}

// output is what the next window settles.
func (r *rig) output() plan.Output {
	r.t.Helper()
	c := r.choice()
	w, err := plan.Choose(&r.dials, &r.stores, &c)
	if err != nil || w.Act != plan.ActSettle {
		r.t.Fatalf("%v: %v", w.Act, err)
	}
	return w.Output
}

// rewrite is an actor that rewrites one output.
func (r *rig) rewrite(name string, o plan.Output) (*rigActor, *Rewrite, *core.Verdict) {
	m, v := &Rewrite{}, new(core.Verdict)
	lease := r.row(keys.ChainLease("star", 4)).Mark
	a := r.actor(name, func(t core.Turn, e *core.Env) bool {
		*v = m.Step(t, e, &o, lease)
		return *v != core.Working
	})
	return a, m, v
}

// settle settles everything, with attempts anew until nothing is left.
func (r *rig) settle() {
	r.t.Helper()
	for range 50 {
		c := r.choice()
		w, err := plan.Choose(&r.dials, &r.stores, &c)
		if err != nil {
			r.t.Fatal(err)
		}
		if w.Act == plan.ActNone {
			return
		}
		a, m, v := r.rewrite(fmt.Sprintf("again%d", len(r.actors)), w.Output)
		r.run(inOrder, a)
		if *v == core.Broken {
			r.t.Fatalf("broken: %v", m.Fault)
		}
	}
	r.t.Fatal("it does not converge")
}

// whole checks that the catalog covers [0, end) and no span row is left.
func (r *rig) whole(end uint64) {
	r.t.Helper()
	next := uint64(0)
	for _, h := range r.held() {
		if h.Kind != format.CatalogRow || h.First != next {
			r.t.Fatalf("row %+v after %d", h, next)
		}
		next = h.End
	}
	if next != end {
		r.t.Fatalf("settled to %d of %d", next, end)
	}
	if len(r.broken) > 0 {
		r.t.Fatal(r.broken)
	}
}

func (a *rigActor) noted(k core.NoteKind) (n int64) {
	for _, x := range a.notes {
		if x.Kind == k {
			n += x.N
		}
	}
	return n
}

func rigWhen(r *rig) world.When { return world.When{Now: r.now, Admitted: r.now} }
