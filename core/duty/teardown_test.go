package duty

import (
	"math"
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

func runTeardown(d *Teardown, t core.Turn, e *core.Env, due *Due) core.Verdict {
	return d.Step(t, e, due)
}

// remove deletes a stream: the tombstone, and the teardown marker.
func (l *lab) remove(id uint64) {
	s, _, _ := l.stream(id)
	s.Deleted, s.DeletedAt = true, l.now
	l.put(keys.Stream(id), s.Encode())
	l.put(keys.DueTeardown(keys.ShardOfStream(id, l.dials.Shards), l.now, id, false), format.TeardownMark{DeletedAt: l.now}.Encode())
}

func (l *lab) drainTeardown(until core.Ms) {
	l.t.Helper()
	l.drainAll(keys.Teardown, until, func() *labProc { return l.start(pass(keys.Teardown, runTeardown)) })
}

// teardownWorld is a stream with two settled objects and span rows on two chains,
// and another stream beside it.
func teardownWorld(t *testing.T) (l *lab, markers []string) {
	l = newLab(t)
	l.create(1, 0)
	l.create(2, 0)
	l.mint("s", 1, core.Standard)
	l.mint("s", 2, core.Express)
	l.catalog(1, l.settled(1, []int{3, 2}), l.settled(1, []int{4}))
	l.put(keys.Trim(1), format.EncodeNumber(1))
	l.put(keys.Producer(1), "p")
	markers = []string{
		l.batch("s", 1, true, []append1{{1, 2}, {2, 1}}, []append1{{1, 1}}),
		l.batch("s", 1, false, []append1{{1, 2}}),
		l.batch("s", 2, false, []append1{{2, 1}, {1, 2}}),
	}
	l.batch("s", 2, false, []append1{{2, 1}}) // above the stream's last slot
	return l, markers
}

// resolve takes a batch marker away, as an era does that found its tombstoned
// streams out and settled the others.
func (l *lab) resolve(marker string) {
	d, _ := keys.ParseDue(marker)
	m, _ := format.DecodeBatchMark(l.rows[marker].Val)
	l.put(keys.DueTrimCheck(d.Shard, l.dials.GraceEnd(l.now), d.Star, d.Epoch), format.TrimMark{}.Encode())
	delete(l.rows, marker)
	delete(l.rows, keys.SchedDenorm(d.Shard, m.Ready, d.Star, d.Epoch, d.Slot))
}

// of is what the metastore still holds of a stream.
func (l *lab) of(id uint64) (left []string) {
	for _, k := range []string{keys.Stream(id), keys.Trim(id), keys.Producer(id), keys.Writer(id)} {
		if _, ok := l.rows[k]; ok {
			left = append(left, k)
		}
	}
	left = append(left, l.keys(strings.TrimSuffix(keys.Ref(id, 0), keys.Ref(0, 0)[len(keys.Ref(0, 0))-16:]))...)
	for _, k := range append(l.keys("due/"), l.keys("park/")...) {
		if d, err := keys.ParseDue(k); err == nil && d.Stream == id {
			left = append(left, k)
		}
	}
	return left
}

func TestTeardownLife(t *testing.T) {
	l, markers := teardownWorld(t)
	l.remove(1)
	begin := l.now
	p := l.start(pass(keys.Teardown, runTeardown))
	p.run()
	if p.notes[core.NoteTeardownGated] != 1 || len(l.keys("due/reap/")) != 0 || len(l.keys("ref/0000000000000001/")) != 4 {
		t.Fatalf("gated %d, reaps %v", p.notes[core.NoteTeardownGated], l.keys("due/reap/"))
	}
	for i, k := range markers {
		m, err := format.DecodeBatchMark(l.rows[k].Val)
		if err != nil || m.Ready != l.now || m.Crossing {
			t.Errorf("marker %d was not ripened: %+v (%v)", i, m, err)
		}
	}
	if ripe := len(l.keys("sched/denorm/")); ripe != 4 {
		t.Errorf("%d schedule rows", ripe)
	}
	from, _ := keys.DueRange(keys.Teardown, keys.ShardOfStream(1, l.dials.Shards), 0)
	if ks := l.keys(from); len(ks) != 1 || !strings.Contains(ks[0], "~0000000000000001") {
		t.Fatalf("re-armed as %v", ks)
	} else if m, err := format.DecodeTeardownMark(l.rows[ks[0]].Val); err != nil || m.DeletedAt != begin {
		t.Errorf("the deletion time got lost: %+v %v", m, err)
	}
	for _, k := range markers {
		l.resolve(k)
	}
	l.drainTeardown(math.MaxInt64)
	if left := l.of(1); len(left) != 0 {
		t.Errorf("left of the stream: %v", left)
	}
	if n := len(l.keys("due/reap/")); n != 2 {
		t.Errorf("%d reap-checks for 2 objects", n)
	}
	if l.now-begin < l.dials.GateRetry+l.dials.Quiesce {
		t.Errorf("all over after %d ms", l.now-begin)
	}
	if got := l.read(2); got != l.want[2] {
		t.Errorf("the other stream reads %q", got)
	}
}

// A parked batch marker gates as well (gap 13), and is not ripened.
func TestTeardownGatesOnParkedMarkers(t *testing.T) {
	l, markers := teardownWorld(t)
	for _, k := range markers[1:] {
		l.resolve(k)
	}
	m, _ := format.DecodeBatchMark(l.rows[markers[0]].Val)
	m.Parked = true
	l.put(markers[0], m.Encode())
	l.remove(1)
	p := l.start(pass(keys.Teardown, runTeardown))
	p.run()
	if p.notes[core.NoteTeardownGated] != 1 || len(l.keys("ref/0000000000000001/")) != 4 {
		t.Errorf("not gated")
	}
	if got, _ := format.DecodeBatchMark(l.rows[markers[0]].Val); got.Ready != m.Ready {
		t.Errorf("a parked marker was ripened")
	}
}

// A stream with many rows and objects: pages, transactions within their bounds
// (C35), and the row of the final walk that a late deposit left.
func TestTeardownOfManyRows(t *testing.T) {
	l := newLab(t)
	l.dials.ScanPage = 8
	l.create(1, 0)
	objects := 0
	for i := range 40 {
		var es []format.Entry
		for range i%7*20 + 1 { // up to 121 entries: more than a transaction arms
			es = append(es, l.settled(1, []int{1}))
		}
		objects += len(es)
		l.catalog(1, es...)
	}
	l.remove(1)
	p := l.start(pass(keys.Teardown, runTeardown))
	p.run()
	if n := len(l.keys("due/reap/")); n != objects || len(l.keys("ref/")) != 0 {
		t.Fatalf("%d reap-checks for %d objects, %d rows left", n, objects, len(l.keys("ref/")))
	}
	l.catalog(1, l.settled(1, []int{1})) // a commit whose guards read before the walk
	l.drainTeardown(math.MaxInt64)
	if n := len(l.keys("due/reap/")); n != objects+1 || len(l.of(1)) != 0 {
		t.Errorf("%d reap-checks for %d objects, left %v", n, objects+1, l.of(1))
	}
}

// C6: a row that does not decode keeps its objects; the marker is parked.
func TestTeardownOfADamagedRow(t *testing.T) {
	l, markers := teardownWorld(t)
	for _, k := range markers {
		l.resolve(k)
	}
	l.remove(1)
	k := l.keys("ref/0000000000000001/")[1]
	good := l.rows[k].Val
	l.put(k, "damaged")
	for range 20 {
		l.start(pass(keys.Teardown, runTeardown)).run()
		l.now += 60_000
	}
	if n := len(l.keys("park/teardown/")); n != 1 {
		t.Fatalf("parked: %v", l.keys("park/"))
	}
	p, err := format.DecodeParked(l.rows[l.keys("park/teardown/")[0]].Val)
	if err != nil || !strings.Contains(p.Reason, k) {
		t.Errorf("parked: %q, %v, which does not name row %s", p.Reason, err, k)
	}
	l.put(k, good)
}

// Cut at every effect, in every way: nothing is lost, and the end is the same.
func TestTeardownCrashSweep(t *testing.T) {
	for _, phase := range []string{"gated", "first", "final"} {
		l, markers := teardownWorld(t)
		l.remove(1)
		ungate := func(l *lab) {
			for _, k := range markers {
				if _, ok := l.rows[k]; ok {
					l.resolve(k)
				}
			}
		}
		if phase != "gated" {
			ungate(l)
		}
		if phase == "final" {
			l.start(pass(keys.Teardown, runTeardown)).run()
			l.now += l.dials.Quiesce
			l.catalog(1, l.settled(1, []int{1}))
		}
		n := sweep(l, func(l *lab) *labProc { return l.start(pass(keys.Teardown, runTeardown)) },
			func(l *lab) { ungate(l); l.drainTeardown(math.MaxInt64) },
			func(l *lab, at string) {
				if left := l.of(1); len(left) != 0 {
					t.Errorf("%s: left %v", at, left)
				}
				if got := l.read(2); got != l.want[2] {
					t.Errorf("%s: the other stream reads %q", at, got)
				}
			})
		t.Logf("%s: %d cuts", phase, n)
	}
}

// C16: an error on the k-th read, of every kind and for every k: it ends in an
// error and runs again.
func TestTeardownReadErrors(t *testing.T) {
	for o := core.Outcome(1); int(o) < core.Outcomes; o++ {
		if o == core.Absent {
			continue
		}
		for k := 0; ; k++ {
			l, markers := teardownWorld(t)
			l.dials.ScanPage = 2
			for _, m := range markers {
				l.resolve(m)
			}
			l.remove(1)
			n := 0
			l.deny = func(op *core.Op) (core.Outcome, bool) {
				if op.Kind != core.KGet && op.Kind != core.KScan {
					return 0, false
				}
				n++
				return o, n == k+1
			}
			l.start(pass(keys.Teardown, runTeardown)).run()
			reads := n
			l.deny = nil
			l.drainTeardown(math.MaxInt64)
			if left := l.of(1); len(left) != 0 {
				t.Fatalf("%s on read %d: left %v", o, k, left)
			}
			if k >= reads {
				break
			}
		}
	}
}

// Without space for puts the refs into chain slots still go.
func TestTeardownWithoutSpace(t *testing.T) {
	l, markers := teardownWorld(t)
	for _, m := range markers {
		l.resolve(m)
	}
	l.remove(1)
	l.deny = func(op *core.Op) (core.Outcome, bool) {
		for i := range op.Txn {
			if v := op.Txn[i].Verb; v == core.VPut || v == core.VPutLeased {
				return core.NoSpace, true
			}
		}
		return 0, false
	}
	l.start(pass(keys.Teardown, runTeardown)).run()
	if ks := l.keys("ref/0000000000000001/"); len(ks) != 1 {
		t.Errorf("rows left: %v", ks)
	}
	l.deny = nil
	l.drainTeardown(math.MaxInt64)
	if left := l.of(1); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}
