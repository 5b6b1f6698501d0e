package admin

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Gap 18: the last batch marker is resolved, its trim-check stands, a reader has a
// fresh plan for the slots. No record goes, and nothing is listed, until every
// chain is trimmed to its cut; the laws hold the deletion of each slot to the
// grace of its readers.
func TestNoRecordGoesUnderATrimCheck(t *testing.T) {
	r := newRig(t)
	a, b := drained(r)
	r.auditor()
	p, d, v := r.operator(Order{Star: "s1", Wait: true})
	whole := func() bool {
		for _, epoch := range []uint64{1, 2} {
			val, ok := r.row(keys.ChainTrim("s1", epoch))
			trim, _ := format.DecodeChainTrim(val)
			if !ok || trim.Trimmed != r.head(epoch).Cut {
				return false
			}
		}
		return true
	}
	trimmed, rewrittenAt, reapedAt := false, core.Ms(0), core.Ms(0)
	r.seen = func(*core.Op) {
		if rewrittenAt == 0 && d.Report.Phase == format.GoneDraining && r.count("due/denorm/") == 0 {
			rewrittenAt = r.now
		}
		if _, ok := r.row(keys.ChainConst("s1", 1)); !ok && reapedAt == 0 {
			if reapedAt = r.now; !trimmed {
				r.fail("a record went before both chains were trimmed to their cuts")
			}
		}
		trimmed = trimmed || whole()
	}
	r.until("the end", func() bool { return p.done })
	r.finished(d, *v, a, b)
	if rewrittenAt == 0 || reapedAt-rewrittenAt < r.dials.ReadGrace {
		t.Errorf("rewritten at %d, reaped at %d: less than a grace of %d", rewrittenAt, reapedAt, r.dials.ReadGrace)
	}
}

// C1: slots come back after the trim, before and after the records go, and after
// the first sweep. Each is swept, and the last within the decommission.
func TestASlotThatComesBackIsSwept(t *testing.T) {
	r := newRig(t)
	a, b := drained(r)
	r.auditor()
	p, d, v := r.operator(Order{Star: "s1", Wait: true})
	come := func(store core.Store, epoch, slot uint64) {
		r.object(core.Obj{Store: store, Key: keys.Slot("s1", epoch, slot)}, format.Fence("s1", epoch, slot))
	}
	var swept []core.Ms
	step := 0
	r.seen = func(op *core.Op) {
		_, standing := r.row(keys.ChainConst("s1", 2))
		val, _ := r.row(keys.Gone("s1"))
		g, _ := format.DecodeGone(val)
		switch {
		case step == 0 && g.Phase == format.GoneDraining && r.count("due/denorm/") == 0 && r.count("due/trimcheck/") == 0:
			step++
			come("std-a", 1, 0) // below trimmed
			come("std-b", 2, 9) // above the cut, where no purge reaches
		case step == 1 && !standing:
			step++
			come("std-b", 1, 1)
		case step == 2 && g.Phase == format.GoneSwept:
			if r.objects("chain/s1/") > 0 {
				r.fail("the first sweep left something")
			}
			swept = append(swept, r.now)
			step++
			come("std-a", 2, 0)
		case step == 3 && g.Phase == format.GoneDone:
			swept = append(swept, r.now)
			step++
		}
	}
	r.until("the end", func() bool { return p.done })
	r.finished(d, *v, a, b)
	if step != 4 || d.Report.Swept != 4 {
		t.Errorf("at %d, %+v", step, d.Report)
	}
	if swept[1]-swept[0] < r.dials.RequestLife {
		t.Errorf("the sweeps lie %d ms apart, and a request lives %d", swept[1]-swept[0], r.dials.RequestLife)
	}
}

// reaped is a rig whose star has nothing left but its prefix.
func reaped(r *rig) {
	r.put(keys.Mint("s1", core.Standard), format.EncodeNumber(3))
	r.put(keys.Gone("s1"), format.Gone{Phase: format.GoneDraining, Since: 1, Stores: []core.Store{"std-a", "std-b", "exp-a"}}.Encode())
}

