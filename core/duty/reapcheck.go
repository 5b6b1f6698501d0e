package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
	"nova/core/protocol"
)

// ReapCheck judges one settled object and acts on the verdict: it deletes the
// object once every span is dead and the read grace has provably passed, hands
// it to GC when enough of it is dead, or stands it down (specification, duties:
// Reap-check; docs/protocols.md, section 6).
//
// The reap is two-phase: an all-dead probe under an unconfirmed marker only arms
// a confirmed one, a read grace out. When the metastore has no space left for
// that, the machine remembers the observation itself, waits the grace out and
// probes again, while the unconfirmed marker stands: what follows only deletes.
type ReapCheck struct {
	step   reapStep
	call   core.Call
	probe  protocol.Probe
	asked  core.Ms // when its confirmed marker was sent
	seen   core.Ms // when the object was first seen to be all dead, no space to write it down; 0: not
	reason reapReason
}

type reapStep uint8

const (
	reapProbe reapStep = iota
	reapJudge
	reapConfirm
	reapWait
	reapGC
	reapDelete
	reapResolve
)

type reapReason uint8

const (
	reapMarker reapReason = iota
	reapCorrupted
)

// Reason says why the duty ended Broken, for the operator.
func (d *ReapCheck) Reason() string {
	if d.reason == reapCorrupted {
		return "the object's footer or a row that may name it does not decode: it is not touched"
	}
	return "the marker names no settled object, or does not decode"
}

// Step runs the duty for a marker of due/reap.
func (d *ReapCheck) Step(t core.Turn, e *core.Env, due *Due) core.Verdict {
	m, err := format.DecodeReapMark(due.Row.Val)
	if err != nil {
		return core.Broken
	}
	o, err := keys.ParseSettled(due.Object)
	if err != nil || !o.HasInc {
		return core.Broken
	}
	obj := core.Obj{Store: e.Stores.Home(m.Class), Key: due.Object}
	for {
		switch d.step {
		case reapProbe: // 1. The probe: one ranged footer read, then one ref lookup a chunk.
			if !d.probe.Step(t, e, obj, &o, m.Footer) {
				return core.Working
			}
			d.step = reapJudge
		case reapJudge: // 2. Act on the verdict.
			switch found := d.probe.Found; found {
			case plan.Stand, plan.Gone:
				d.step = reapResolve
			case plan.GCWorthy:
				d.step = reapGC
			case plan.Reapable:
				switch {
				case m.Confirmed && t.Now < due.At: // a clock that was ahead took it for ripe, and is right again
					return core.Again
				case m.Confirmed:
					d.step = reapDelete
				case d.seen != 0 && t.Now >= d.seen+e.Dials.ReadGrace:
					d.step = reapDelete
				case d.seen != 0:
					d.step = reapWait
				default:
					d.step = reapConfirm
				}
			case plan.Corrupted:
				d.reason = reapCorrupted
				return core.Broken
			default:
				return core.Again
			}
		case reapConfirm: // 3. All dead, unconfirmed: the confirmed marker, one read grace out.
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				d.asked = t.Now
				c := format.ReapMark{Class: m.Class, Footer: m.Footer, Confirmed: true}
				return due.Resolve(core.Put(keys.DueReap(due.Shard, e.Dials.GraceEnd(t.Now), due.Object), c.Encode()))
			})
			if !ok {
				return core.Working
			}
			switch r.Outcome {
			case core.OK:
				t.Note(core.NoteReapConfirmArmed, 1)
				return core.Done
			case core.NoSpace:
				// By the clock by which it was sent, and let out: as the answer comes it may be hours
				// behind, and right again before the wait has begun (finding F13).
				d.seen, d.step = d.asked, reapWait
			default:
				return core.Again
			}
		case reapWait: // 3. No space to write that down: hold it, and probe again when the grace is over.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Wait(e.Dials.GraceEnd(d.seen)) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK || t.Now < d.seen { // a clock that went back measures no grace
				return core.Again
			}
			if t.Now >= d.seen+e.Dials.ReadGrace {
				d.probe, d.step = protocol.Probe{}, reapProbe
			}
		case reapGC: // 4. Enough is dead: the live spans should move out.
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				g := format.ReapMark{Class: m.Class, Footer: m.Footer, Dead: d.probe.Dead}
				return due.Resolve(core.Put(keys.DueGC(due.Shard, d.probe.Dead, due.Object), g.Encode()))
			})
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			t.Note(core.NoteReapGCArmed, 1)
			return core.Done
		case reapDelete: // 5. Only a confirmed all-dead probe deletes.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Delete(obj) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			t.NoteOf(core.NoteReapDeleted, 1, due.Object)
			d.step = reapResolve
		case reapResolve: // 6. The marker goes after its delete has landed, as it was read.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return due.Resolve() })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			return core.Done
		}
	}
}
