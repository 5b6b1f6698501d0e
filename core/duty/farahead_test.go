package duty

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
)

// honest is the longest that an armer of each queue dates a marker ahead.
func honest(d *core.Dials, q keys.Queue) core.Ms {
	switch q {
	case keys.Teardown:
		return d.GateRetry
	case keys.Settle:
		return d.LiveHeadProbe
	case keys.Retention:
		return d.FarAhead - 4*d.Skew
	case keys.Reap, keys.TrimCheck:
		return d.ReadGrace + d.ReapBucket
	case keys.Denorm:
		return d.AgeCap[core.Standard]
	case keys.Orphan:
		return d.OrphanGrace
	}
	return 0
}

// G11: a marker that was dated by a clock years ahead is dated anew, and runs as
// soon as one that is armed now; what an honest clock dated is left alone, an
// armer that is ahead by the skew and a backoff included.
func TestAMarkerOfAWrongClockIsDatedAnew(t *testing.T) {
	eachQueue(t, func(t *testing.T, q keys.Queue) {
		if q == keys.GC {
			return // its markers have no time
		}
		l := newLab(t)
		l.dials.PollEvery = max(l.dials.PollEvery, honest(&l.dials, q)/50)
		near := l.arm(q, 1, l.now+honest(&l.dials, q)+l.dials.Skew)
		far := l.arm(q, 2, l.now+10*365*24*3_600_000)
		ran := map[string]core.Ms{}
		p := l.start(func(e *core.Env) core.Machine {
			return &foreverDrain[toy]{e: e, q: q, run: toyRun(func(d *Due) core.Verdict {
				ran[d.identity()] = l.now
				return core.Done
			})}
		})
		begin := l.now
		p.run()
		if p.notes[core.NoteFarAhead] != 1 {
			t.Errorf("%d markers were found far ahead", p.notes[core.NoteFarAhead])
		}
		if _, ok := l.rows[near]; !ok {
			t.Errorf("the honest one was touched")
		}
		l.rest(begin+honest(&l.dials, q)+l.dials.Skew+3*l.dials.PollEvery, p)
		d, err := keys.ParseDue(far)
		if err != nil {
			t.Fatal(err)
		}
		if at, ok := ran[(&Due{Due: d}).identity()]; !ok || at > begin+honest(&l.dials, q)+2*l.dials.PollEvery {
			t.Errorf("armed far ahead, it ran at %d (%v), armed at %d: %v", at, ok, begin, l.keys("due/"))
		}
		if len(ran) != 2 || p.notes[core.NoteFarAhead] != 1 {
			t.Errorf("%d of 2 markers ran, %d were found far ahead", len(ran), p.notes[core.NoteFarAhead])
		}
	})
}

// identity is what a marker stands for, whatever its time.
func (d *Due) identity() string {
	k := d.Due
	k.At, k.Shard = 0, 0
	return k.Key()
}

// A confirmed reap-check that is dated anew is confirmed again: nobody knows when
// it was.
func TestAReapCheckDatedAnewIsUnconfirmed(t *testing.T) {
	l := newLab(t)
	l.arm(keys.Reap, 1, l.now+10*365*24*3_600_000)
	l.start(func(e *core.Env) core.Machine {
		return &foreverDrain[toy]{e: e, q: keys.Reap, run: toyRun(allDone)}
	}).run()
	ks := l.keys("due/reap/")
	if len(ks) != 1 {
		t.Fatalf("markers %v", ks)
	}
	d, _ := keys.ParseDue(ks[0])
	m, err := format.DecodeReapMark(l.rows[ks[0]].Val)
	if err != nil || m.Confirmed || d.At != l.dials.GraceEnd(l.now) {
		t.Errorf("at %d: %+v, %v; want an unconfirmed one at %d", d.At, m, err, l.dials.GraceEnd(l.now))
	}
}

// An intent that was born, or looked at, by a clock years ahead comes to its end
// all the same, with every grace counted from when that was seen.
func TestAnIntentOfAWrongClockIsJudged(t *testing.T) {
	for _, condemned := range []bool{false, true} {
		l := newLab(t)
		years := l.now + 10*365*24*3_600_000
		x := format.Intent{Store: "std", Birth: years, Attempt: "a", Generation: 1}
		o := keys.Settled{Bucket: "b", Stream: 7, Epoch: 1}
		if condemned {
			x.Condemned, x.Created, x.Since, x.Look = true, 5, years, format.LookDead
			o = o.At(keys.Incarnation{Generation: 1, Created: 5})
		}
		shard := keys.ShardOfObject(keys.Settled{Bucket: "b", Stream: 7, Epoch: 1}.Key(), l.dials.Shards)
		due := l.put(keys.DueOrphan(shard, o.Key()), x.Encode())
		l.put(keys.SchedOrphan(shard, plan.OrphanAt(&l.dials, &x), o.Key()), "")
		at := o
		if !condemned {
			at = o.At(keys.Incarnation{Generation: 1, Created: due.Rev})
		}
		obj := core.Obj{Store: "std", Key: at.Key()}
		l.objs[obj] = "torn"
		begin, p := l.now, l.auditor(Only(keys.Orphan))
		for l.objs[obj] != "" && l.now < begin+10*3_600_000 {
			l.rest(l.now+60_000, p)
		}
		took := l.now - begin
		least := l.dials.ReadGrace
		if !condemned {
			least += l.dials.OrphanGrace
		}
		if l.objs[obj] != "" || took < least || took > least+l.dials.OrphanGrace+l.dials.BackoffMax {
			t.Errorf("condemned %v: the object went after %d ms (%v left), want at least %d", condemned, took, l.objs[obj] != "", least)
		}
		l.rest(l.now+60_000, p)
		if left := append(l.keys("due/orphan"), l.keys("sched/orphan")...); len(left) != 0 {
			t.Errorf("condemned %v: left %v", condemned, left)
		}
	}
}
