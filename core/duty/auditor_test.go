package duty

import (
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
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

// R36: in the express stores stand only live chain slots, whatever runs, and each
// of them for at most its class's age cap, the two graces of its trim and what the
// duties take.
func TestExpressHoldsOnlyLiveSlots(t *testing.T) {
	l := eraWorld(t)
	l.dials.PollEvery = 30_000
	born := map[core.Obj]core.Ms{}
	settled := 0
	l.deny = func(*core.Op) (core.Outcome, bool) {
		trim, err := format.DecodeChainTrim(l.rows[keys.ChainTrim("s", 1)].Val)
		if err != nil {
			t.Fatal(err)
		}
		for o := range l.objs {
			if o.Store == "std" {
				settled++
				continue
			}
			_, _, slot, err := keys.ParseSlot(o.Key)
			if err != nil {
				t.Fatalf("%v is no chain slot", o)
			}
			if _, ok := born[o]; !ok {
				born[o] = l.now
			}
			if slot < trim.Trimmed {
				t.Fatalf("%v stands below the trimmed cursor %d", o, trim.Trimmed)
			}
			if most := l.dials.AgeCap[core.Express] + 2*(l.dials.ReadGrace+l.dials.ReapBucket) + 10*l.dials.PollEvery; l.now-born[o] > most {
				t.Fatalf("%v has stood for %d ms: the age cap is %d", o, l.now-born[o], l.dials.AgeCap[core.Express])
			}
		}
		return core.OK, false
	}
	ps := []*labProc{l.auditor(0), l.auditor(0)}
	for i := range 6 { // the stream goes on, with batches that cross and batches that do not
		l.batch("s", 1, i%2 == 0, []append1{{1, 2}, {2, 1}}, []append1{{3, 1}})
		l.rest(l.now+20*60_000, ps...)
	}
	l.rest(l.now+4*3_600_000, ps...)
	if len(born) < 12 || settled == 0 || l.slots() != 0 {
		t.Errorf("%d express objects were seen, %d slots are left, settled objects were seen %d times", len(born), l.slots(), settled)
	}
	l.deny = nil
	l.settledCheck("end")
}

// ND5: nothing verifies, lists or reads the stores on its own. When no marker is
// due, auditors send them nothing, for as long as one likes, and an object that no
// row names is not looked for.
func TestAuditorsSendNothingToTheStoresOnTheirOwn(t *testing.T) {
	l := eraWorld(t)
	l.dials.PollEvery = 60_000
	ps := []*labProc{l.auditor(0), l.auditor(0)}
	l.rest(l.now+12*3_600_000, ps...)
	l.settledCheck("settled")
	stray := core.Obj{Store: "std", Key: keys.Settled{Bucket: "b", Stream: 77, Epoch: 1, HasInc: true}.Key()}
	l.objs[stray] = "no row names it"
	passes := 0
	l.deny = func(op *core.Op) (core.Outcome, bool) {
		if op.IsStore() || op.Kind == core.KStage {
			t.Fatalf("it sends %s", op)
		}
		if op.Kind == core.KScan {
			passes++
			if !strings.HasPrefix(op.Key, "due/") && !strings.HasPrefix(op.Key, "sched/") && !strings.HasPrefix(op.Key, "auditor/") {
				t.Fatalf("it scans what is no queue: %s", op)
			}
		}
		return core.OK, false
	}
	wrote := l.wrote
	l.rest(l.now+10*24*3_600_000, ps...)
	if l.wrote != wrote || passes < 1000 || l.objs[stray] == "" {
		t.Errorf("%d writes in %d scans of ten quiet days; the stray object stands: %v", l.wrote-wrote, passes, l.objs[stray] != "")
	}
}
