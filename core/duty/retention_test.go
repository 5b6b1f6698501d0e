package duty

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

func runRetention(d *Retention, t core.Turn, e *core.Env, due *Due) core.Verdict {
	return d.Step(t, e, due)
}

func runGC(d *GCRewrite, t core.Turn, e *core.Env, due *Due) core.Verdict { return d.Step(t, e, due) }

const testAge = 3_600_000

// age arms the retention of a stream.
func (l *lab) age(id uint64) {
	l.put(keys.DueRetention(keys.ShardOfStream(id, l.dials.Shards), l.now, id), format.RetentionMark{}.Encode())
}

func (l *lab) retention() *labProc { return l.start(pass(keys.Retention, runRetention)) }

// retentionWorld has one stream with an age policy: three settled objects in two
// catalog rows, and a span row. What is older than an hour ends in the middle of
// the second object.
func retentionWorld(t *testing.T) *lab {
	l := newLab(t)
	l.create(1, testAge)
	l.mint("s", 1, core.Standard)
	cut := l.now - testAge
	l.catalog(1, l.settled(1, []int{1, 1}, cut-9, cut-8), l.settled(1, []int{2, 2, 2}, cut-7, cut-6, cut+5))
	l.catalog(1, l.settled(1, []int{3}, cut+6))
	l.batch("s", 1, false, []append1{{1, 2}})
	return l
}

func TestRetentionLife(t *testing.T) {
	l := retentionWorld(t)
	l.age(1)
	begin := l.now
	p := l.retention()
	p.run()
	if got := l.mark(1); got != 6 {
		t.Errorf("watermark %d, want 6: the chunk boundary inside the second object", got)
	}
	row, _ := format.DecodeRow(l.rows[l.keys("ref/")[0]].Val)
	if len(row.Entries) != 1 || row.Entries[0].LiveFrom != 6 || row.First != 2 {
		t.Errorf("the straddling row is %+v", row)
	}
	if n := len(l.keys("due/reap")); n != 2 {
		t.Errorf("%d reap-checks, want those of the first object and the second", n)
	}
	due := l.keys("due/retention")
	if len(due) != 1 {
		t.Fatalf("retention markers: %v", due)
	}
	if d, _ := keys.ParseDue(due[0]); d.At != begin+5 {
		t.Errorf("comes back %d ms from now, want 5: when the second object expires as a whole", d.At-begin)
	}
	// C27: the second pass in a row writes nothing but its next marker.
	reap := l.keys("due/reap")
	l.age(1)
	delete(l.rows, due[0])
	wrote := l.wrote
	l.retention().run()
	if l.wrote != wrote+1 || len(l.keys("due/reap")) != len(reap) {
		t.Errorf("%d writes in the second pass", l.wrote-wrote)
	}
}

// C28: no appends for three times the age: the data is trimmed, its objects go,
// and only retention's own clock is left.
func TestRetentionToTheEnd(t *testing.T) {
	l := retentionWorld(t)
	l.age(1)
	begin := l.now
	for l.now < begin+3*testAge+3*l.dials.AgeCap[core.Standard] {
		l.retention().run()
		l.settleDown()
		l.now += testAge / 4
	}
	if got, want := l.mark(1), uint64(len(l.want[1])/recordSize); got != want {
		t.Errorf("watermark %d of %d", got, want)
	}
	l.settledCheck("end")
	if len(l.objs) != 0 || len(l.keys("ref/")) != 0 || len(l.keys("due/")) != 1 {
		t.Errorf("left %v %v", l.keys("ref/"), l.keys("due/"))
	}
}

func TestRetentionResolves(t *testing.T) {
	for _, lift := range []func(l *lab){
		func(l *lab) { l.remove(1) },
		func(l *lab) { delete(l.rows, keys.Stream(1)) },
		func(l *lab) { l.create(1, 0) },
	} {
		l := retentionWorld(t)
		lift(l)
		l.age(1)
		l.retention().run()
		if n := len(l.keys("due/retention")); n != 0 || l.mark(1) != 0 {
			t.Errorf("%d markers, watermark %d", n, l.mark(1))
		}
	}
}

