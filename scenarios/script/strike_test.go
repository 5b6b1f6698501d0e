package script

import (
	"testing"

	"nova/core"
)

// way is how an effect is struck.
type way struct {
	name string
	rule rule
	all  bool // whatever else is in flight lands too
	fits func(op *core.Op) bool
}

func every(*core.Op) bool { return true }

// spends reports whether a metastore without space refuses an operation.
func spends(op *core.Op) bool {
	for i := range op.Txn {
		if op.Txn[i].Verb == core.VPut || op.Txn[i].Verb == core.VPutLeased {
			return true
		}
	}
	return false
}

// cuts are the ways in which a process ends at an effect.
var cuts = []way{
	{name: "before", rule: rule{act: cutBefore}, fits: every},                             // it never lands
	{name: "silent", rule: rule{act: cutSilent}, fits: every},                             // it lands, and its reply is never taken
	{name: "after", rule: rule{act: cutAfter}, fits: every},                               // its reply is taken, and nothing of what that brings lands
	{name: "landing", rule: rule{act: cutSilent}, all: true, fits: (*core.Op).Mutates},    // it lands, and so does whatever else is in flight
	{name: "late", rule: rule{act: cutLate, wait: 30_000}, fits: (*core.Op).Mutates},      // it lands when others have been at work
	{name: "held", rule: rule{act: cutLate, wait: requestLife}, fits: (*core.Op).Mutates}, // it would land as late as any request may
}

// answers are the ways in which an effect has no answer, or a bad one.
var answers = []way{
	{name: "dropped", rule: rule{act: drop}, fits: every},                                  // unknown: it never lands
	{name: "lost", rule: rule{act: lose, outcome: core.Unknown}, fits: (*core.Op).Mutates}, // unknown: it has landed
	{name: "late", rule: rule{act: landLate, wait: 30_000}, fits: (*core.Op).Mutates},
	{name: "held", rule: rule{act: landLate, wait: requestLife}, fits: (*core.Op).Mutates},
	{name: "refused", rule: rule{act: answer, outcome: core.Refused}, fits: every},
	{name: "no space", rule: rule{act: answer, outcome: core.NoSpace}, fits: spends},
}

const requestLife = 4*60_000 - 1

// play is one run of a stage's process, effect by effect.
type play struct {
	s   *Script
	d   *stage
	p   *proc
	fed int
}

func (d *stage) play(t *testing.T, s *Script, name string) *play {
	t.Helper()
	var p *proc
	var err error
	if d.begin != nil {
		p, err = d.begin(s, name)
	} else {
		p, err = s.pass1(d.queue, name, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &play{s: s, d: d, p: p}
}

// next is the next effect on a store or the metastore, nil when the process is
// through.
func (y *play) next() *pending {
	for !y.p.ended && y.s.err == nil {
		e := y.p.next()
		switch {
		case e == nil && y.fed == len(y.d.feed):
			return nil
		case e == nil:
			if y.fed++; y.fed > 0 {
				if err := y.d.feed[y.fed-1](y.s, y.p); err != nil {
					y.s.fail("%w", err)
				}
			}
		case e.op.IsStore() || e.op.IsMeta():
			return e
		default:
			y.s.deliver(e, y.s.land(e, ""))
		}
	}
	return nil
}

// to plays to the k-th effect that counts, and leaves it in flight; nil: there is
// none.
func (y *play) to(k int, counts func(op *core.Op) bool) *pending {
	for n := 0; ; n++ {
		e := y.next()
		if e == nil || n > runaway {
			return nil
		}
		if counts(&e.op) {
			if k == 0 {
				return e
			}
			k--
		}
		y.s.deliver(e, y.s.land(e, ""))
	}
}

// strike strikes an effect.
func (y *play) strike(e *pending, w *way) {
	others := y.p.pend
	y.s.hit(e, &w.rule)
	if w.all {
		for _, x := range others {
			if x != e && x.op.Mutates() {
				y.s.land(x, "")
			}
		}
	}
}

// through plays the rest.
func (y *play) through() {
	y.to(1<<30, every)
}
