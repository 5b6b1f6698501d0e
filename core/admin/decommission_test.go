package admin

import (
	"reflect"
	"slices"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/plain"
)

func TestTheMachineIsPlain(t *testing.T) {
	if err := plain.Check(reflect.TypeOf(Decommission{})); err != nil {
		t.Error(err)
	}
}

// finished holds a world to what a decommission of s1 must leave.
func (r *rig) finished(d *Decommission, v core.Verdict, a, b uint64) {
	r.t.Helper()
	if v != core.Done || d.Report.Phase != format.GoneDone {
		r.fail("it ended %s in phase %d: %+v", v, d.Report.Phase, d.Report.Blockers)
	}
	if ks := r.keysOf("s1"); !slices.Equal(ks, []string{keys.Gone("s1")}) {
		r.fail("left of the star: %v", ks)
	}
	for id, want := range map[uint64]uint64{a: 8, b: 4} {
		if n, spans := r.content(id); n != want || spans != 0 {
			r.fail("stream %d has %d records, %d spans", id, n, spans)
		}
	}
}

// The whole life: a drained star, an auditor, and an operator who waits.
func TestDecommission(t *testing.T) {
	r := newRig(t)
	a, b := drained(r)
	began := r.now
	r.auditor()
	d, v := r.decommission(Order{Star: "s1", Wait: true})
	r.finished(d, v, a, b)
	if rep := &d.Report; rep.Ripened == 0 || rep.Reaped != 2 || rep.Foreign != 0 {
		t.Errorf("it reports %+v", rep)
	}
	if age := r.dials.AgeCap[core.Standard]; r.now-began > age/2 {
		t.Errorf("it took %d ms, and the age cap is %d: nothing was ripened", r.now-began, age)
	}
	// The name never serves again, and the verb says so again.
	s := r.star("s1")
	r.rest(3000)
	if ks := r.keysOf("s1"); len(ks) != 1 || s.p.notes[core.NoteStarRefused] != 1 {
		t.Errorf("a star of that name: %v", ks)
	}
	if d, v := r.decommission(Order{Star: "s1"}); v != core.Done || d.Report.Phase != format.GoneDone {
		t.Errorf("once more: %s %+v", v, d.Report)
	}
}

func (r *rig) reasons(d *Decommission) (rs []Reason) {
	for _, b := range d.Report.Blockers {
		if !slices.Contains(rs, b.Reason) {
			rs = append(rs, b.Reason)
		}
	}
	return rs
}

// What is refused: a name that nothing knows, a star that is registered. Nothing
// is written.
func TestRefusals(t *testing.T) {
	r := newRig(t)
	refused := func(o Order, v core.Verdict, why ...Reason) {
		t.Helper()
		rows, rev := r.w.Meta.Len(), r.w.Meta.Rev()
		d, got := r.decommission(o)
		if got != v || !slices.Equal(r.reasons(d), why) {
			r.fail("%+v: %s, %+v", o, got, d.Report.Blockers)
		}
		if r.w.Meta.Len() != rows || r.w.Meta.Rev() != rev || r.lists > 0 {
			r.fail("%+v wrote, or listed a bucket", o)
		}
	}
	for _, force := range []bool{false, true} {
		refused(Order{Star: "s1", Force: force, Wait: true}, core.Broken, NoSuchStar)
	}
	s := r.star("s1")
	r.until("it has minted", func() bool { _, ok := r.row(keys.Mint("s1", core.Standard)); return ok })
	refused(Order{Star: "s1"}, core.Again, NotDrained)
	refused(Order{Star: "s1", Wait: true}, core.Again, NotDrained)
	refused(Order{Star: "s1", Force: true}, core.Again, Unsettled, NotDrained)
	refused(Order{Star: "s"}, core.Broken, NoSuchStar)
	s.close()
	r.lax = "damaged"
	r.put(keys.ChainHead("s1", 1), "?")
	refused(Order{Star: "s1", Wait: true}, core.Broken, Damaged)
}

