package duty

import (
	"reflect"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/plain"
)

func TestReapAndOrphanArePlain(t *testing.T) {
	for _, m := range []any{ReapCheck{}, Orphan{}} {
		if err := plain.Check(reflect.TypeOf(m)); err != nil {
			t.Error(err)
		}
	}
}

func reapPass(l *lab) *labProc {
	return l.start(pass(keys.Reap, func(m *ReapCheck, t core.Turn, e *core.Env, due *Due) core.Verdict { return m.Step(t, e, due) }))
}

// husk is a world with one settled object of stream 1 and a reap-check on it;
// whether a ref still names it is the caller's choice.
func husk(t *testing.T, named bool) (*lab, format.Entry, core.Obj) {
	l := newLab(t)
	l.dials.GCMinDead = 100
	l.create(1, 0)
	e := l.settled(1, []int{4, 4, 2})
	if named {
		l.catalog(1, e)
	}
	l.armReap(&e, l.now)
	l.laws(&core.Op{})
	return l, e, core.Obj{Store: "std", Key: objectKey(1, &e)}
}

// armReap puts an unconfirmed reap-check that is ripe at a time.
func (l *lab) armReap(e *format.Entry, at core.Ms) string {
	o := objectKey(1, e)
	key := keys.DueReap(keys.ShardOfObject(o, l.dials.Shards), at, o)
	l.put(key, format.ReapMark{Class: e.Class, Footer: e.Footer}.Encode())
	return key
}

// markers decodes what stands in the reap queue.
func (l *lab) markers() (ms []format.ReapMark, dues []keys.Due) {
	for _, k := range l.keys("due/reap/") {
		m, err := format.DecodeReapMark(l.rows[k].Val)
		if err != nil {
			l.t.Fatal(err)
		}
		d, err := keys.ParseDue(k)
		if err != nil {
			l.t.Fatal(err)
		}
		ms, dues = append(ms, m), append(dues, d)
	}
	return ms, dues
}

// drainReap runs reap passes, as time goes by, until the queue is empty.
func drainReap(l *lab) {
	for range 20 {
		_, dues := l.markers()
		if len(dues) == 0 {
			return
		}
		l.now = max(l.now, dues[0].At)
		reapPass(l).run()
	}
	l.t.Fatal("the reap queue does not drain")
}

// TestReapTwoPhases: an all-dead probe arms the confirmed marker, and only that
// one's deletes.
func TestReapTwoPhases(t *testing.T) {
	l, _, obj := husk(t, false)
	l.named[obj] = l.now // the last ref went just now
	p := reapPass(l)
	p.run()
	ms, dues := l.markers()
	if len(ms) != 1 || !ms[0].Confirmed || dues[0].At != l.dials.GraceEnd(l.now) || p.notes[core.NoteReapConfirmArmed] != 1 {
		t.Fatalf("%+v %+v", ms, dues)
	}
	if l.objs[obj] == "" {
		t.Fatal("an unconfirmed marker deleted")
	}
	l.now = dues[0].At - 1
	reapPass(l).run()
	if l.objs[obj] == "" {
		t.Fatal("deleted before its grace was over")
	}
	l.now++
	p = reapPass(l)
	p.run()
	if l.objs[obj] != "" || len(l.keys("due/")) != 0 || p.notes[core.NoteReapDeleted] != 1 {
		t.Fatalf("left: %v", l.keys("due/"))
	}
}

func TestReapStands(t *testing.T) {
	l, _, obj := husk(t, true)
	reapPass(l).run()
	if len(l.keys("due/")) != 0 || l.objs[obj] == "" {
		t.Fatalf("left: %v", l.keys("due/"))
	}
}

