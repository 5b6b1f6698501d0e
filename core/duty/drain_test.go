package duty

import (
	"fmt"
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// toy is a duty that resolves its marker, unless the marker's identity says
// otherwise.
type toy struct{ call core.Call }

func (d *toy) Reason() string { return "a toy that breaks" }

func toyRun(verdict func(due *Due) core.Verdict) Run[toy] {
	return func(d *toy, t core.Turn, e *core.Env, due *Due) core.Verdict {
		if !d.call.Sent() {
			if v := verdict(due); v != core.Done {
				return v
			}
		}
		r, ok := d.call.AwaitFunc(t, func() core.Op { return due.Resolve() })
		return settledBy(r, ok)
	}
}

func allDone(*Due) core.Verdict { return core.Done }

// arm puts marker i of a queue, ripe at a time, and its schedule row.
func (l *lab) arm(q keys.Queue, i int, at core.Ms) (marker string) {
	object := fmt.Sprintf("data/b/%016x/%016x/%016x", i, 1, 0)
	switch q {
	case keys.Teardown:
		marker = keys.DueTeardown(0, at, uint64(i), false)
		l.put(marker, format.TeardownMark{DeletedAt: 7}.Encode())
	case keys.Settle:
		marker = keys.DueSettle(0, at, "s", uint64(i))
		l.put(marker, format.SettleMark{}.Encode())
	case keys.Retention:
		marker = keys.DueRetention(0, at, uint64(i))
		l.put(marker, format.RetentionMark{}.Encode())
	case keys.Reap:
		marker = keys.DueReap(0, at, object)
		l.put(marker, format.ReapMark{Confirmed: true}.Encode())
	case keys.TrimCheck:
		marker = keys.DueTrimCheck(0, at, "s", uint64(i))
		l.put(marker, format.TrimMark{}.Encode())
	case keys.Denorm:
		marker = keys.DueDenorm(0, "s", uint64(i), 0)
		l.put(marker, format.BatchMark{Ready: at, Slots: []format.Inventory{{Slot: 0}}}.Encode())
		l.put(keys.SchedDenorm(0, at, "s", uint64(i), 0), "")
	case keys.GC:
		marker = keys.DueGC(0, int64(1_000_000-i), object)
		l.put(marker, format.ReapMark{NotBefore: at}.Encode())
	case keys.Orphan:
		marker = keys.DueOrphan(0, object)
		l.put(marker, format.Intent{Birth: at - l.dials.OrphanGrace}.Encode())
		l.put(keys.SchedOrphan(0, at-l.dials.OrphanGrace, object), "")
	}
	return marker
}

func eachQueue(t *testing.T, f func(t *testing.T, q keys.Queue)) {
	for q := range keys.Queue(keys.Queues) {
		t.Run(q.String(), func(t *testing.T) { f(t, q) })
	}
}

// C26: a damaged marker at the head of each queue with good ones behind it.
func TestDamagedHeadDoesNotStarve(t *testing.T) {
	eachQueue(t, func(t *testing.T, q keys.Queue) {
		l := newLab(t)
		head := l.arm(q, 0, l.now-1000)
		for i := 1; i <= 200; i++ {
			l.arm(q, i, l.now-500)
		}
		l.put(head, "damaged")
		p := l.start(pass(q, toyRun(allDone)))
		p.run()
		if !p.done || p.notes[core.NoteDutyRun] != 200 || p.notes[core.NoteDutyParked] != 1 {
			t.Fatalf("done=%v, ran %d of 200, parked %d", p.done, p.notes[core.NoteDutyRun], p.notes[core.NoteDutyParked])
		}
		row, ok := l.rows[keys.Park(q, head)]
		if !ok {
			t.Fatalf("not parked: %v", l.keys("park/"))
		}
		park, err := format.DecodeParked(row.Val)
		if err != nil || park.Value != "damaged" || !strings.Contains(park.Reason, "decode") {
			t.Errorf("parked as %+v (%v)", park, err)
		}
		if _, stands := l.rows[head]; stands != q.Scheduled() {
			t.Errorf("the due row stands: %v", stands)
		}
		if left := len(l.keys("sched/")); left != 0 {
			t.Errorf("%d schedule rows are left", left)
		}
	})
}

// A duty that ends Broken comes back ParkAfter times in all, a little later each
// time, and is parked with its reason; one that ends Again comes back for ever.
func TestFailedMarkersThinOutAndPark(t *testing.T) {
	eachQueue(t, func(t *testing.T, q keys.Queue) {
		l := newLab(t)
		l.arm(q, 0, l.now-1000)
		runs, verdict := 0, core.Again
		p := l.start(func(e *core.Env) core.Machine {
			return &foreverDrain[toy]{e: e, q: q, run: toyRun(func(*Due) core.Verdict { runs++; return verdict })}
		})
		begin := l.now
		for l.now < begin+3_600_000 {
			p.run()
			p.wait()
		}
		if runs < 8 || runs > 20 {
			t.Errorf("%d runs in an hour of Again", runs)
		}
		if n := len(l.keys("park/")); n != 0 {
			t.Errorf("parked without one definite failure")
		}
		runs, verdict = 0, core.Broken
		for l.now < begin+3*3_600_000 {
			p.run()
			p.wait()
		}
		if runs != l.dials.ParkAfter || len(l.keys("park/")) != 1 {
			t.Errorf("%d runs of Broken, parked %v", runs, l.keys("park/"))
		}
		for _, k := range l.keys("park/") {
			if park, err := format.DecodeParked(l.rows[k].Val); err != nil || park.Reason != "a toy that breaks" {
				t.Errorf("parked as %+v (%v)", park, err)
			}
		}
		if q == keys.Denorm {
			if m, err := format.DecodeBatchMark(l.rows[keys.DueDenorm(0, "s", 0, 0)].Val); err != nil || !m.Parked {
				t.Errorf("the due row is not flagged: %+v %v", m, err)
			}
		}
		if q == keys.Orphan && len(l.keys("due/orphan/")) != 1 {
			t.Errorf("the parked intent went")
		}
		// Parked: nothing writes any more.
		wrote := l.wrote
		for range 50 {
			p.run()
			p.wait()
		}
		if l.wrote != wrote {
			t.Errorf("%d writes after parking", l.wrote-wrote)
		}
	})
}

// C21: while deletes fail, the backlog and its oldest age say so.
func TestDrainLevels(t *testing.T) {
	eachQueue(t, func(t *testing.T, q keys.Queue) {
		l := newLab(t)
		for i := range 3 {
			l.arm(q, i, l.now-1000)
		}
		p := l.start(func(e *core.Env) core.Machine {
			return &foreverDrain[toy]{e: e, q: q, run: toyRun(func(*Due) core.Verdict { return core.Again })}
		})
		begin, last := l.now, int64(0)
		for l.now < begin+3_600_000 {
			p.notes = map[core.NoteKind]int64{}
			p.run()
			if n := p.notes[core.NoteBacklog]; n > 0 {
				if age := p.notes[core.NoteOldest]; n != 3 || age < last {
					t.Fatalf("backlog %d, oldest %d ms after %d", n, age, last)
				}
				last = p.notes[core.NoteOldest]
			}
			p.wait()
		}
		if last < 2_400_000 {
			t.Errorf("the oldest is %d ms overdue after an hour", last)
		}
	})
}

type foreverDrain[M any] struct {
	d   Drain[M]
	e   *core.Env
	q   keys.Queue
	run Run[M]
}

func (f *foreverDrain[M]) Step(t core.Turn) bool {
	f.d.Step(t, f.e, f.q, f.run)
	return false
}

// C29: draining costs what is ripe, not what stands.
func TestDrainReadsWhatIsRipe(t *testing.T) {
	eachQueue(t, func(t *testing.T, q keys.Queue) {
		if q == keys.GC {
			t.Skip("every GC marker is ready; few stand")
		}
		l := newLab(t)
		for i := range 2000 {
			l.arm(q, i, l.now+3_600_000+core.Ms(i))
		}
		for i := range 10 {
			l.arm(q, 10_000+i, l.now-1)
		}
		l.reads = 0
		p := l.start(pass(q, toyRun(allDone)))
		p.run()
		if p.notes[core.NoteDutyRun] != 10 || l.reads > 30 {
			t.Errorf("ran %d of 10, read %d rows", p.notes[core.NoteDutyRun], l.reads)
		}
	})
}

// The biggest reclaim goes first.
func TestGCIsDrainedBiggestFirst(t *testing.T) {
	l := newLab(t)
	for i := range 5 {
		l.arm(keys.GC, i, 0) // marker i has 1,000,000 − i dead bytes
	}
	var order []int64
	l.start(pass(keys.GC, toyRun(func(d *Due) core.Verdict { order = append(order, d.Dead); return core.Done }))).run()
	for i := 1; i < len(order); i++ {
		if order[i] > order[i-1] {
			t.Fatalf("order %v", order)
		}
	}
}

func TestStraySchedulesGo(t *testing.T) {
	l := newLab(t)
	l.put(keys.SchedDenorm(0, l.now-5, "s", 1, 0), "") // its batch marker is gone
	l.put(keys.SchedOrphan(0, l.now-l.dials.OrphanGrace-5, "data/b/x"), "")
	m := l.arm(keys.Denorm, 2, l.now+9000) // its schedule says another time
	delete(l.rows, keys.SchedDenorm(0, l.now+9000, "s", 2, 0))
	l.put(keys.SchedDenorm(0, l.now-3, "s", 2, 0), "")
	p := l.start(pass(keys.Denorm, toyRun(allDone)))
	p.run()
	l.start(pass(keys.Orphan, toyRun(allDone))).run()
	if p.notes[core.NoteDutyRun] != 0 {
		t.Errorf("a duty ran")
	}
	want := keys.SchedDenorm(0, l.now+9000, "s", 2, 0)
	if ks := l.keys("sched/"); len(ks) != 1 || ks[0] != want {
		t.Errorf("schedule rows %v, want %s", ks, want)
	}
	if _, ok := l.rows[m]; !ok {
		t.Errorf("the marker went")
	}
}

// A key that is no marker's is only reported.
func TestForeignKeysAreOnlyReported(t *testing.T) {
	eachQueue(t, func(t *testing.T, q keys.Queue) {
		l := newLab(t)
		foreign := "due/" + q.String() + "/0000/" + "0000000000000000001!"
		if q.Scheduled() {
			foreign = "sched/" + q.String() + "/0000/" + "0000000000000000001!"
		}
		l.put(foreign, "x")
		p := l.start(func(e *core.Env) core.Machine {
			return &foreverDrain[toy]{e: e, q: q, run: toyRun(allDone)}
		})
		p.run()
		if p.notes[core.NoteForeign] != 1 {
			t.Errorf("foreign: %d", p.notes[core.NoteForeign])
		}
		if _, ok := l.rows[foreign]; !ok || l.wrote != 0 || p.notes[core.NoteDutyRun] != 0 {
			t.Errorf("it was touched")
		}
	})
}

// Markers of one chain take turns; those of different chains run abreast.
func TestOneChainRunsInOneLane(t *testing.T) {
	l := newLab(t)
	for _, epoch := range []uint64{1, 2, 1, 1, 2} {
		slot := uint64(len(l.rows))
		l.put(keys.DueDenorm(0, "s", epoch, slot), format.BatchMark{Ready: l.now - 9, Slots: []format.Inventory{{Slot: slot}}}.Encode())
		l.put(keys.SchedDenorm(0, l.now-9, "s", epoch, slot), "")
	}
	p := l.start(pass(keys.Denorm, toyRun(allDone)))
	most := 0
	for !p.done {
		busy := map[string]int{}
		for _, e := range p.pending {
			if e.Op.Kind == core.KTxn {
				d, _ := keys.ParseDue(e.Op.Txn[0].At.Key)
				k := fmt.Sprint(d.Epoch)
				if busy[k]++; busy[k] > 1 {
					t.Fatalf("two eras of chain %s", k)
				}
			}
		}
		most = max(most, len(busy))
		p.answer(p.next(first))
	}
	if p.notes[core.NoteDutyRun] != 5 || len(l.keys("due/")) != 0 {
		t.Errorf("ran %d of 5, left %v", p.notes[core.NoteDutyRun], l.keys("due/"))
	}
}

// ST16: the settle markers of one chain take turns too, so that the chain is
// walked once: the second finds it done. Those of other chains run beside them.
func TestOneSettlementOfAChain(t *testing.T) {
	l := newLab(t)
	for i, epoch := range []uint64{1, 2, 1, 1} {
		l.put(keys.DueSettle(0, l.now-core.Ms(9+i), "s", epoch), format.SettleMark{}.Encode())
	}
	p := l.start(pass(keys.Settle, toyRun(allDone)))
	most := 0
	for !p.done {
		busy := map[uint64]int{}
		for _, e := range p.pending {
			if e.Op.Kind == core.KTxn {
				d, _ := keys.ParseDue(e.Op.Txn[0].At.Key)
				if busy[d.Epoch]++; busy[d.Epoch] > 1 {
					t.Fatalf("two settlements of epoch %d", d.Epoch)
				}
			}
		}
		most = max(most, len(busy))
		p.answer(p.next(first))
	}
	if p.notes[core.NoteDutyRun] != 4 || most != 2 {
		t.Errorf("ran %d of 4, %d chains abreast", p.notes[core.NoteDutyRun], most)
	}
	// With the duty itself: three markers of a dead star's chain, one claim.
	l = newLab(t)
	l.mint("s", 1, core.Standard)
	shard := keys.ShardOfChain("s", 1, l.dials.Shards)
	for i := range 3 {
		l.put(keys.DueSettle(shard, l.now-core.Ms(i), "s", 1), format.SettleMark{}.Encode())
	}
	p = l.start(pass(keys.Settle, (*Settle).Step))
	p.run()
	if p.notes[core.NoteClaimed] != 1 || p.notes[core.NoteClaimLost] != 0 || p.notes[core.NoteDutyBackoff] != 0 {
		t.Errorf("%d claims, %d lost, %d backoffs", p.notes[core.NoteClaimed], p.notes[core.NoteClaimLost], p.notes[core.NoteDutyBackoff])
	}
}

// TD15: teardown jobs are dispatched in groups of 16 streams, 8 walking abreast.
func TestTeardownGroups(t *testing.T) {
	l := newLab(t)
	const streams = 40
	for i := range streams {
		l.arm(keys.Teardown, i+1, l.now-1)
	}
	scans := 0
	l.deny = func(op *core.Op) (core.Outcome, bool) {
		if op.Kind == core.KScan && strings.HasPrefix(op.Key, "due/teardown/") {
			if scans++; op.Num > 16 {
				t.Errorf("a group of up to %d", op.Num)
			}
		}
		return core.OK, false
	}
	most := 0
	p := l.start(pass(keys.Teardown, toyRun(allDone)))
	for !p.done {
		walks := 0
		for _, e := range p.pending {
			if e.Op.Kind == core.KTxn {
				walks++
			}
		}
		most = max(most, walks)
		p.answer(p.next(first))
	}
	if most != 8 || p.notes[core.NoteDutyRun] != streams || scans < 3 {
		t.Errorf("%d abreast, %d of %d ran, %d groups were scanned", most, p.notes[core.NoteDutyRun], streams, scans)
	}
}

// Two auditors that both believe they hold a shard do no harm; that one of them
// is believed dead moves its shards over.
func TestPlacement(t *testing.T) {
	live := []string{"a1", "a2", "a3"}
	count := map[string]int{}
	for s := range 64 {
		holders := 0
		for _, id := range live {
			if holds(live, id, s) {
				holders++
				count[id]++
			}
		}
		if holders != 1 {
			t.Fatalf("shard %d has %d holders", s, holders)
		}
		moved := 0
		for _, id := range live[:2] {
			if holds(live[:2], id, s) && !holds(live, id, s) {
				moved++
			}
			if holds(live, id, s) && !holds(live[:2], id, s) {
				t.Errorf("shard %d left %s, which lives", s, id)
			}
		}
		if moved > 1 {
			t.Errorf("shard %d moved twice", s)
		}
		if !holds([]string{"a1", "a2", "a3"}, "new", s) && !holds(live, "a1", s) && !holds(live, "a2", s) && !holds(live, "a3", s) {
			t.Errorf("nobody")
		}
	}
	for _, id := range live {
		if count[id] < 8 {
			t.Errorf("shards are uneven: %v", count)
		}
	}
}

// A backoff must not overwrite a marker that another killer armed at its time.
func TestBackoffDoesNotOverwrite(t *testing.T) {
	l := newLab(t)
	m := l.arm(keys.Reap, 0, l.now-1)
	d, _ := keys.ParseDue(m)
	d.At = l.now + l.dials.BackoffFirst
	l.put(d.Key(), format.ReapMark{}.Encode())
	l.start(pass(keys.Reap, toyRun(func(*Due) core.Verdict { return core.Again }))).run()
	if got, _ := format.DecodeReapMark(l.rows[d.Key()].Val); got.Confirmed {
		t.Errorf("the other marker was overwritten")
	}
	if _, ok := l.rows[m]; !ok {
		t.Errorf("the marker went")
	}
}

// What is told nothing about its scans runs nothing, writes nothing, and ends.
func TestDrainOnUnknown(t *testing.T) {
	eachQueue(t, func(t *testing.T, q keys.Queue) {
		l := newLab(t)
		l.arm(q, 0, l.now-1)
		l.deny = func(op *core.Op) (core.Outcome, bool) { return core.Unknown, true }
		p := l.start(pass(q, toyRun(allDone)))
		p.run()
		if !p.done || l.wrote != 0 || p.notes[core.NoteDutyRun] != 0 {
			t.Errorf("done=%v wrote %d", p.done, l.wrote)
		}
	})
}
