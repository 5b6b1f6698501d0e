package duty

import (
	"testing"

	"nova/core"
	"nova/core/keys"
)

type labAuditor struct {
	a Auditor
	e *core.Env
}

func (x *labAuditor) Step(t core.Turn) bool { return x.a.Step(t, x.e) }

func (l *lab) auditor(qs QueueSet) *labProc {
	return l.start(func(e *core.Env) core.Machine { return &labAuditor{Auditor{Queues: qs}, e} })
}

// rest lets processes run until a time: everything that is pending first, then
// the clock moves to the first wait.
func (l *lab) rest(until core.Ms, ps ...*labProc) {
	l.t.Helper()
	for l.now < until {
		next := until
		for _, p := range ps {
			p.run()
			for i := range p.pending {
				next = min(next, p.pending[i].Op.Until)
			}
		}
		l.now = max(l.now, next)
		for _, p := range ps {
			for i := 0; i < len(p.pending); i++ {
				if p.pending[i].Op.Kind == core.KWait && p.pending[i].Op.Until <= l.now {
					p.deliver(i, core.Reply{})
					i = -1
				}
			}
		}
	}
}

// The whole life: eras, trims, teardown, reaps and orphans under two auditors that
// share the shards; then nothing writes any more.
func TestAuditorsToTheFixedPoint(t *testing.T) {
	l := eraWorld(t)
	l.dials.PollEvery = 30_000
	l.create(9, 0)
	l.batch("s", 1, true, []append1{{9, 2}, {1, 1}})
	ps := []*labProc{l.auditor(0), l.auditor(0)}
	begin := l.now
	l.rest(begin+600_000, ps...)
	if n := len(l.keys("auditor/")); n != 2 {
		t.Errorf("%d auditors are registered", n)
	}
	l.remove(9)
	l.rest(begin+12*3_600_000, ps...)
	if left := l.of(9); len(left) != 0 {
		t.Errorf("left of the deleted stream: %v", left)
	}
	l.settledCheck("end")
	wrote := l.wrote
	l.rest(l.now+3_600_000, ps...)
	if l.wrote != wrote {
		t.Errorf("%d writes at the fixed point", l.wrote-wrote)
	}
}

// A queue that an auditor does not run is left alone.
func TestAuditorRunsItsQueuesOnly(t *testing.T) {
	l := eraWorld(t)
	l.ripe(core.Express)
	p := l.auditor(Only(keys.TrimCheck, keys.Reap))
	l.rest(l.now+3_600_000, p)
	if n := len(l.keys("due/denorm")); n != 3 {
		t.Errorf("%d of 3 batch markers stand", n)
	}
}

// An auditor whose session is lost registers again; one that cannot register
// works all the same.
func TestAuditorRegisters(t *testing.T) {
	l := newLab(t)
	p := l.auditor(Only(keys.TrimCheck))
	p.run()
	l.expire(p.env.Process)
	l.rest(l.now+2*l.dials.SessionTTL, p)
	if n := len(l.keys("auditor/")); n != 1 {
		t.Errorf("%d registrations", n)
	}
	l, a, b := trimWorld(t)
	l.complete(a)
	l.complete(b)
	l.deny = func(op *core.Op) (core.Outcome, bool) {
		return core.NoSpace, op.Kind == core.KTxn && op.Txn[len(op.Txn)-1].Verb == core.VPutLeased
	}
	l.rest(l.now+3_600_000, l.auditor(0))
	if l.slots() != 0 {
		t.Errorf("%d slots are left", l.slots())
	}
}
