package protocol

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
)

// probed is a world with one settled object of four chunks, and its entry.
func probed(t *testing.T) (*rig, keys.Settled, format.Entry) {
	r := newRig(t)
	r.span(0, 0, 300, 300, 10, 10)
	r.settle()
	r.lawless = true
	e := r.held()[0].Entries[0]
	return r, plan.ObjectOf("b", rigStream, &e), e
}

func (r *rig) probe(o keys.Settled, w format.Window) (*Probe, *rigActor) {
	p := &Probe{}
	a := r.actor("judge", func(t core.Turn, e *core.Env) bool {
		return p.Step(t, e, core.Obj{Store: "std", Key: o.Key()}, &o, w)
	})
	r.run(inOrder, a)
	return p, a
}

func (r *rig) setEntry(change func(e *format.Entry)) {
	h := r.held()[0]
	es := append([]format.Entry(nil), h.Entries...)
	change(&es[0])
	h.Entries = es
	r.put(h.Key, h.Row.Encode())
}

func TestProbe(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *rig, o keys.Settled)
		want   plan.Finding
		live   int64
		dead   int64
		lands  int // reads of the probe by window: footer, descriptor, chunks
	}{
		"live":    {func(*rig, keys.Settled) {}, plan.Stand, 620, 0, 6},
		"no rows": {func(r *rig, _ keys.Settled) { r.apply(core.Txn(core.Del(r.held()[0].Key))) }, plan.Reapable, 0, 620, 6},
		"partly dead": {func(r *rig, _ keys.Settled) {
			r.setEntry(func(e *format.Entry) { e.LiveFrom = 3 })
		}, plan.Stand, 320, 300, 6},
		"mostly dead": {func(r *rig, _ keys.Settled) {
			r.setEntry(func(e *format.Entry) { e.LiveFrom = 6 })
		}, plan.GCWorthy, 20, 600, 6},
		"live from within a chunk": {func(r *rig, _ keys.Settled) {
			r.setEntry(func(e *format.Entry) { e.LiveFrom = 4 })
		}, plan.Stand, 320, 300, 6},
		"another revision": {func(r *rig, _ keys.Settled) {
			r.setEntry(func(e *format.Entry) { e.Revision++ })
		}, plan.Reapable, 0, 620, 6},
		"another incarnation": {func(r *rig, _ keys.Settled) {
			r.setEntry(func(e *format.Entry) { e.Created++ })
		}, plan.Reapable, 0, 620, 6},
		"tombstone": {func(r *rig, _ keys.Settled) {
			r.put(keys.Stream(rigStream), format.Stream{Bucket: "b", Name: "n", Deleted: true}.Encode())
		}, plan.Reapable, 0, 620, 2},
		"released": {func(r *rig, _ keys.Settled) { r.apply(core.Txn(core.Del(keys.Stream(rigStream)))) }, plan.Reapable, 0, 620, 2},
		"gone":     {func(r *rig, o keys.Settled) { r.apply(core.Delete(core.Obj{Store: "std", Key: o.Key()})) }, plan.Gone, 0, 0, 1},
		"a row that does not decode": {func(r *rig, _ keys.Settled) {
			r.put(r.held()[0].Key, "?")
		}, plan.Corrupted, 0, 0, 6},
		"a descriptor that does not decode": {func(r *rig, _ keys.Settled) { r.put(keys.Stream(rigStream), "?") }, plan.Corrupted, 0, 0, 2},
	} {
		for _, byTail := range []bool{false, true} {
			r, o, e := probed(t)
			c.change(r, o)
			w := e.Footer
			if byTail {
				w = format.Window{}
			}
			p, a := r.probe(o, w)
			if p.Found != c.want || p.Live != c.live || p.Dead != c.dead {
				t.Errorf("%s: %v, %d live, %d dead; want %v, %d, %d", name, p.Found, p.Live, p.Dead, c.want, c.live, c.dead)
			}
			if a.lands != c.lands {
				t.Errorf("%s: %d reads, want %d", name, a.lands, c.lands)
			}
			if c.want != plan.Gone && c.want != plan.Corrupted && p.Window != e.Footer {
				t.Errorf("%s: window %+v", name, p.Window)
			}
		}
	}
}

