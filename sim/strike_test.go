package sim

import (
	"testing"

	"nova/core"
	"nova/faults"
	"nova/sim/world"
)

// A time below a bound is often just below it, and never at it.
func TestWithin(t *testing.T) {
	s := &Sim{tape: NewTape(1)}
	for _, bound := range []int{1, 2, 100, 1100} {
		edge, low := 0, 0
		for range 3000 {
			x := int(s.within(bound))
			if x < 0 || x >= bound {
				t.Fatalf("%d within %d", x, bound)
			}
			if x >= bound-1-bound/16 {
				edge++
			}
			if x < bound/2 {
				low++
			}
		}
		if bound >= 100 && (edge < 900 || low < 700) {
			t.Errorf("of 3000 within %d, %d are at its edge and %d in its lower half", bound, edge, low)
		}
	}
	s.tape = ReplayTape(nil) // the dull choice is no time at all
	if x := s.within(1100); x != 0 {
		t.Errorf("nothing drawn is %d", x)
	}
}

// TestWhatHarmsNothingHasNotStruck: law 9 counts a fault where it changes something.
func TestWhatHarmsNothingHasNotStruck(t *testing.T) {
	s := &Sim{Dials: Dials(ReplayTape(nil)), now: Epoch + 10_000_000}
	asleep, alone, well := &Proc{Sim: s, paused: true}, &Proc{Sim: s}, &Proc{Sim: s, session: "p/0"}
	put := core.Txn(core.Put("k", ""))
	for _, c := range []struct {
		k     faults.Kind
		p     *Proc
		sent  core.Ms
		harms bool
	}{
		{faults.Pause, asleep, s.now, false}, {faults.Pause, well, s.now, true},
		{faults.LeaseLost, alone, s.now, false}, {faults.LeaseLost, well, s.now, true},
		{faults.Slow, well, s.now - s.Dials.RequestLife, false}, {faults.Slow, well, s.now, true},
		{faults.StoreDown, well, s.now, false}, {faults.NoSpace, well, s.now, false}, {faults.MetaDown, well, s.now, false}, {faults.Jump, well, s.now, false},
		{faults.Dropped, alone, s.now, true}, {faults.CutBefore, alone, s.now, true},
	} {
		if got := s.harmsAtOnce(c.k, &pending{p: c.p, op: put, sentAt: c.sent}); got != c.harms {
			t.Errorf("%s of a process that is paused %v, with the session %q: harms at once is %v", c.k, c.p.paused, c.p.session, got)
		}
	}

	// A window harms what meets it, and nothing else.
	s = &Sim{W: world.New(world.LimitsOf(&s.Dials), world.Dialect{}, "a", "b"), now: Epoch}
	s.W.Bucket("a").Down = true
	p := &Proc{Sim: s, Name: "p"}
	s.apply(&pending{p: p, op: core.ReadTail(core.Obj{Store: "b", Key: "x"}, 10)}, s.now)
	if s.Count.Faults[faults.StoreDown] != 0 {
		t.Error("a store that is down has struck a read of another")
	}
	s.apply(&pending{p: p, op: core.ReadTail(core.Obj{Store: "a", Key: "x"}, 10)}, s.now)
	if s.Count.Faults[faults.StoreDown] != 1 {
		t.Error("a store that is down has not struck a read of it")
	}
	s.metaDown = true
	s.apply(&pending{p: p, op: core.Get("k")}, s.now)
	if s.Count.Faults[faults.MetaDown] != 1 || s.Count.Faults[faults.NoSpace] != 0 {
		t.Errorf("struck: %v", s.Count.Faults)
	}
}
