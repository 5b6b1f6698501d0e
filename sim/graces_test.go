package sim

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/sim/world"
)

const reaped = "data/b/0000000000000007/0000000000000001/0000000000000000@1.5"

// TestGraces: who arms or confirms a reap-check dates it one read grace from when it
// asked, by its own clock; one that only moves keeps what it was armed for.
func TestGraces(t *testing.T) {
	d := Dials(ReplayTape(nil))
	sent := Epoch + 7
	grace := sent + d.ReadGrace
	put := func(at core.Ms, confirmed bool) world.Change {
		return world.Change{Kind: world.RowPut, Key: keys.DueReap(0, at, reaped), Val: format.ReapMark{Confirmed: confirmed}.Encode()}
	}
	gone := func(at core.Ms, confirmed bool) world.Change {
		return world.Change{Kind: world.RowDel, Key: keys.DueReap(0, at, reaped), Was: format.ReapMark{Confirmed: confirmed}.Encode()}
	}
	unparked := func(at core.Ms, confirmed bool) world.Change {
		return world.Change{Kind: world.RowDel, Key: keys.Park(keys.Reap, keys.DueReap(0, at, reaped)),
			Was: format.Parked{Value: format.ReapMark{Confirmed: confirmed}.Encode()}.Encode()}
	}
	over := func(c world.Change, confirmed bool) world.Change {
		c.Was = format.ReapMark{Confirmed: confirmed}.Encode()
		return c
	}
	for _, c := range []struct {
		name  string
		skew  core.Ms
		cs    []world.Change
		wrong bool
	}{
		{"armed in time", 0, []world.Change{put(grace, false)}, false},
		{"armed too early", 0, []world.Change{put(grace-1, false)}, true},
		{"armed by a clock that is ahead", 40, []world.Change{put(grace, false)}, true},
		{"armed by a clock that is behind", -40, []world.Change{put(grace-40, false)}, false},
		{"confirmed in time", 0, []world.Change{gone(sent, false), put(grace, true)}, false},
		{"confirmed too early", 0, []world.Change{gone(sent, false), put(grace-1, true)}, true},
		{"failed, and comes back", 0, []world.Change{gone(sent, true), put(sent+100, true)}, false},
		{"failed, and comes back sooner", 0, []world.Change{gone(sent, true), put(sent-1, true)}, true},
		{"failed in place", 0, []world.Change{over(put(sent, true), true)}, false},
		{"confirmed in place", 0, []world.Change{over(put(sent, true), false)}, true},
		{"an unconfirmed one comes back", 0, []world.Change{gone(sent, false), put(sent+100, false)}, false},
		{"put back by an operator", 0, []world.Change{unparked(sent, true), put(sent, true)}, false},
		{"put back as confirmed", 0, []world.Change{unparked(sent, false), put(sent, true)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Sim{Dials: d, now: Epoch + 100}
			graces(s, &pending{p: &Proc{Name: "a#1", Skew: c.skew}, sentAt: sent, clock: sent + c.skew}, c.cs)
			if (s.breach != nil) != c.wrong {
				t.Errorf("breach %v", s.breach)
			}
		})
	}
}

// TestDeathsAllowWhatTheClocksAreApart: and no more, however far apart they might be.
func TestDeathsAllowWhatTheClocksAreApart(t *testing.T) {
	at := core.Obj{Store: "std-a", Key: reaped}
	for _, c := range []struct {
		skews []core.Ms
		short core.Ms
		wrong bool
	}{
		{[]core.Ms{0, 0}, 1, true}, {[]core.Ms{0, 0}, 0, false}, {[]core.Ms{-30, -30}, 1, true},
		{[]core.Ms{-30, 20, 0}, 51, true}, {[]core.Ms{-30, 20, 0}, 50, false},
	} {
		s := &Sim{Dials: Dials(ReplayTape(nil)), Stores: stores(), now: Epoch}
		s.world(world.Dialect{})
		for _, k := range c.skews {
			s.clocks.Run(k, &s.Dials)
		}
		d := newDeaths(s.Stores)
		d.died[at] = Epoch
		s.now += s.Dials.ReadGrace - c.short
		d.changed(s, &world.Change{Kind: world.ObjectDel, Store: at.Store, Key: at.Key})
		if (s.breach != nil) != c.wrong {
			t.Errorf("skews %v, %d ms short of the grace: %v", c.skews, c.short, s.breach)
		}
	}
}
