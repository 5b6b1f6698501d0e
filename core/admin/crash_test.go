package admin

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// cut is how a run is cut at its k-th effect.
type cut uint8

const (
	cutBefore  cut = iota // the process dies, and the effect with it
	cutAfter              // the effect lands, then the process dies
	cutLate               // the process dies, and the effect lands a while later
	lostReply             // the effect lands, and the process is told that nothing is known
	lostEffect            // the effect never lands, and the process is told that nothing is known

	cuts
)

func (c cut) String() string {
	return [...]string{"cut before", "cut after", "cut, landing late", "reply lost", "effect lost"}[c]
}

// cutAt runs the operator's k-th effect into a cut; it reports whether there was a
// k-th. What landed late is left in late.
func (r *rig) cutAt(p *rigProc, k int, how cut) (struck bool, late *core.Op) {
	r.until("the cut", func() bool {
		q, i, _, ok := r.next()
		if p.done || !ok || q != p || p.effects != k {
			return p.done
		}
		struck = true
		op := p.pending[i].Op
		if how == cutAfter || how == lostReply {
			p.do(&op)
		}
		switch {
		case how == cutLate && op.Mutates():
			late = &op
			fallthrough
		case how < lostReply:
			p.leave()
		default:
			p.deliver(i, core.Reply{Outcome: core.Unknown})
		}
		return true
	})
	return struck, late
}

// The operator is cut at every effect, in every way; another run goes on, and
// what it leaves is always the same.
func TestConvergesAfterEveryCut(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand clusters")
	}
	base := newRig(t)
	a, b := drained(base)
	// Something in the prefix that no duty comes for: the sweeps have work to do.
	ghost := func(r *rig) {
		r.object(core.Obj{Store: "std-b", Key: keys.Slot("s1", 9, 0)}, format.Fence("s1", 9, 0))
		r.object(core.Obj{Store: "std-a", Key: keys.Slot("s1", 1, 0)}, format.Fence("s1", 1, 0))
	}
	// Of a read that is cut it does not matter whether it landed.
	mutates := map[int]bool{}
	n := 0
	for how := range cuts {
		for k := 0; ; k++ {
			if read := !mutates[k]; how != cutBefore && read && how != lostReply && k < len(mutates) {
				continue
			}
			r := base.clone()
			reaped := false
			r.seen = func(*core.Op) {
				if _, ok := r.row(keys.ChainConst("s1", 1)); !ok && !reaped {
					reaped = true
					ghost(r)
				}
			}
			r.auditor()
			p, d, v := r.operator(Order{Star: "s1", Wait: true})
			if how == cutBefore {
				r.deny = func(q *rigProc, op *core.Op) (core.Outcome, bool) {
					if q == p {
						mutates[p.effects] = op.Mutates()
					}
					return 0, false
				}
			}
			struck, late := r.cutAt(p, k, how)
			if !struck {
				break
			}
			n++
			if late != nil {
				at := r.now + r.dials.RequestLife/2
				r.start("late", func(lp *rigProc) func(core.Turn) bool {
					var wait, land core.Call
					waited := false
					return func(t core.Turn) bool {
						if !waited {
							if _, ok := wait.Await(t, core.Wait(at)); !ok {
								return false
							}
							waited = true
						}
						_, ok := land.Await(t, *late)
						return ok
					}
				})
			}
			if p.done {
				d, *v = r.decommission(Order{Star: "s1", Wait: true})
			} else {
				r.until("the end of the decommission", func() bool { return p.done })
			}
			if late != nil {
				r.rest(r.dials.RequestLife)
			}
			r.finished(d, *v, a, b)
			if t.Failed() {
				t.Fatalf("%s effect %d", how, k)
			}
		}
	}
	if n < 300 {
		t.Errorf("only %d cuts", n)
	}
	t.Logf("%d cuts", n)
}

// C5: every kind of answer to any one effect. None of them may let the record, the
// reap or a sweep come too early; the next run goes on.
func TestUnderEveryAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand clusters")
	}
	base := newRig(t)
	a, b := drained(base)
	for _, o := range []core.Outcome{core.Unknown, core.Refused, core.NoSpace, core.Conflict, core.Absent} {
		for k := 0; ; k++ {
			r := base.clone()
			n := 0
			r.auditor()
			p, d, v := r.operator(Order{Star: "s1", Wait: true})
			r.deny = func(q *rigProc, op *core.Op) (core.Outcome, bool) {
				if q != p || op.Kind == core.KWait || !possible(o, op) {
					return 0, false
				}
				n++
				return o, n == k+1
			}
			r.until(fmt.Sprintf("%s at %d: the end", o, k), func() bool { return p.done })
			if n <= k {
				break
			}
			r.finished(d, *v, a, b)
		}
	}
}

// possible reports whether an operation may have an answer: a lie is no fault.
func possible(o core.Outcome, op *core.Op) bool {
	switch o {
	case core.NoSpace:
		if op.Kind != core.KTxn {
			return false
		}
		for i := range op.Txn {
			if v := op.Txn[i].Verb; v == core.VPut || v == core.VPutLeased {
				return true
			}
		}
		return false
	case core.Conflict:
		return op.Kind == core.KTxn
	case core.Absent:
		return op.Kind == core.KDelete
	}
	return true
}

// Two operators, two auditors, and a star that tries to come back, in many orders.
func TestTwoOperators(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 5
	}
	base := newRig(t)
	a, b := drained(base)
	for seed := range uint64(seeds) {
		r := base.clone()
		r.rng = rand.New(rand.NewPCG(seed, 1))
		r.auditor()
		r.auditor()
		p, d, v := r.operator(Order{Star: "s1", Wait: true})
		q, d2, v2 := r.operator(Order{Star: "s1", Wait: true, CoolDown: seed%2 == 1, Force: seed%3 == 2})
		if seed%2 == 0 {
			r.until("the record", func() bool { _, ok := r.row(keys.Gone("s1")); return ok })
			r.star("s1")
		}
		r.until(fmt.Sprintf("seed %d: the end", seed), func() bool { return p.done && q.done })
		r.finished(d, *v, a, b)
		r.finished(d2, *v2, a, b)
	}
}