func TestReapHandsToGC(t *testing.T) {
	l, e, obj := husk(t, true)
	e.LiveFrom = e.First + 8
	l.catalog(1, e)
	l.put(keys.Trim(1), format.EncodeNumber(e.LiveFrom))
	reapPass(l).run()
	want := keys.DueGC(keys.ShardOfObject(obj.Key, l.dials.Shards), 8*recordSize, obj.Key)
	if ks := l.keys("due/"); len(ks) != 1 || ks[0] != want {
		t.Fatalf("%v, want %s", ks, want)
	}
	if m, err := format.DecodeReapMark(l.rows[want].Val); err != nil || m.Dead != 8*recordSize || m.Footer != e.Footer {
		t.Errorf("%+v %v", m, err)
	}
}

func TestReapGone(t *testing.T) {
	l, _, obj := husk(t, false)
	delete(l.objs, obj)
	reapPass(l).run()
	if ks := l.keys("due/"); len(ks) != 0 {
		t.Errorf("left: %v", ks)
	}
}

// TestReapArmedMeanwhile is gap 4: a killer arms the marker again while the duty
// works on it. It must not be resolved away, whatever the verdict was.
func TestReapArmedMeanwhile(t *testing.T) {
	for _, named := range []bool{false, true} {
		l, e, _ := husk(t, named)
		p := reapPass(l)
		for p.pending[0].Op.Kind != core.KTxn {
			p.answer(0)
		}
		key := l.armReap(&e, l.now) // the same key
		p.run()
		if _, ok := l.rows[key]; !ok && len(l.keys("due/reap/")) == 0 {
			t.Errorf("named %v: the kill has no watcher", named)
		}
		drainReap(l)
	}
}

// TestReapSweep cuts every effect of both phases.
func TestReapSweep(t *testing.T) {
	l, _, obj := husk(t, false)
	l.named[obj] = l.now
	n := sweep(l, reapPass, drainReap, func(w *lab, at string) {
		if len(w.objs) != 0 || len(w.keys("due/")) != 0 {
			t.Errorf("first phase, %s: left %v", at, w.keys("due/"))
		}
	})
	reapPass(l).run()
	_, dues := l.markers()
	l.now = dues[0].At
	n += sweep(l, reapPass, drainReap, func(w *lab, at string) {
		if len(w.objs) != 0 || len(w.keys("due/")) != 0 {
			t.Errorf("second phase, %s: left %v", at, w.keys("due/"))
		}
	})
	if n < 60 {
		t.Errorf("only %d cuts", n)
	}
}

// TestReapAnswers is C5 for this duty: no answer that is not definite deletes,
// and none loses the marker while the object stands.
func TestReapAnswers(t *testing.T) {
	for _, confirmed := range []bool{false, true} {
		for o := core.Absent; int(o) < core.Outcomes; o++ {
			for k := 0; ; k++ {
				l, e, obj := husk(t, true)
				if confirmed {
					l.put(l.armReap(&e, l.now), format.ReapMark{Class: e.Class, Footer: e.Footer, Confirmed: true}.Encode())
				}
				p, struck := reapPass(l), false
				for n := 0; !p.done; n++ {
					if op := &p.pending[0].Op; n == k {
						struck = true
						if o == core.Absent && (op.Key == keys.Stream(1) || op.Kind == core.KReadRange) {
							break // the absence of the descriptor, or of the object, is believed
						}
						p.deliver(0, core.Reply{Outcome: o})
						continue
					}
					p.answer(0)
					if l.objs[obj] == "" {
						t.Fatalf("confirmed %v, %s to effect %d: deleted a live object", confirmed, o, k)
					}
				}
				if !struck {
					break
				}
			}
		}
	}
}

// TestReapRefusedDeletes is C21: deletes are refused for an hour; the marker
// stays, retries thin out, and all goes once they succeed.
func TestReapRefusedDeletes(t *testing.T) {
	l, _, obj := husk(t, false)
	l.dials.PollEvery = l.dials.BackoffMax
	tries := 0
	l.deny = func(op *core.Op) (core.Outcome, bool) {
		if op.Kind == core.KDelete {
			tries++
			return core.Refused, true
		}
		return core.OK, false
	}
	for end := l.now + 3_600_000; l.now < end; l.now += 1000 {
		if _, dues := l.markers(); dues[0].At <= l.now {
			reapPass(l).run()
		}
	}
	if l.objs[obj] == "" || tries < 5 || tries > 20 {
		t.Fatalf("%d tries in an hour", tries)
	}
	l.deny = nil
	drainReap(l)
	if len(l.objs) != 0 {
		t.Error("the object is left")
	}
}

