package duty

import (
	"fmt"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// answered runs a machine and answers its k-th effect with an outcome, as if it
// had not taken effect; it reports whether there was a k-th.
func (p *labProc) answered(k int, o core.Outcome) bool {
	for n := 0; !p.done; n++ {
		i := p.next(first)
		if i < 0 {
			return false
		}
		if n != k {
			p.answer(i)
			continue
		}
		p.deliver(i, core.Reply{Outcome: o})
		p.run()
		p.l.expire(p.env.Process)
		return true
	}
	return false
}

// C5: every duty, every one of its effects, every answer that is not "it is
// done" and not a lie about what stands. No law is broken, and once the answers
// are honest again the end is the same.
func TestEveryAnswerOfEveryDuty(t *testing.T) {
	smallEra := func() *lab {
		l := newLab(t)
		l.mint("s", 1, core.Express)
		l.create(1, 0)
		l.batch("s", 1, false, []append1{{1, 2}}, []append1{{1, 1}})
		l.ripe(core.Express)
		return l
	}
	for name, duty := range map[string]struct {
		world func() *lab
		start func(l *lab) *labProc
		check func(l *lab, at string)
	}{
		"era": {smallEra, (*lab).era, (*lab).settledCheck},
		"era multipart": {func() *lab {
			l := smallEra()
			l.dials.PartMin, l.dials.PartMax = recordSize, 2*recordSize
			return l
		}, (*lab).era, (*lab).settledCheck},
		"gc":        {func() *lab { l, _ := gcWorld(t); return l }, (*lab).gc, (*lab).settledCheck},
		"retention": {func() *lab { l := retentionWorld(t); l.age(1); return l }, (*lab).retention, func(*lab, string) {}},
		"teardown": {func() *lab {
			l, _ := teardownWorld(t)
			l.remove(1)
			return l
		}, func(l *lab) *labProc { return l.start(pass(keys.Teardown, runTeardown)) }, (*lab).settledCheck},
		"trimcheck": {func() *lab {
			l, a, b := trimWorld(t)
			l.complete(a)
			l.complete(b)
			l.put(keys.ChainTrim("s", 1), format.ChainTrim{Rewritten: 2, RewrittenAt: l.now - l.dials.ReadGrace}.Encode())
			l.now = l.dials.GraceEnd(l.now)
			return l
		}, func(l *lab) *labProc { return l.start(pass(keys.TrimCheck, runTrimCheck)) }, func(l *lab, at string) {
			if l.slots() != 0 {
				t.Errorf("%s: %d slots", at, l.slots())
			}
		}},
	} {
		n, world := 0, duty.world()
		for o := core.OK + 1; int(o) < core.Outcomes; o++ {
			if o == core.Absent || o == core.Exists {
				continue
			}
			for k := 0; ; k++ {
				l := world.clone()
				if !duty.start(l).answered(k, o) {
					break
				}
				n++
				l.settleDown()
				duty.check(l, fmt.Sprintf("%s: %s to effect %d", name, o, k))
				if t.Failed() {
					t.FailNow()
				}
			}
		}
		t.Logf("%s: %d answers", name, n)
	}
}

// A store or a metastore that answers nothing but one thing, for an hour: nothing
// is deleted, condemned or resolved on the strength of it, and all goes on when
// it answers again.
func TestAnHourOfOneAnswer(t *testing.T) {
	for o := core.OK + 1; int(o) < core.Outcomes; o++ {
		if o == core.Absent || o == core.Exists {
			continue
		}
		for _, store := range []bool{true, false} {
			if store && (o == core.Damaged || o == core.OutOfRange) {
				continue // definite: markers are parked
			}
			l := eraWorld(t)
			l.dials.PollEvery = 300_000
			l.ripe(core.Express)
			l.remove(2)
			p := l.auditor(0)
			l.deny = func(op *core.Op) (core.Outcome, bool) {
				return o, store && op.IsStore() || !store && op.IsMeta()
			}
			objs := len(l.objs)
			l.rest(l.now+3_600_000, p)
			if len(l.objs) != objs {
				t.Errorf("%s, store %v: %d objects of %d", o, store, len(l.objs), objs)
			}
			if n := len(l.keys("park/")); n != 0 {
				t.Errorf("%s, store %v: parked %v", o, store, l.keys("park/"))
			}
			l.deny = nil
			l.rest(l.now+24*3_600_000, p)
			l.expire(p.env.Process)
			l.settledCheck(fmt.Sprintf("%s, store %v", o, store))
		}
	}
}
