package protocol

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/plain"
)

func TestRewriteIsPlain(t *testing.T) {
	for _, m := range []any{Rewrite{}, Publish{}, Commit{}, Resolve{}, Probe{}} {
		if err := plain.Check(reflect.TypeOf(m)); err != nil {
			t.Error(err)
		}
	}
}

// scenes are worlds before a rewrite: one request, a multipart upload, a
// tail-fill.
var scenes = map[string]func(t *testing.T) (*rig, uint64){
	"single": func(t *testing.T) (*rig, uint64) {
		r := newRig(t)
		return r, r.span(0, 0, 20, 1)
	},
	"multipart": func(t *testing.T) (*rig, uint64) {
		r := newRig(t)
		end := r.span(0, 0, 150, 7)
		return r, r.span(end, 10, 400, 90)
	},
	"tail-fill": func(t *testing.T) (*rig, uint64) {
		r := newRig(t)
		end := r.span(0, 0, 150, 80, 90)
		r.settle()
		return r, r.span(end, 10, 130, 20)
	},
}

func TestRewriteLife(t *testing.T) {
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			r, end := scene(t)
			o := r.output()
			a, m, v := r.rewrite("p", o)
			r.run(inOrder, a)
			if *v != core.Done || m.Durable.Rows != len(o.Rows) || a.noted(core.NoteIntentResolved) != 1 {
				t.Fatalf("%v %+v", *v, m)
			}
			r.whole(end)
			from, _ := keys.DueAll(keys.Orphan, 0)
			if rows := r.rows(from, from[:len(from)-2]+"~"); len(rows) != 0 {
				t.Errorf("an intent is left: %v", rows)
			}
			if name == "tail-fill" {
				old := o.BaseKey().Key()
				arm := r.row(keys.DueReap(keys.ShardOfObject(old, r.dials.Shards), r.dials.GraceEnd(r.now), old))
				if mark, err := format.DecodeReapMark(arm.Val); err != nil || mark.Confirmed || mark.Footer != o.Base().Footer {
					t.Errorf("the superseded object is not armed: %+v %v", mark, err)
				}
			}
		})
	}
}

// TestRewriteSweep cuts, loses and delays every effect of a rewrite in turn, and
// lets another attempt finish: everything is settled, nothing is deleted, and at
// every instant whatever stands is watched.
func TestRewriteSweep(t *testing.T) {
	for name, scene := range scenes {
		for f := rigCutBefore; int(f) < rigFaults; f++ {
			for k := 0; ; k++ {
				r, end := scene(t)
				a, m, v := r.rewrite("p", r.output())
				struck := false
				a.fault = func(n int, op *core.Op) rigFault {
					if n != k {
						return rigFine
					}
					struck = true
					return f
				}
				r.run(inOrder, a)
				if !struck {
					break
				}
				if !a.dead && *v == core.Broken {
					t.Fatalf("%s, fault %d at effect %d: broken, %v", name, f, k, m.Fault)
				}
				half := func() { r.settle(); r.whole(end) }
				if k%2 == 0 {
					r.landLate()
					half()
				} else {
					half()
					r.landLate()
					half()
				}
			}
		}
	}
}

// TestRewriteRaces lets two attempts at one output interleave in every way that
// rapid finds, with faults: both converge on one object.
func TestRewriteRaces(t *testing.T) {
	names := []string{"single", "multipart", "tail-fill"}
	rapid.Check(t, func(rt *rapid.T) {
		r, end := scenes[rapid.SampledFrom(names).Draw(rt, "scene")](t)
		pick := func(n int) int {
			if n == 1 {
				return 0
			}
			return rapid.IntRange(0, n-1).Draw(rt, "pick")
		}
		a, am, av := r.rewrite("a", r.output())
		for range rapid.IntRange(0, 12).Draw(rt, "head start") {
			if !a.over() {
				r.land(a, pick(len(a.pending)))
			}
		}
		if c := r.choice(); len(c.Rows) == 0 {
			return
		}
		b, bm, bv := r.rewrite("b", r.output())
		for _, x := range []*rigActor{a, b} {
			at, f := rapid.IntRange(0, 30).Draw(rt, "at"), rigFault(rapid.IntRange(0, rigFaults-1).Draw(rt, "fault"))
			x.fault = func(n int, op *core.Op) rigFault {
				if n == at {
					return f
				}
				return rigFine
			}
		}
		r.run(pick, a, b)
		if *av == core.Broken || *bv == core.Broken {
			rt.Fatalf("broken: %v %v", am.Fault, bm.Fault)
		}
		if rapid.Bool().Draw(rt, "late first") {
			r.landLate()
		}
		r.settle()
		r.landLate()
		r.whole(end)
	})
}

// TestRewriteTruncates: the winner saw fewer rows.
func TestRewriteTruncates(t *testing.T) {
	r := newRig(t)
	mid := r.span(0, 0, 150, 7)
	a, _, _ := r.rewrite("a", r.output())
	for !a.over() && a.noted(core.NotePublishMultipart) == 0 {
		r.land(a, 0)
	}
	a.dead = true // published, not committed
	end := r.span(mid, 10, 40)
	o := r.output()
	b, m, v := r.rewrite("b", o)
	r.run(inOrder, b)
	if *v != core.Done || m.Durable.Rows != 1 || len(o.Rows) != 2 || b.noted(core.NotePublishTruncated) != 1 || b.noted(core.NoteIntentLeft) != 1 {
		t.Fatalf("%v, %d rows of %d", *v, m.Durable.Rows, len(o.Rows))
	}
	r.settle()
	r.whole(end)
}

