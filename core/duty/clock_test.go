package duty

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

const tenYears = core.Ms(10 * 365 * 86_400_000)

// ahead runs a process whose clock, now ten years ahead, is set right just before the
// first operation that back picks, and wrong and right again before those that the
// others pick in their turn. While it is wrong its host lets nothing out that changes
// anything.
func (p *labProc) ahead(back func(op *core.Op) bool, others ...func(op *core.Op) bool) (all bool) {
	l := p.l
	turns, wrong := append([]func(*core.Op) bool{back}, others...), true
	for !p.done {
		i := p.next(first)
		if i < 0 {
			break
		}
		op, sentWrong := &p.pending[i].Op, wrong
		if len(turns) > 0 && turns[0](op) {
			if turns, wrong = turns[1:], !wrong; wrong {
				l.now += tenYears
			} else {
				l.now -= tenYears
			}
		}
		if sentWrong && op.Mutates() {
			p.deliver(i, core.Reply{Outcome: core.Refused})
			continue
		}
		p.answer(i)
	}
	return len(turns) == 0
}

// TestAReapThatAWrongClockBegan: a confirmed marker that a clock ten years ahead took for
// ripe deletes nothing once the clock is right, and comes back no sooner than its date.
func TestAReapThatAWrongClockBegan(t *testing.T) {
	l, e, obj := husk(t, false)
	for _, k := range l.keys("due/reap/") {
		delete(l.rows, k)
	}
	ripe := l.dials.GraceEnd(l.now)
	key := keys.DueReap(keys.ShardOfObject(obj.Key, l.dials.Shards), ripe, obj.Key)
	l.put(key, format.ReapMark{Class: e.Class, Footer: e.Footer, Confirmed: true}.Encode())
	l.now += tenYears
	if !reapPass(l).ahead(func(op *core.Op) bool { return op.Kind == core.KReadRange }) {
		t.Fatal("the clock was never set right")
	}
	ms, dues := l.markers()
	if _, stands := l.objs[obj]; !stands || len(ms) != 1 || !ms[0].Confirmed || dues[0].At != ripe {
		t.Fatalf("the object stands: %v; the markers are %+v at %v, want one at %d", stands, ms, dues, ripe)
	}
	l.now = ripe
	drainReap(l)
	if _, stands := l.objs[obj]; stands {
		t.Error("its grace is over, and it stands")
	}
}

// TestATrimThatAWrongClockBegan: the same of slots, of which some deletes were refused
// while the clock was wrong, and others would be sent once it is right.
func TestATrimThatAWrongClockBegan(t *testing.T) {
	l, a, b := trimWorld(t)
	l.dials.DeleteBatch = 1
	l.complete(a)
	l.complete(b)
	rewritten := l.now
	l.put(keys.ChainTrim("s", 1), format.ChainTrim{Rewritten: 4, RewrittenAt: rewritten}.Encode())
	all := l.slots()
	l.now += tenYears
	if !l.start(pass(keys.TrimCheck, runTrimCheck)).ahead(func(op *core.Op) bool { return op.Kind == core.KDelete }) {
		t.Fatal("the clock was never set right")
	}
	if l.slots() != all {
		t.Fatalf("%d of %d slots stand %d ms after they were seen to be rewritten", l.slots(), all, l.now-rewritten)
	}
	l.drainTrim(1 << 60)
	if l.slots() != 0 || l.now < rewritten+l.dials.ReadGrace {
		t.Errorf("%d slots after %d ms", l.slots(), l.now-rewritten)
	}
}

// TestADrainDoesNotSleepForTenYears: a pass that began by a clock ten years ahead ends
// in a wait of the right one's, and what is dated far ahead is looked for again.
func TestADrainDoesNotSleepForTenYears(t *testing.T) {
	l := newLab(t)
	l.now += tenYears
	d := &foreverDrain[toy]{q: keys.Reap, run: toyRun(allDone)}
	p := l.start(func(e *core.Env) core.Machine { d.e = e; return d })
	scans := 0
	p.ahead(func(op *core.Op) bool {
		if op.Kind == core.KScan {
			scans++
		}
		return scans == 2 // the first asks who is alive
	})
	if len(p.pending) != 1 || p.pending[0].Op.Kind != core.KWait || p.pending[0].Op.Until > l.now+l.dials.PollEvery {
		t.Fatalf("at %d it waits for %v", l.now, p.pending)
	}
	d.d.looked = l.now + tenYears // it looked by a wrong clock
	p.wait()
	p.run()
	if d.d.looked > l.now {
		t.Error("it will not look for what is dated far ahead for ten years")
	}
}

// TestAJudgementThatAWrongClockBegan: the second look at a condemned intent deletes
// nothing, aborts nothing and relieves nobody once the clock is right.
func TestAJudgementThatAWrongClockBegan(t *testing.T) {
	for what, back := range map[string]core.Kind{"tail": core.KReadTail, "listing": core.KListUploads} {
		l := transit(t)
		_, p := l.move()
		p.past(core.KComplete)
		l.now += l.dials.OrphanGrace + 1
		orphanPass(l).run()
		looked := l.now
		l.now += tenYears
		if !orphanPass(l).ahead(func(op *core.Op) bool { return op.Kind == back }) {
			t.Fatal("the clock was never set right")
		}
		if l.settledObjects() != 1 || len(l.keys("due/orphan/")) != 1 {
			t.Errorf("%s: %d objects, intents %v", what, l.settledObjects(), l.keys("due/orphan/"))
		}
		l.now = looked + l.dials.ReadGrace
		orphanPass(l).run()
		if l.settledObjects() != 0 {
			t.Errorf("%s: its grace is over, and it stands", what)
		}
	}
}

