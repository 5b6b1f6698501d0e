package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/protocol"
)

// Settle drives a chain that nothing demands to settled (specification, duties:
// Settle; docs/protocols.md, section 2). The one epoch that a live writer could
// still be appending to is deferred for as long as its star is alive; every other
// is settled at once.
//
// Whether the star is alive decides only when, never whether it is safe: a live
// star whose chain is cut gives its epoch up.
type Settle struct {
	step   settleStep
	call   core.Call
	class  core.Class
	settle protocol.Settlement
	again  core.Ms // when the marker comes back
	why    string
}

type settleStep uint8

const (
	settleConst settleStep = iota
	settleHead
	settleMint
	settleStar
	settleRun
	settleRearm
	settleResolve
)

// Step runs the duty for a marker of due/settle.
func (d *Settle) Step(t core.Turn, e *core.Env, due *Due) core.Verdict {
	for {
		switch d.step {
		case settleConst: // 1. Judge the epoch. A missing chain record resolves the marker.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.ChainConst(due.Star, due.Epoch)) })
			if !ok {
				return core.Working
			}
			switch r.Outcome {
			case core.OK:
			case core.Absent:
				d.step = settleResolve
				continue
			default:
				return core.Again
			}
			c, err := format.DecodeChainConst(r.Val)
			if err != nil {
				d.why = err.Error()
				return core.Broken
			}
			d.class, d.step = c.Class, settleHead
		case settleHead:
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.ChainHead(due.Star, due.Epoch)) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			h, err := format.DecodeChainHead(r.Val)
			if err != nil {
				d.why = err.Error()
				return core.Broken
			}
			switch h.State {
			case format.ChainSettled:
				d.step = settleResolve
			case format.ChainOpen:
				d.step = settleMint
			default: // cut already: nobody appends to it
				d.step = settleRun
			}
		case settleMint: // An epoch below its class's mint head is superseded, whatever the star does.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Mint(due.Star, d.class)) })
			if !ok {
				return core.Working
			}
			if _, definite := r.Found(); !definite {
				return core.Again
			}
			d.step = settleStar
			if r.Outcome == core.OK {
				newest, err := format.DecodeNumber(r.Val)
				if err != nil {
					d.why = err.Error()
					return core.Broken
				}
				if due.Epoch < newest {
					t.Note(core.NoteSettleSuperseded, 1)
					d.step = settleRun
				}
			}
		case settleStar: // The class head: is its writer alive?
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Star(due.Star)) })
			if !ok {
				return core.Working
			}
			alive, definite := r.Found()
			switch {
			case !definite:
				return core.Again
			case alive:
				t.Note(core.NoteSettleDeferred, 1)
				d.again, d.step = t.Now+e.Dials.LiveHeadProbe, settleRearm
			default:
				t.Note(core.NoteSettleDeadStar, 1)
				d.step = settleRun
			}
		case settleRun: // 2. Settle.
			v := d.settle.Step(t, e, due.Star, due.Epoch, true)
			switch v {
			case core.Working:
				return core.Working
			case core.Done:
			default:
				d.why = d.settle.Why
				return v
			}
			d.step = settleResolve
			if d.settle.State == format.ChainSwept { // its garbage goes once more, when nothing can land any more
				d.again, d.step = d.settle.Purge, settleRearm
			}
			d.settle = protocol.Settlement{}
		case settleRearm: // In one transaction: a cut must not leave two clocks (gap 22).
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				at := max(d.again, t.Now)
				return due.Resolve(core.Put(keys.DueSettle(due.Shard, at, due.Star, due.Epoch), format.SettleMark{}.Encode()))
			})
			return settledBy(r, ok)
		case settleResolve: // 3. Resolve.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return due.Resolve() })
			return settledBy(r, ok)
		}
	}
}

// Reason is what an operator needs to know about a marker that is parked.
func (d *Settle) Reason() string { return d.why }
