package sim

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/sim/world"
)

// TestAKeyHoldsOneBody: what stood under a key comes back with its bytes or not at
// all; a fence is nothing.
func TestAKeyHoldsOneBody(t *testing.T) {
	slot := keys.Slot("a", 1, 2)
	settled := keys.Settled{Bucket: "b", Stream: 7, Epoch: 1, HasInc: true}.Key()
	type put struct {
		store core.Store
		key   string
		bytes string
	}
	for _, c := range []struct {
		name  string
		puts  []put
		wrong bool
	}{
		{"comes back as it was", []put{{"std-a", settled, "x"}, {"std-a", settled, "x"}}, false},
		{"comes back with other bytes", []put{{"std-a", settled, "x"}, {"std-a", settled, "y"}}, true},
		{"comes back longer", []put{{"std-a", settled, "x"}, {"std-a", settled, "xx"}}, true},
		{"another key", []put{{"std-a", settled, "x"}, {"std-a", settled + "1", "y"}}, false},
		{"replicas", []put{{"std-a", slot, "x"}, {"std-b", slot, "x"}}, false},
		{"replicas that differ", []put{{"std-a", slot, "x"}, {"std-b", slot, "y"}}, true},
		{"a fence after a slot", []put{{"std-a", slot, "x"}, {"std-a", slot, format.Fence("a", 1, 2)}}, false},
		{"a slot beside a fence", []put{{"std-a", slot, format.Fence("a", 1, 2)}, {"std-b", slot, "x"}}, false},
		{"another slot after a fence", []put{{"std-a", slot, "x"}, {"std-a", slot, format.Fence("a", 1, 2)}, {"std-a", slot, "y"}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Sim{Dials: Dials(ReplayTape(nil)), Stores: stores()}
			s.world(world.Dialect{})
			var im immutable
			for _, p := range c.puts {
				del, op := core.Delete(core.Obj{Store: p.store, Key: p.key}), core.Create(core.Obj{Store: p.store, Key: p.key}, core.Bytes(p.bytes), Epoch+1)
				for _, op := range []*core.Op{&del, &op} {
					if r := s.W.Apply(op, world.When{Now: Epoch, Admitted: Epoch}); r.Outcome != core.OK {
						t.Fatalf("%s: %s", op, r.Outcome)
					}
				}
				for i := range s.W.Changes {
					im.changed(s, &s.W.Changes[i])
				}
				s.W.Changes = nil
			}
			if (s.breach != nil) != c.wrong || c.wrong && s.breach.Law != LawImmutable {
				t.Errorf("breach %v", s.breach)
			}
		})
	}
}
