package duty

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

func runTrimCheck(d *TrimCheck, t core.Turn, e *core.Env, due *Due) core.Verdict {
	return d.Step(t, e, due)
}

// trimWorld is a chain of express class (two stores) with two batches, A in slots
// 0 and 1, B in slots 2 and 3, whose rows have been rewritten away: the refs are
// gone, the markers stand.
func trimWorld(t *testing.T) (l *lab, a, b string) {
	l = newLab(t)
	l.mint("s", 1, core.Express)
	l.create(1, 0)
	a = l.batch("s", 1, false, []append1{{1, 2}}, []append1{{1, 2}})
	b = l.batch("s", 1, false, []append1{{1, 2}}, []append1{{1, 2}})
	return l, a, b
}

// complete does what an era does when a batch is rewritten.
func (l *lab) complete(marker string) {
	d, _ := keys.ParseDue(marker)
	m, _ := format.DecodeBatchMark(l.rows[marker].Val)
	for _, k := range l.keys("ref/") {
		row, _ := format.DecodeRow(l.rows[k].Val)
		if row.Kind == format.SpanRow && row.Spans[0].Slot >= m.Slots[0].Slot && row.Spans[0].Slot < m.End() {
			delete(l.rows, k) // its records are in a settled object that this test does without
		}
	}
	l.put(keys.DueTrimCheck(d.Shard, l.dials.GraceEnd(l.now), d.Star, d.Epoch), format.TrimMark{}.Encode())
	delete(l.rows, marker)
	delete(l.rows, keys.SchedDenorm(d.Shard, m.Ready, d.Star, d.Epoch, d.Slot))
}

func (l *lab) trim(star string, epoch uint64) format.ChainTrim {
	t, _ := format.DecodeChainTrim(l.rows[keys.ChainTrim(star, epoch)].Val)
	return t
}

func (l *lab) slots() (n int) {
	for o := range l.objs {
		if _, _, _, err := keys.ParseSlot(o.Key); err == nil {
			n++
		}
	}
	return n
}

// drainAll runs passes of a queue, advancing the clock from marker to marker,
// until the queue is empty or a time has come.
func (l *lab) drainAll(q keys.Queue, until core.Ms, start func() *labProc) {
	l.t.Helper()
	for range 100 {
		start().run()
		next := core.Ms(-1)
		for _, k := range append(l.keys("due/"+q.String()), l.keys("sched/"+q.String())...) {
			if d, err := keys.ParseDue(k); err == nil && (next < 0 || d.At < next) && (d.Sched || !q.Scheduled()) {
				next = d.At
			}
		}
		if next < 0 || next > until {
			return
		}
		l.now = max(l.now+1, next)
	}
	l.t.Fatalf("queue %s does not drain: %v", q, l.keys("due/"+q.String()))
}

func (l *lab) drainTrim(until core.Ms) {
	l.t.Helper()
	l.drainAll(keys.TrimCheck, until, func() *labProc { return l.start(pass(keys.TrimCheck, runTrimCheck)) })
}

func TestTrimCheckLife(t *testing.T) {
	l, a, b := trimWorld(t)
	l.deny = func(op *core.Op) (core.Outcome, bool) {
		if op.IsStore() && op.Kind != core.KDelete {
			t.Errorf("slots are never probed, and it sends %s", op)
		}
		return core.OK, false
	}
	l.complete(a)
	l.drainTrim(1 << 60)
	if c := l.trim("s", 1); c.Trimmed != 2 || c.Rewritten != 2 || l.slots() != 4 {
		t.Fatalf("with B owed: %+v, %d slots", c, l.slots())
	}
	l.complete(b)
	l.drainTrim(1 << 60)
	if c := l.trim("s", 1); c.Trimmed != 4 || c.Rewritten != 4 || l.slots() != 0 {
		t.Fatalf("with nothing owed: %+v, %d slots", c, l.slots())
	}
	if ks := l.keys("due/"); len(ks) != 0 {
		t.Errorf("left: %v", ks)
	}
}

// F1: a batch's slots survive one full grace after its own completion, also when
// the trim-check of another batch runs a moment later.
func TestTrimCheckGivesEachBatchItsGrace(t *testing.T) {
	l, a, b := trimWorld(t)
	l.complete(a)
	l.now = l.dials.GraceEnd(l.now) - 500
	l.complete(b)
	done := l.now
	slot := core.Obj{Store: "xp1", Key: keys.Slot("s", 1, 2)}
	for l.now < done+l.dials.ReadGrace-1 {
		l.start(pass(keys.TrimCheck, runTrimCheck)).run()
		if _, ok := l.objs[slot]; !ok {
			t.Fatalf("slot 2 went %d ms after its batch completed", l.now-done)
		}
		l.now += 10_000
	}
	l.drainTrim(1 << 60)
	if l.slots() != 0 {
		t.Errorf("%d slots are left", l.slots())
	}
}