// TestAFinalWalkThatAWrongClockBegan: the tombstone stays until the stream has been
// quiet for as long as it must.
func TestAFinalWalkThatAWrongClockBegan(t *testing.T) {
	l, markers := teardownWorld(t)
	l.remove(1)
	for _, k := range markers {
		l.resolve(k)
	}
	l.start(pass(keys.Teardown, runTeardown)).run()
	from, _ := keys.DueRange(keys.Teardown, keys.ShardOfStream(1, l.dials.Shards), 0)
	final := l.keys(from)
	if len(final) != 1 {
		t.Fatalf("the final walk is armed as %v", final)
	}
	quiet := l.now + l.dials.Quiesce
	l.now += tenYears
	if !l.start(pass(keys.Teardown, runTeardown)).ahead(func(op *core.Op) bool { return op.Kind == core.KGet && op.Key == keys.Stream(1) }) {
		t.Fatal("the clock was never set right")
	}
	if _, ok := l.rows[keys.Stream(1)]; !ok {
		t.Fatalf("the tombstone is gone %d ms too early", quiet-l.now)
	}
	l.drainTeardown(1 << 60)
	if left := l.of(1); len(left) != 0 || l.now < quiet {
		t.Errorf("after all, at %d of %d: %v", l.now, quiet, left)
	}
}

// TestAPurgeThatAWrongClockBegan: the fences of a chain stay for as long as a request
// that was sent before its cut may land, though the settler that has just swept it
// reads its clock ten years ahead for a moment.
func TestAPurgeThatAWrongClockBegan(t *testing.T) {
	l := settleWorld(t)
	l.dials.FootersAbreast = 1
	l.now += tenYears
	standing := 0
	once := func(*core.Op) bool { return true }
	swept := func(op *core.Op) bool {
		standing = len(l.objs)
		return op.Kind == core.KGet && op.Key == keys.ChainHead("s", 1) && l.head().State == format.ChainSwept
	}
	if !settlePass(l).ahead(once, swept, func(op *core.Op) bool { return op.Kind == core.KDelete }) {
		t.Fatal("the clock was not set right, wrong and right again")
	}
	if h := l.head(); h.State != format.ChainSwept || len(l.objs) != standing {
		t.Fatalf("%d ms after it was swept the chain is %v, and %d of %d objects stand", l.now-h.SweptAt, h.State, len(l.objs), standing)
	}
	l.drainSettle()
	settledWell(l, "in the end")
}

// TestARetentionThatAWrongClockBegan: no record goes that is old by the wrong clock
// only, and a pass that ran early does not date the next.
func TestARetentionThatAWrongClockBegan(t *testing.T) {
	for what, l := range map[string]*lab{"rows": retentionWorld(t), "none": newLab(t)} {
		if what == "none" {
			l.create(1, testAge)
		}
		due := keys.DueRetention(keys.ShardOfStream(1, l.dials.Shards), l.now+testAge/2, 1)
		l.put(due, format.RetentionMark{}.Encode())
		l.now += tenYears
		if !l.retention().ahead(func(op *core.Op) bool { return op.Kind == core.KGet && op.Key == keys.Trim(1) }) {
			t.Fatalf("%s: the clock was never set right", what)
		}
		if ks := l.keys("due/retention"); l.mark(1) != 0 || len(ks) != 1 || ks[0] < due {
			t.Errorf("%s: the watermark is %d, the markers are %v, want none before %s", what, l.mark(1), ks, due)
		}
	}
}

// TestAReapWhoseAnswerCameByAWrongClock: where there is no space for the confirmed marker,
// the grace counts from when it was sent. The clock is hours behind for the instant at
// which the answer arrives.
func TestAReapWhoseAnswerCameByAWrongClock(t *testing.T) {
	l, _, obj := husk(t, false)
	l.deny = func(op *core.Op) (core.Outcome, bool) {
		for i := range op.Txn {
			if op.Txn[i].Verb == core.VPut {
				return core.NoSpace, true
			}
		}
		return core.OK, false
	}
	seen, asked := l.now, false
	p := reapPass(l)
	for !p.done {
		i := p.next(first)
		if i < 0 {
			break
		}
		r := l.apply(&p.pending[i].Op, p.env.Process)
		if r.Outcome != core.NoSpace {
			p.deliver(i, r)
			continue
		}
		l.now -= 6 * 3_600_000
		p.deliver(i, r)
		l.now += 6 * 3_600_000
		for k := range p.pending {
			if op := &p.pending[k].Op; op.Kind == core.KWait {
				asked = true
				if op.Until < seen+l.dials.ReadGrace {
					t.Errorf("it waits until %d; it was seen at %d, and the read grace is %d", op.Until, seen, l.dials.ReadGrace)
				}
			}
		}
	}
	if !asked {
		t.Fatal("it never waited")
	}
	l.now = seen + l.dials.ReadGrace - 1
	p.run()
	if _, stands := l.objs[obj]; !stands {
		t.Errorf("the object went %d ms after it was seen to be dead, and the read grace is %d", l.now-seen, l.dials.ReadGrace)
	}
}
