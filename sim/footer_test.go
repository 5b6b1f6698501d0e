package sim

import (
	"testing"

	"nova/core"
	"nova/core/keys"
	"nova/sim/world"
)

// TestAKeptFooterMustBeGood: an object whose footer a reader keeps stands, with the same
// bytes, until the footer's time has run out, and no longer.
func TestAKeptFooterMustBeGood(t *testing.T) {
	at := core.Obj{Store: "std-a", Key: keys.Settled{Bucket: "b", Stream: 7, Epoch: 1, HasInc: true}.Key()}
	for _, c := range []struct {
		name  string
		do    func(s *Sim)
		wrong Law
	}{
		{"it stands", func(*Sim) {}, 0},
		{"it went", func(s *Sim) { apply(s, core.Delete(at)) }, LawReader},
		{"it went, and nobody asks any more", func(s *Sim) { apply(s, core.Delete(at)); s.now = Epoch + 101 }, 0},
		{"its store is down", func(s *Sim) { apply(s, core.Delete(at)); s.W.Bucket(at.Store).Down = true }, 0},
		{"it has other bytes", func(s *Sim) { apply(s, core.Delete(at)); apply(s, core.Create(at, core.Bytes("y"), Epoch)) }, LawImmutable},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Sim{Dials: Dials(ReplayTape(nil)), Stores: stores(), now: Epoch}
			s.world(world.Dialect{})
			apply(s, core.Create(at, core.Bytes("x"), Epoch))
			had := s.W.Bucket(at.Store).Lookup(at.Key)
			c.do(s)
			(&plan{stream: 7}).useFooter(s, &planned{at: []core.Obj{at}}, had, Epoch+100)
			if (s.breach != nil) != (c.wrong != 0) || c.wrong != 0 && s.breach.Law != c.wrong {
				t.Errorf("breach %v", s.breach)
			}
		})
	}
}

func apply(s *Sim, op core.Op) { s.W.Apply(&op, world.When{Now: Epoch, Admitted: Epoch}) }

// TestTheLastWindowToEndEndsThemAll: a short one that began during a long one does not
// end it.
func TestTheLastWindowToEndEndsThemAll(t *testing.T) {
	for _, c := range []struct{ first, second, over core.Ms }{{100, 20, 100}, {20, 100, 110}, {100, 90, 100}} {
		s := &Sim{now: Epoch}
		over := core.Ms(0)
		s.lasts("w", c.first, func() { over = s.now })
		s.now += 10
		s.lasts("w", c.second, func() { over = s.now })
		for len(s.timers) > 0 {
			s.now = s.timers[0].at
			s.timers.pop().what()
		}
		if over != Epoch+c.over {
			t.Errorf("of %d ms, and %d ms from 10 on: over after %d, want %d", c.first, c.second, over-Epoch, c.over)
		}
	}
}

// TestWhoseClockIsWrongIsHeldBack: an auditor whose clock is off by more than the skew
// deletes and writes nothing; it may read, and others are not asked.
func TestWhoseClockIsWrongIsHeldBack(t *testing.T) {
	s := &Sim{Dials: Dials(ReplayTape(nil))}
	audit, star := Actor(&auditActor{name: "auditor-0"}), Actor(&starActor{name: "star-0"})
	for _, c := range []struct {
		a    Actor
		skew core.Ms
		op   core.Op
		held bool
	}{
		{audit, tenYears, core.Delete(core.Obj{}), true}, {audit, tenYears, core.Txn(core.Put("k", "")), true},
		{audit, -s.Dials.Skew - 1, core.Delete(core.Obj{}), true}, {audit, s.Dials.Skew, core.Delete(core.Obj{}), false},
		{audit, tenYears, core.Get("k"), false}, {star, tenYears, core.Txn(core.Put("k", "")), false},
	} {
		if held := s.refuses(&pending{p: &Proc{Sim: s, Actor: c.a, Skew: c.skew}, op: c.op}); held != c.held {
			t.Errorf("%s, %d ms off, %s: held back is %v", c.a.Name(), c.skew, &c.op, held)
		}
	}
}