// Cut at every effect: one clock, never two (gap 22), and the same end.
func TestRetentionCrashSweep(t *testing.T) {
	l := retentionWorld(t)
	l.age(1)
	n := sweep(l, func(l *lab) *labProc { return l.retention() },
		func(l *lab) {
			for range 3 {
				l.now += 2000
				l.retention().run()
			}
		},
		func(l *lab, at string) {
			if m := l.keys("due/retention"); len(m) != 1 {
				t.Errorf("%s: markers %v", at, m)
			}
			if got := l.read(1); l.mark(1) < 6 || got != l.want[1][l.mark(1)*recordSize:] {
				t.Errorf("%s: watermark %d, reads %q", at, l.mark(1), got)
			}
		})
	t.Logf("%d cuts", n)
}

// Without space nothing above the standing watermark may go.
func TestRetentionWithoutSpace(t *testing.T) {
	l := retentionWorld(t)
	l.put(keys.Trim(1), format.EncodeNumber(1))
	l.age(1)
	l.deny = func(op *core.Op) (core.Outcome, bool) {
		for i := range op.Txn {
			if op.Txn[i].Verb == core.VPut {
				return core.NoSpace, true
			}
		}
		return 0, false
	}
	rows := len(l.keys("ref/"))
	l.retention().run()
	if len(l.keys("ref/")) != rows || len(l.keys("due/retention")) != 1 {
		t.Errorf("rows %v", l.keys("ref/"))
	}
}

// gcWorld has a stream whose first object is half dead, and a GC marker for it.
func gcWorld(t *testing.T) (l *lab, source core.Obj) {
	l = newLab(t)
	l.create(1, 0)
	a, b := l.settled(1, []int{2, 2, 3}), l.settled(1, []int{1})
	a.LiveFrom = 4
	l.put(keys.Trim(1), format.EncodeNumber(4))
	l.catalog(1, a, b)
	key := objectKey(1, &a)
	l.put(keys.DueGC(keys.ShardOfObject(key, l.dials.Shards), 64, key), format.ReapMark{Class: a.Class, Footer: a.Footer, Dead: 64}.Encode())
	return l, core.Obj{Store: "std", Key: key}
}

func (l *lab) gc() *labProc { return l.start(pass(keys.GC, runGC)) }

func TestGCLife(t *testing.T) {
	l, source := gcWorld(t)
	p := l.gc()
	p.run()
	row, _ := format.DecodeRow(l.rows[l.keys("ref/")[0]].Val)
	if e := row.Entries[0]; e.Revision != 1 || e.First != 0 || e.LiveFrom != 4 || e.Count != 7 {
		t.Errorf("the entry is %+v", e)
	}
	if p.notes[core.NoteGCMoved] == 0 || len(l.keys("due/gc")) != 0 || len(l.keys("due/orphan")) != 1 {
		t.Errorf("moved %d, intents %v", p.notes[core.NoteGCMoved], l.keys("due/orphan"))
	}
	if ks := l.keys("due/reap"); len(ks) != 1 {
		t.Errorf("reap-checks: %v", ks)
	}
	l.settleDown()
	l.settledCheck("end")
	if _, ok := l.objs[source]; ok {
		t.Errorf("the husk stands")
	}
}

func TestGCCrashSweep(t *testing.T) {
	l, source := gcWorld(t)
	n := sweep(l, func(l *lab) *labProc { return l.gc() }, (*lab).settleDown, func(l *lab, at string) {
		l.settledCheck(at)
		if _, ok := l.objs[source]; ok {
			t.Errorf("%s: the husk stands", at)
		}
	})
	t.Logf("%d cuts", n)
}