// C45: with unsettled slots, live intents and standing markers it ends with the
// list of what is in the way, again and again, and each run goes on from where the
// last one stopped; in the end no key names the star.
func TestTheListOfReasons(t *testing.T) {
	r := newRig(t)
	a, b := drained(r)
	run := func(want ...Reason) *Decommission {
		t.Helper()
		d, v := r.decommission(Order{Star: "s1"})
		if v != core.Again || !slices.Equal(r.reasons(d), want) || r.lists > 0 {
			r.fail("%s %+v, want %v", v, d.Report.Blockers, want)
		}
		return d
	}
	// No auditor runs: the verb settles the chains itself, their garbage twice.
	d := run(Unsettled)
	cut := r.head(2)
	if u := d.Report.Blockers[len(d.Report.Blockers)-1]; u.Until != cut.SweptAt+r.dials.RequestLife || cut.State != format.ChainSwept {
		t.Errorf("unsettled until %+v, the head is %+v", u, cut)
	}
	if d.Report.Phase != 0 {
		t.Errorf("a record of an unsettled star")
	}
	r.rest(r.dials.RequestLife)
	d = run(Owes, Untrimmed) // the record is written now, the schedule ripened
	if d.Report.Settled != 2 || d.Report.Ripened < 2 || d.Report.Phase != format.GoneDraining {
		t.Errorf("it reports %+v", d.Report)
	}
	// A batch marker that is parked keeps everything standing.
	from, _ := keys.DenormStar(0, "s1")
	parkedKey := r.first(from[:len("due/denorm/")])
	val, _ := r.row(parkedKey)
	r.parkBatch(parkedKey)
	run(Parked, Owes, Untrimmed)
	r.unparkBatch(parkedKey, val)

	aud := r.auditor()
	r.until("every batch is settled", func() bool { return r.count("due/denorm/") == 0 })
	aud.leave()
	run(Untrimmed) // the grace of what was rewritten is not over
	aud = r.auditor()
	r.until("every slot is trimmed", func() bool { return r.count("due/trimcheck/") == 0 })
	aud.leave()
	r.rest(1)
	// An output of the chain whose intent is not judged yet; another star's, a
	// later revision's and a condemned one are nobody's business here.
	live := r.intent(keys.Settled{Bucket: "b", Stream: a, Epoch: 2, First: 900}, false)
	sched := r.first("sched/orphan/")
	r.intent(keys.Settled{Bucket: "b", Stream: a, Epoch: 77, First: 901}, false)
	r.intent(keys.Settled{Bucket: "b", Stream: a, Epoch: 2, First: 902, Revision: 1}, false)
	r.intent(keys.Settled{Bucket: "b", Stream: a, Epoch: 2, First: 903}.At(keys.Incarnation{Generation: 1, Created: 5}), true)
	d = run(LiveIntent)
	if d.Report.Blockers[0].Key != live || d.Report.Blocked != 1 {
		t.Errorf("the intents in the way: %+v", d.Report.Blockers)
	}
	r.txn(core.Del(live), core.Del(sched))

	d, v := r.decommission(Order{Star: "s1"})
	if v != core.Again || !slices.Equal(r.reasons(d), []Reason{Unswept}) || d.Report.Reaped != 2 || d.Report.Phase != format.GoneSwept {
		r.fail("%s %+v", v, d.Report)
	}
	r.rest(d.Report.Blockers[0].Until - r.now - 1)
	if d, v = r.decommission(Order{Star: "s1"}); v != core.Again || !slices.Equal(r.reasons(d), []Reason{Unswept}) {
		r.fail("a millisecond too early: %s %+v", v, d.Report)
	}
	r.rest(1)
	d, v = r.decommission(Order{Star: "s1"})
	r.finished(d, v, a, b)
}

// --force asks nobody whether the star is drained, and settles nothing itself: the
// chains of a dead star settle by the duty's own judgment, those of a live one not
// at all.
func TestForce(t *testing.T) {
	r := newRig(t)
	a, b := drained(r)
	r.rest(5)
	if d, v := r.decommission(Order{Star: "s1", Force: true}); v != core.Again || !slices.Equal(r.reasons(d), []Reason{Unsettled}) || r.head(2).State != format.ChainOpen {
		t.Errorf("%s %+v, and the head is %+v", v, d.Report, r.head(2))
	}
	for _, epoch := range []uint64{1, 2} { // it is announced to the duty, though
		if _, ok := r.row(keys.DueSettle(keys.ShardOfChain("s1", epoch, r.dials.Shards), r.now, "s1", epoch)); !ok && r.head(epoch).State == format.ChainOpen {
			t.Errorf("no settle marker of epoch %d is ripe", epoch)
		}
	}
	s := r.star("s1") // it comes back while the operator insists
	s.open(a)
	p, d, verdict := r.operator(Order{Star: "s1", Force: true, Wait: true})
	r.auditor()
	r.rest(4 * r.dials.LiveHeadProbe)
	if p.done || d.Report.Phase != 0 || !slices.Contains(r.reasons(d), NotDrained) {
		t.Fatalf("%s %+v", *verdict, d.Report)
	}
	s.append(a) // and it goes on serving
	s.close()
	r.until("the end", func() bool { return p.done })
	if d.Report.Settled != 0 {
		t.Errorf("the verb settled %d epochs", d.Report.Settled)
	}
	for id, want := range map[uint64]uint64{a: 10, b: 4} {
		if n, spans := r.content(id); n != want || spans > 0 {
			t.Errorf("stream %d has %d records", id, n)
		}
	}
}

// --cool-down lets the armed clocks drain the schedule.
func TestCoolDown(t *testing.T) {
	r := newRig(t)
	a, b := drained(r)
	began := r.now
	r.auditor()
	d, v := r.decommission(Order{Star: "s1", Wait: true, CoolDown: true})
	r.finished(d, v, a, b)
	if age := r.dials.AgeCap[core.Standard]; r.now-began < age || d.Report.Ripened != 0 {
		t.Errorf("it took %d ms of an age cap of %d, and ripened %d", r.now-began, age, d.Report.Ripened)
	}
}