// TestRewriteRefuses: what stands at the key is not what any honest attempt
// would have put there.
func TestRewriteRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		stands func(m *Rewrite, good string) string
		fault  Fault
	}{
		"empty":    {func(*Rewrite, string) string { return "" }, ForeignObject},
		"short":    {func(*Rewrite, string) string { return "short" }, ForeignObject},
		"torn":     {func(_ *Rewrite, good string) string { return good[:len(good)-1] + "?" }, ForeignObject},
		"a fence":  {func(*Rewrite, string) string { return format.Fence("s", 1, 2) }, ForeignObject},
		"a slot":   {func(*Rewrite, string) string { t, _ := format.Finish(format.SlotObject, 0, nil); return t }, ForeignObject},
		"no chunk": {func(*Rewrite, string) string { t, _ := format.Finish(format.SettledObject, 0, nil); return t }, ForeignObject},
		"mid-row": {func(m *Rewrite, _ string) string {
			cs := m.publish.layout.Foot.Chunks()[:1]
			tail, _ := format.Finish(format.SettledObject, cs[0].Len, cs)
			return string(make([]byte, cs[0].Len)) + tail
		}, MidRow},
	} {
		r := newRig(t)
		r.span(0, 0, 20, 1)
		a, m, v := r.rewrite("a", r.output())
		for a.pending[0].Op.Kind != core.KCreate {
			r.land(a, 0)
		}
		op := a.pending[0].Op
		tail := op.Body[len(op.Body)-1].Bytes
		r.apply(core.Create(op.Obj(), core.Bytes(c.stands(m, tail)), r.now+1))
		r.run(inOrder, a)
		if *v != core.Broken || m.Fault != c.fault {
			t.Errorf("%s: %v %v", name, *v, m.Fault)
		}
	}
}

// TestRewriteSources: replicas are tried in order; only what is definite in every
// one of them is a lost or damaged source (C8, C25).
func TestRewriteSources(t *testing.T) {
	slot := func(n uint64) string { return keys.Slot("star", 4, n) }
	for name, c := range map[string]struct {
		change func(r *rig)
		want   core.Verdict
		fault  Fault
	}{
		"one replica gone": {func(r *rig) { r.apply(core.Delete(core.Obj{Store: "std", Key: slot(1)})) }, core.Done, NoFault},
		"both gone": {func(r *rig) {
			r.apply(core.Delete(core.Obj{Store: "std", Key: slot(1)}))
			r.apply(core.Delete(core.Obj{Store: "x1", Key: slot(1)}))
		}, core.Broken, SourceGone},
		"one gone, one down": {func(r *rig) {
			r.apply(core.Delete(core.Obj{Store: "x1", Key: slot(1)}))
			r.w.Bucket("std").Down = true
		}, core.Again, NoFault},
		"one gone, one damaged": {func(r *rig) {
			r.apply(core.Delete(core.Obj{Store: "x1", Key: slot(1)}))
			r.apply(core.Delete(core.Obj{Store: "std", Key: slot(1)}))
			r.apply(core.Create(core.Obj{Store: "std", Key: slot(1)}, core.Bytes(string(make([]byte, 1000))), r.now+1))
		}, core.Broken, SourceDamaged},
		"one gone, one short": {func(r *rig) {
			r.apply(core.Delete(core.Obj{Store: "x1", Key: slot(1)}))
			r.apply(core.Delete(core.Obj{Store: "std", Key: slot(1)}))
			r.apply(core.Create(core.Obj{Store: "std", Key: slot(1)}, nil, r.now+1))
		}, core.Broken, SourceDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.span(0, 0, 20, 1)
			o := r.output()
			c.change(r)
			m, v := &Rewrite{}, core.Working
			a := r.actor("a", func(t core.Turn, e *core.Env) bool {
				v = m.Step(t, e, &o, core.Mark{})
				return v != core.Working
			})
			for !a.over() {
				r.landLawless(a)
			}
			if v != c.want || m.Fault != c.fault || v == core.Broken && m.Source != 1 {
				t.Errorf("%v %v of source %d, want %v %v", v, m.Fault, m.Source, c.want, c.fault)
			}
		})
	}
}

// TestRewriteOtherStore: an intent that names another store than the output's is
// left to the judge.
func TestRewriteOtherStore(t *testing.T) {
	r := newRig(t)
	r.span(0, 0, 20, 1)
	o := r.output()
	derived := o.Key.Key()
	r.put(keys.DueOrphan(keys.ShardOfObject(derived, r.dials.Shards), derived), format.Intent{Store: "x1", Birth: r.now, Generation: 1}.Encode())
	a, _, v := r.rewrite("a", o)
	r.run(inOrder, a)
	if *v != core.Again || a.lands != 4 {
		t.Errorf("%v after %d effects", *v, a.lands)
	}
}

// landLawless lands an effect in a world that was broken on purpose.
func (r *rig) landLawless(a *rigActor) {
	e := a.pending[0]
	a.pending = a.pending[1:]
	r.turn(a, &core.Event{At: e.At, Reply: r.w.Apply(&e.Op, rigWhen(r))})
}
