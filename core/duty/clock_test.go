package duty

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

const tenYears = core.Ms(10 * 365 * 86_400_000)

// ahead runs a process whose clock, now ten years ahead, is set right just before the
// first operation that back picks. Until then its host lets nothing out that changes
// anything.
func (p *labProc) ahead(back func(op *core.Op) bool) (wasBack bool) {
	l := p.l
	for !p.done {
		i := p.next(first)
		if i < 0 {
			return wasBack
		}
		op := &p.pending[i].Op
		wrong := !wasBack
		if wrong && back(op) {
			l.now -= tenYears
			wasBack = true
		}
		if wrong && op.Mutates() {
			p.deliver(i, core.Reply{Outcome: core.Refused})
			continue
		}
		p.answer(i)
	}
	return wasBack
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
