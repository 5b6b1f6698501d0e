package admin

import (
	"reflect"
	"slices"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/sim/plain"
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