// C24: two of 10,000 keys in a dead star's prefix are foreign. They are reported,
// not deleted, and stop nobody. Nor does what looks like the star's, and is not.
func TestForeignKeysStopNobody(t *testing.T) {
	r := newRig(t)
	r.dials.DeleteBatch = 1000
	reaped(r)
	r.unjudged = true // ten thousand judgements, of no interest here
	foreign := []core.Obj{
		{Store: "std-a", Key: "chain/s1/backup.tar"},
		{Store: "std-b", Key: keys.ChainPrefix("s1", 2) + "0000000000000001.bak"},
	}
	others := []core.Obj{
		{Store: "std-a", Key: "chain/s1x"},
		{Store: "std-a", Key: "chain/s10/x"},
		{Store: "exp-a", Key: "chains/s1/x"},
	}
	for _, o := range append(slices.Clone(foreign), others...) {
		r.object(o, "not ours")
	}
	for i := range uint64(9998) {
		r.object(core.Obj{Store: []core.Store{"std-a", "std-b", "exp-a"}[i%3], Key: keys.Slot("s1", i/100, i%100)}, "")
	}
	d, v := r.decommission(Order{Star: "s1", Wait: true})
	if v != core.Done || d.Report.Swept != 9998 || d.Report.Foreign != 2 || !slices.Equal(d.Report.Named, foreign) {
		r.fail("%s: swept %d, foreign %d %v", v, d.Report.Swept, d.Report.Foreign, d.Report.Named)
	}
	for _, o := range append(foreign, others...) {
		if r.w.Bucket(o.Store).Lookup(o.Key) == nil {
			t.Errorf("%v is gone", o)
		}
	}
	if ks := r.keysOf("s1"); len(ks) != 3 { // the record, and what is foreign
		t.Errorf("left: %v", ks)
	}
}

// A store that does not answer keeps the star from being done, and keeps no other
// store from being swept.
func TestAStoreThatIsAway(t *testing.T) {
	r := newRig(t)
	reaped(r)
	for _, st := range []core.Store{"std-a", "std-b"} {
		r.object(core.Obj{Store: st, Key: keys.Slot("s1", 1, 0)}, format.Fence("s1", 1, 0))
	}
	r.w.Bucket("std-a").Down = true
	d, v := r.decommission(Order{Star: "s1"})
	if v != core.Again || !slices.Equal(r.reasons(d), []Reason{Unanswered}) || d.Report.Blockers[0].Key != "std-a" || r.objects("chain/s1/") != 1 {
		t.Fatalf("%s %+v, %d left", v, d.Report, r.objects("chain/s1/"))
	}
	r.w.Bucket("std-a").Down = false
	if d, v := r.decommission(Order{Star: "s1", Wait: true}); v != core.Done || r.objects("chain/s1/") != 0 {
		t.Fatalf("%s %+v", v, d.Report)
	}
}

// What says that it was swept far in the future was dated by a clock that was
// wrong: the first sweep is taken again.
func TestASweepFromTheFuture(t *testing.T) {
	r := newRig(t)
	reaped(r)
	r.put(keys.Gone("s1"), format.Gone{Phase: format.GoneSwept, SweptAt: r.now + 1<<40, Stores: []core.Store{"std-a"}}.Encode())
	began := r.now
	if d, v := r.decommission(Order{Star: "s1", Wait: true}); v != core.Done || r.now-began != r.dials.RequestLife {
		t.Errorf("%s %+v after %d ms", v, d.Report, r.now-began)
	}
}

// C33: however many keys stand under the prefix, a sweep holds a page of them.
func TestTheSweepHoldsAPage(t *testing.T) {
	const keysOf = 300_000
	d := rigDials()
	d.DeleteBatch = 1000
	env := core.Env{Dials: d, Process: "p"}
	var w sweep
	var rep Report
	var x core.Exchange
	next, deleted, held := 0, 0, uint64(0)
	var pending []core.Effect
	done := w.step(x.Start(), &env, "s1", []core.Store{"a"}, &rep)
	pending = append(pending, x.Out...)
	for !done {
		ef := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		var r core.Reply
		switch ef.Op.Kind {
		case core.KList:
			for range min(int(ef.Op.Num), keysOf-next) {
				r.Items = append(r.Items, core.Item{Key: strings.Clone(keys.Slot("s1", 1, uint64(next)))})
				next++
			}
			r.More = next < keysOf
			if next%50_000 == 0 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				held = max(held, m.HeapAlloc)
			}
		case core.KDelete:
			deleted++
		default:
			t.Fatal(ef.Op)
		}
		done = w.step(x.Deliver(ef.At, r), &env, "s1", []core.Store{"a"}, &rep)
		pending = append(pending, x.Out...)
	}
	if deleted != keysOf || rep.Swept != keysOf {
		t.Errorf("%d of %d keys deleted", deleted, keysOf)
	}
	if held > 32<<20 {
		t.Errorf("%d MiB are held", held>>20)
	}
	t.Logf("%d KiB held at most", held>>10)
}