// TestProbeTorn is C41: what is no object of ours is judged by its address, and
// never retried for ever.
func TestProbeTorn(t *testing.T) {
	for name, stands := range map[string]string{"empty": "", "short": "x", "a fence": format.Fence("s", 1, 2), "noise": string(make([]byte, 300))} {
		for _, named := range []bool{false, true} {
			r, o, e := probed(t)
			obj := core.Obj{Store: "std", Key: o.Key()}
			r.apply(core.Delete(obj))
			r.apply(core.Create(obj, core.Bytes(stands), r.now+1))
			want := plan.Corrupted
			if !named {
				r.setEntry(func(e *format.Entry) { e.Revision++ })
				want = plan.Torn
			}
			if p, _ := r.probe(o, format.Window{}); p.Found != want {
				t.Errorf("%s, named %v, by tail: %v, want %v", name, named, p.Found, want)
			}
			if p, _ := r.probe(o, e.Footer); p.Found != plan.Corrupted {
				t.Errorf("%s, named %v, by window: %v", name, named, p.Found)
			}
		}
	}
}

// TestProbeAnswers is C4 and C5: whatever a read is answered, nothing is dead or
// gone on the strength of it unless the answer was definite.
func TestProbeAnswers(t *testing.T) {
	for _, byTail := range []bool{false, true} {
		for o := core.Absent; int(o) < core.Outcomes; o++ {
			for k := 0; ; k++ {
				r, obj, e := probed(t)
				w := e.Footer
				if byTail {
					w = format.Window{}
				}
				p, struck := &Probe{}, false
				a := r.actor("judge", func(t core.Turn, e *core.Env) bool {
					return p.Step(t, e, core.Obj{Store: "std", Key: obj.Key()}, &obj, w)
				})
				var kind core.Kind
				for n := 0; !a.over(); n++ {
					x := a.pending[0]
					a.pending = a.pending[1:]
					rep := r.w.Apply(&x.Op, rigWhen(r))
					if n == k {
						struck, kind, rep = true, x.Op.Kind, core.Reply{Outcome: o}
					}
					r.turn(a, &core.Event{At: x.At, Reply: rep})
				}
				if !struck {
					break
				}
				want := plan.Failed
				switch {
				case kind == core.KGet && o == core.Absent:
					want = plan.Reapable
				case (kind == core.KReadRange || kind == core.KReadTail) && o == core.Absent:
					want = plan.Gone
				case (kind == core.KReadRange || kind == core.KReadTail) && (o == core.OutOfRange || o == core.Damaged):
					want = plan.Corrupted
				}
				if p.Found != want {
					t.Errorf("%v to %v (effect %d): %v, want %v", o, kind, k, p.Found, want)
				}
			}
		}
	}
}

// TestProbeLargeFooter reads a footer that does not fit into a tail.
func TestProbeLargeFooter(t *testing.T) {
	r := newRig(t)
	r.lawless = true
	r.dials.OutputCap = 1 << 20
	end := uint64(0)
	for i := range uint64(40) {
		sizes := make([]int64, 40)
		end = r.span(end, 100*i, sizes...)
	}
	r.settle()
	e := r.held()[0].Entries[0]
	if p, _ := r.probe(plan.ObjectOf("b", rigStream, &e), format.Window{}); p.Found != plan.Stand || p.Spans != 1600 {
		t.Errorf("%v, %d spans", p.Found, p.Spans)
	}
}

// R40: the lookups run ProbeWidth abreast, which is 128 by the specification, and
// no more; one for each chunk.
func TestProbeLooksUpAbreast(t *testing.T) {
	r := newRig(t)
	r.lawless = true
	r.dials.OutputCap, r.dials.ProbeWidth = 1<<20, core.Spec().ProbeWidth
	end := uint64(0)
	for i := range uint64(10) {
		end = r.span(end, 100*i, make([]int64, 40)...)
	}
	r.settle()
	e := r.held()[0].Entries[0]
	o := plan.ObjectOf("b", rigStream, &e)
	p, window := &Probe{}, e.Footer
	a := r.actor("judge", func(t core.Turn, e *core.Env) bool {
		return p.Step(t, e, core.Obj{Store: "std", Key: o.Key()}, &o, window)
	})
	most, reads := 0, 0
	for ; !a.over(); reads++ {
		most = max(most, len(a.pending))
		r.landLawless(a)
	}
	if most != 128 || reads != 2+400 || p.Found != plan.Stand {
		t.Errorf("%d abreast, %d reads of 400 chunks, %v", most, reads, p.Found)
	}
}
