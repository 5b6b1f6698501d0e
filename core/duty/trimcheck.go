package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// TrimCheck deletes the slots of one chain whose rewrite is at least one read
// grace old, and takes note of those that have been rewritten since
// (specification, duties: Trim-check; docs/protocols.md, section 2). Slots are
// never probed: a standing batch marker says that the rewrite of its slots is
// owed, so a slot's death is cursor arithmetic.
//
// Two passes bring a slot down (finding F1): one sees that nothing is owed below
// a point, and records it with the time; one that runs a grace later deletes.
// The cursor rises again only when all below it is gone. Were it raised by every
// pass, a busy chain would renew the grace of everything for ever.
type TrimCheck struct {
	step    trimStep
	call    core.Call
	chain   format.ChainConst
	cursors core.Mark        // the trim row, as it was read or last written
	trim    format.ChainTrim // its value
	covered uint64           // the checkpoint
	target  uint64
	deletes core.Group[core.Call]
	kept    bool // a slot of the page may still stand
	why     string
}

type trimStep uint8

const (
	trimConst trimStep = iota
	trimHead
	trimCursors
	trimJudge
	trimDelete
	trimRaise
	trimMarkers
	trimAdvance
	trimAgain
	trimResolve
)

// Reason says why the duty ended Broken, for the operator.
func (d *TrimCheck) Reason() string { return d.why }

// Step runs the duty for a marker of due/trimcheck.
func (d *TrimCheck) Step(t core.Turn, e *core.Env, due *Due) core.Verdict {
	for {
		switch d.step {
		case trimConst: // 1. The chain's constants; a reaped epoch resolves the marker.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.ChainConst(due.Star, due.Epoch)) })
			if !ok {
				return core.Working
			}
			switch r.Outcome {
			case core.OK:
			case core.Absent:
				d.step = trimResolve
				continue
			default:
				return core.Again
			}
			c, err := format.DecodeChainConst(r.Val)
			if err != nil {
				d.why = undecoded(keys.ChainConst(due.Star, due.Epoch), err)
				return core.Broken
			}
			d.chain, d.step = c, trimHead
		case trimHead: // The checkpoint first, the markers afterwards: a slot below it has had its marker armed.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.ChainHead(due.Star, due.Epoch)) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			h, err := format.DecodeChainHead(r.Val)
			if err != nil {
				d.why = undecoded(keys.ChainHead(due.Star, due.Epoch), err)
				return core.Broken
			}
			d.covered, d.step = h.Checkpoint, trimCursors
		case trimCursors:
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.ChainTrim(due.Star, due.Epoch)) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			c, err := format.DecodeChainTrim(r.Val)
			if err != nil {
				d.why = undecoded(keys.ChainTrim(due.Star, due.Epoch), err)
				return core.Broken
			}
			d.cursors = core.Mark{Key: keys.ChainTrim(due.Star, due.Epoch), Rev: r.Rev}
			d.trim, d.step = c, trimJudge
		case trimJudge: // Which of the two passes this is.
			switch {
			case d.trim.Trimmed >= d.trim.Rewritten:
				d.step = trimMarkers
			case t.Now >= d.trim.RewrittenAt+e.Dials.ReadGrace:
				d.step = trimDelete
			case d.trim.RewrittenAt > t.Now+e.Dials.ReadGrace: // dated by a clock that was wrong: a whole grace from now
				d.target, d.step = d.trim.Rewritten, trimAdvance
			default:
				d.step = trimAgain
			}
		case trimDelete: // 3. What was seen to be rewritten a grace ago goes from every store of the set.
			n, stores := d.page(e), len(d.chain.Stores)
			if !d.deletes.Run(t, n*stores, e.Dials.DeleteBatch, func(i int, c *core.Call, t core.Turn) bool {
				if !c.Sent() && t.Now < d.trim.RewrittenAt+e.Dials.ReadGrace { // the clock that took the grace for over is right again
					d.kept = true
					return true
				}
				r, ok := c.AwaitFunc(t, func() core.Op {
					slot := d.trim.Trimmed + uint64(i/stores)
					return core.Delete(core.Obj{Store: d.chain.Stores[i%stores], Key: keys.Slot(due.Star, due.Epoch, slot)})
				})
				d.kept = d.kept || ok && r.Outcome != core.OK
				return ok
			}) {
				return core.Working
			}
			d.deletes = core.Group[core.Call]{}
			if d.kept {
				return core.Again
			}
			d.step = trimRaise
		case trimRaise:
			n := d.page(e)
			next := d.trim
			next.Trimmed += uint64(n)
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Txn(core.If(d.cursors), core.Put(d.cursors.Key, next.Encode())) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again // a race was lost, or nothing is known: deleting again is harmless
			}
			t.Note(core.NoteSlotsTrimmed, int64(n*len(d.chain.Stores)))
			d.trim, d.cursors.Rev = next, r.Rev
			if d.step = trimMarkers; next.Trimmed < next.Rewritten {
				d.step = trimDelete
			}
		case trimMarkers: // 2. The earliest standing batch marker, parked ones too, or the checkpoint.
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				from, end := keys.DenormChain(due.Shard, due.Star, due.Epoch)
				return core.Scan(from, end, 1)
			})
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			d.target = d.covered
			if len(r.Rows) > 0 {
				k, err := keys.ParseDue(r.Rows[0].Key)
				if err != nil {
					d.why = err.Error()
					return core.Broken
				}
				d.target = min(d.target, k.Slot)
			}
			if d.step = trimResolve; d.target > d.trim.Rewritten {
				d.step = trimAdvance
			}
		case trimAdvance: // Seen to be rewritten now: it goes one grace later, and this marker with it.
			at := e.Dials.GraceEnd(t.Now)
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				next := d.trim
				next.Rewritten, next.RewrittenAt = d.target, t.Now
				return due.Resolve(core.If(d.cursors), core.Put(d.cursors.Key, next.Encode()),
					core.Put(keys.DueTrimCheck(due.Shard, at, due.Star, due.Epoch), format.TrimMark{}.Encode()))
			})
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			t.Note(core.NoteTrimAdvanced, 1)
			return core.Done
		case trimAgain: // The grace is not over: come back when it is.
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				at := d.trim.RewrittenAt + e.Dials.ReadGrace
				return due.Resolve(core.Put(keys.DueTrimCheck(due.Shard, at, due.Star, due.Epoch), format.TrimMark{}.Encode()))
			})
			return settledBy(r, ok)
		case trimResolve: // 4. Resolve.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return due.Resolve() })
			return settledBy(r, ok)
		}
	}
}

// page is how many slots one page of deletes has.
func (d *TrimCheck) page(e *core.Env) int {
	return int(min(d.trim.Rewritten-d.trim.Trimmed, uint64(max(e.Dials.DeleteBatch/len(d.chain.Stores), 1))))
}

// settledBy is the verdict of a duty whose last transaction resolves its marker.
func settledBy(r *core.Reply, ok bool) core.Verdict {
	switch {
	case !ok:
		return core.Working
	case r.Outcome == core.OK:
		return core.Done
	}
	return core.Again
}