// TestReapWithoutSpace is C36 for this duty: no put passes, and yet what is dead
// goes, one grace after it was first seen to be; its marker stands until then.
func TestReapWithoutSpace(t *testing.T) {
	full := func(op *core.Op) (core.Outcome, bool) {
		for i := range op.Txn {
			if op.Txn[i].Verb == core.VPut {
				return core.NoSpace, true
			}
		}
		return core.OK, false
	}
	l, _, obj := husk(t, false)
	l.named[obj] = l.now
	l.deny = full
	p := reapPass(l)
	p.run()
	if p.done || len(l.keys("due/reap/")) != 1 {
		t.Fatal("it should wait, and its marker stand")
	}
	began := l.now
	for !p.done {
		p.wait()
		p.run()
	}
	if l.objs[obj] != "" || len(l.keys("due/")) != 0 || l.now < began+l.dials.ReadGrace {
		t.Errorf("at %d after %d: left %v", l.now, began, l.keys("due/"))
	}

	l, _, obj = husk(t, false) // nudged too early: it goes on waiting
	l.named[obj], l.deny = l.now, full
	p = reapPass(l)
	p.run()
	p.deliver(0, core.Reply{})
	if p.done || l.objs[obj] == "" || p.pending[0].Op.Kind != core.KWait {
		t.Error("a nudge is no grace")
	}

	l, e, _ := husk(t, true) // what GC would need cannot be written: the marker stays
	e.LiveFrom = e.First + 8
	l.catalog(1, e)
	l.put(keys.Trim(1), format.EncodeNumber(e.LiveFrom))
	l.deny = full
	reapPass(l).run()
	if len(l.keys("due/reap/")) != 1 {
		t.Error("the marker is gone, and no GC marker stands")
	}
}

// TestReapDamaged: what cannot be read is not touched, and parked.
func TestReapDamaged(t *testing.T) {
	l, e, obj := husk(t, true)
	l.put(keys.Ref(1, e.End()-1), "?")
	l.put(keys.DueReap(0, l.now, "no settled object"), format.ReapMark{}.Encode())
	l.put(keys.DueReap(1, l.now, obj.Key), "?")
	for range 10 {
		l.now += l.dials.BackoffMax
		reapPass(l).run()
	}
	if len(l.keys("due/")) != 0 || len(l.keys("park/")) < 2 || l.objs[obj] == "" {
		t.Errorf("left: %v %v", l.keys("due/"), l.keys("park/"))
	}
}

// R35: what a marker means is resolved by its class against the process's stores:
// of two objects of one key, only the one in the class's home is judged and goes.
func TestReapResolvesItsClass(t *testing.T) {
	l := newLab(t)
	l.create(1, 0)
	e := l.settled(1, []int{2})
	key := objectKey(1, &e)
	std, xp := core.Obj{Store: "std", Key: key}, core.Obj{Store: l.stores.Home(core.Express), Key: key}
	l.objs[xp] = l.objs[std]
	shard := keys.ShardOfObject(key, l.dials.Shards)
	l.put(keys.DueReap(shard, l.now+l.dials.ReadGrace, key), format.ReapMark{Class: core.Standard, Footer: e.Footer}.Encode())
	l.put(keys.DueReap(shard, l.now-1, key), format.ReapMark{Class: core.Express, Footer: e.Footer, Confirmed: true}.Encode())
	l.start(pass(keys.Reap, runReap)).run()
	if _, ok := l.objs[xp]; ok {
		t.Error("the object of the marker's class stands")
	}
	if _, ok := l.objs[std]; !ok {
		t.Error("the object of the other class went")
	}
}
