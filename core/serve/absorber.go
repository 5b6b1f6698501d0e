package serve

import (
	"nova/core"
	"nova/core/protocol"
)

// absorber is the live star's own absorbing: what is committed becomes visible
// when AbsorbEvery has passed, or SettleBatch slots wait.
type absorber struct {
	backlog []protocol.SlotFooter // committed, not absorbed, ascending from the checkpoint; immutable
	ticking bool
	tick    core.Call
	due     bool // the time has come
	again   bool // the last try brought nothing: not before the next tick
	running int  // slots of the batch at hand; 0: none
	absorb  protocol.Absorb
	broken  bool
}

// room reports whether more slots may be put on the pile: four batches.
func (a *absorber) room(e *core.Env) bool { return len(a.backlog) < 4*e.Dials.SettleBatch }

func (a *absorber) add(s protocol.SlotFooter) {
	n := len(a.backlog)
	a.backlog = append(a.backlog[:n:n], s)
}

// forget drops the pile: whoever settles the chain absorbs it.
func (a *absorber) forget() { a.backlog, a.due, a.again = nil, false, false }

// stepTick keeps the time. It runs through every phase of the star: a wait that
// is in flight is never abandoned.
func (a *absorber) stepTick(t core.Turn, e *core.Env) (moved bool) {
	if !a.ticking {
		if len(a.backlog) == 0 || a.due {
			return false
		}
		a.ticking = true
	}
	if _, ok := a.tick.Await(t, core.Wait(t.Now+e.Dials.AbsorbEvery)); !ok {
		return false
	}
	a.ticking, a.due, a.again = false, len(a.backlog) > 0, false
	return true
}

// step absorbs, if it is time or hurry says so, and reports progress. With halt
// no new batch begins. lost is set when the chain has to be looked at.
func (a *absorber) step(t core.Turn, e *core.Env, c *protocol.Chain, hurry, halt bool) (moved, lost bool) {
	if a.running == 0 {
		n := min(len(a.backlog), e.Dials.SettleBatch)
		switch {
		case halt || n == 0 || a.again || a.broken:
			return false, false
		case !a.due && !hurry && n < e.Dials.SettleBatch:
			return false, false
		}
		a.running, a.due = n, false
	}
	b := protocol.Batch{Chain: c, Slots: a.backlog[:a.running]}
	v := a.absorb.Step(t, e, &b)
	if v == core.Working {
		return false, false
	}
	at := a.absorb.Checkpoint
	a.running, a.absorb = 0, protocol.Absorb{}
	for len(a.backlog) > 0 && a.backlog[0].Slot < at {
		a.backlog = a.backlog[1:]
	}
	switch v {
	case core.Again:
		a.again, a.due = true, false // or no tick would ever clear it
		return true, true
	case core.Broken:
		a.broken = true
	}
	return true, false
}

func (a *absorber) idle() bool { return a.running == 0 }