// What no entry names any more is reap fodder: a deleted stream's, a retired row's,
// one that was moved by another.
func TestGCOfFodder(t *testing.T) {
	for name, change := range map[string]func(l *lab){
		"deleted": func(l *lab) { l.remove(1) },
		"retired": func(l *lab) {
			k := l.keys("ref/")[0]
			row, _ := format.DecodeRow(l.rows[k].Val)
			row.Entries, row.First = row.Entries[1:], 7
			l.put(keys.Trim(1), format.EncodeNumber(7))
			l.put(k, row.Encode())
		},
	} {
		l, _ := gcWorld(t)
		change(l)
		p := l.gc()
		p.run()
		if p.notes[core.NoteGCMoved] != 0 || len(l.keys("due/reap")) != 1 || len(l.keys("due/gc")) != 0 {
			t.Errorf("%s: moved %d, reaps %v", name, p.notes[core.NoteGCMoved], l.keys("due/reap"))
		}
	}
}

// Trimmed to its end, the entry is buried where it is.
func TestGCOfNothingLive(t *testing.T) {
	l, source := gcWorld(t)
	l.put(keys.Trim(1), format.EncodeNumber(7))
	l.gc().run()
	l.settleDown()
	if _, ok := l.objs[source]; ok {
		t.Errorf("the husk stands")
	}
	if got := l.read(1); got != record(1, 7) {
		t.Errorf("reads %q", got)
	}
}

// Two GCs of one object, and one beside a tail-fill of the same entry.
func TestTwoGCsOfOneObject(t *testing.T) {
	for seed := range 40 {
		l, source := gcWorld(t)
		ps := []*labProc{l.gc(), l.gc()}
		for r := seed + 1; !ps[0].done || !ps[1].done; r = (r*1103515245 + 12345) & (1<<31 - 1) {
			p := ps[r>>8&1]
			if p.done {
				p = ps[1-(r>>8&1)]
			}
			p.answer(p.next(func(n int) int { return r >> 9 % n }))
		}
		l.settleDown()
		l.settledCheck("two")
		if _, ok := l.objs[source]; ok || t.Failed() {
			t.Fatalf("seed %d: the husk stands: %v", seed, ok)
		}
	}
}

// TC2: where a GC's source turns out to be a chain slot, its chain gets a
// trim-check one read grace out, in the transaction that resolves the marker. The
// slot is not read, not moved and not deleted.
func TestGCOfAChainSlot(t *testing.T) {
	l := newLab(t)
	l.mint("s", 3, core.Standard)
	l.create(1, 0)
	l.batch("s", 3, false, []append1{{1, 2}})
	slot := keys.Slot("s", 3, 0)
	l.put(keys.DueGC(keys.ShardOfObject(slot, l.dials.Shards), 64, slot), format.ReapMark{Dead: 64}.Encode())
	l.deny = func(op *core.Op) (core.Outcome, bool) {
		if op.IsStore() {
			t.Errorf("it sends %s", op)
		}
		return core.OK, false
	}
	want := keys.DueTrimCheck(keys.ShardOfChain("s", 3, l.dials.Shards), l.dials.GraceEnd(l.now), "s", 3)
	watched := func(l *lab, at string) {
		if _, ok := l.rows[want]; !ok && len(l.keys("due/gc/")) == 0 {
			t.Errorf("%s: the slot's marker went, and no trim-check stands: %v", at, l.keys("due/"))
		}
	}
	n := sweep(l, func(l *lab) *labProc { return l.gc() }, func(l *lab) { watched(l, "cut"); l.gc().run() }, watched)
	p := l.gc()
	p.run()
	if _, ok := l.rows[want]; !ok || len(l.keys("due/gc/")) != 0 || len(l.keys("park/")) != 0 {
		t.Errorf("left %v, want %s", l.keys("due/"), want)
	}
	t.Logf("%d cuts", n)
}