// A chain whose batches complete all the time is trimmed all the same.
func TestTrimCheckOfABusyChain(t *testing.T) {
	l := newLab(t)
	l.mint("s", 1, core.Standard)
	l.create(1, 0)
	for range 200 {
		l.complete(l.batch("s", 1, false, []append1{{1, 1}}))
		l.start(pass(keys.TrimCheck, runTrimCheck)).run()
		l.now += 20_000
	}
	if c := l.trim("s", 1); c.Trimmed < 100 {
		t.Errorf("after 200 batches over 66 minutes: %+v", c)
	}
	if n := len(l.keys("due/trimcheck/")); n > 22 {
		t.Errorf("%d trim-checks stand for one chain", n)
	}
}

// A parked batch marker still says that its slots are owed (gap 13).
func TestTrimCheckSeesParkedMarkers(t *testing.T) {
	l, a, b := trimWorld(t)
	l.complete(b)
	m, _ := format.DecodeBatchMark(l.rows[a].Val)
	m.Parked = true
	l.put(a, m.Encode())
	l.drainTrim(1 << 60)
	if l.slots() != 8 {
		t.Errorf("%d of 8 slots stand", l.slots())
	}
}

func TestTrimCheckOfAReapedEpoch(t *testing.T) {
	l := newLab(t)
	l.put(keys.DueTrimCheck(0, l.now-1, "gone", 9), format.TrimMark{}.Encode())
	p := l.start(pass(keys.TrimCheck, runTrimCheck))
	p.run()
	if len(l.rows) != 0 || p.notes[core.NoteDutyBackoff] != 0 {
		t.Errorf("left %v", l.keys(""))
	}
}

// A clock that was ten years ahead for one pass must not pin the slots for ten
// years.
func TestTrimCheckAfterAWrongClock(t *testing.T) {
	l, a, b := trimWorld(t)
	l.complete(a)
	l.complete(b)
	l.put(keys.ChainTrim("s", 1), format.ChainTrim{Rewritten: 4, RewrittenAt: l.now + 10*365*86_400_000}.Encode())
	begin := l.now
	l.drainTrim(1 << 60)
	if l.slots() != 0 || l.now < begin+l.dials.ReadGrace || l.now > begin+4*l.dials.ReadGrace {
		t.Errorf("%d slots after %d ms", l.slots(), l.now-begin)
	}
}

// A store that does not answer keeps the cursor where it is (C5, gap 10).
func TestTrimCheckNeedsEveryStoreToAnswer(t *testing.T) {
	for o := core.Outcome(1); int(o) < core.Outcomes; o++ {
		l, a, b := trimWorld(t)
		l.complete(a)
		l.complete(b)
		l.deny = func(op *core.Op) (core.Outcome, bool) { return o, op.Kind == core.KDelete && op.Store == "xp2" }
		for range 40 {
			l.start(pass(keys.TrimCheck, runTrimCheck)).run()
			l.now += 60_000
		}
		if c := l.trim("s", 1); c.Trimmed != 0 {
			t.Errorf("deletes answer %s: %+v", o, c)
		}
		l.deny = nil
		l.drainTrim(1 << 60)
		if l.slots() != 0 {
			t.Errorf("%d slots are left", l.slots())
		}
	}
}

// Cut at every effect of both passes, in every way: the end is the same.
func TestTrimCheckCrashSweep(t *testing.T) {
	for _, phase := range []string{"advance", "delete"} {
		l, a, b := trimWorld(t)
		l.dials.DeleteBatch = 2 // one slot a page
		l.complete(a)
		l.complete(b)
		l.now = l.dials.GraceEnd(l.now)
		if phase == "delete" {
			l.start(pass(keys.TrimCheck, runTrimCheck)).run()
			l.now = l.dials.GraceEnd(l.now)
		}
		n := sweep(l, func(l *lab) *labProc { return l.start(pass(keys.TrimCheck, runTrimCheck)) },
			func(l *lab) { l.drainTrim(1 << 60) },
			func(l *lab, at string) {
				if c := l.trim("s", 1); c.Trimmed != 4 || l.slots() != 0 || len(l.keys("due/")) != 0 {
					t.Errorf("%s: %+v, %d slots, %v", at, c, l.slots(), l.keys("due/"))
				}
			})
		t.Logf("%s: %d cuts", phase, n)
	}
}

// Two auditors on one shard, their effects interleaved in every simple way.
func TestTwoTrimChecksOfOneChain(t *testing.T) {
	for seed := range 60 {
		l, a, b := trimWorld(t)
		l.complete(a)
		l.complete(b)
		for l.slots() > 0 && l.now < 1_100_000_000 {
			p, q := l.start(pass(keys.TrimCheck, runTrimCheck)), l.start(pass(keys.TrimCheck, runTrimCheck))
			for r := seed; !p.done || !q.done; r = r*5 + 1 {
				x := p
				if (r>>2)%2 == 0 && !q.done || p.done {
					x = q
				}
				x.answer(x.next(func(n int) int { return r % n }))
			}
			l.now += 30_000
		}
		if c := l.trim("s", 1); c.Trimmed != 4 || l.slots() != 0 {
			t.Fatalf("seed %d: %+v, %d slots", seed, c, l.slots())
		}
	}
}
