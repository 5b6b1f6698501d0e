package sim

import (
	"testing"

	"nova/core"
	"nova/core/keys"
	"nova/sim/world"
)

// TestWidths: each group of a process has its own dial. One lane more than it allows
// is a breach, whatever the process could have in flight in all.
func TestWidths(t *testing.T) {
	d := Dials(ReplayTape(nil))
	d.DrainWidth, d.MemberWidth, d.ProbeWidth, d.PartWidth, d.FootersAbreast, d.DeleteBatch, d.TeardownWidth, d.StreamsPerTxn, d.Pipeline = 2, 3, 4, 2, 3, 2, 1, 1, 1
	at := func(slots ...core.Slot) (p core.Path) {
		for _, x := range slots {
			p = p.Then(x)
		}
		return p
	}
	q := func(q keys.Queue) core.Slot { return core.Slot(q) }
	get, obj := core.Get("ref/x"), core.Obj{Store: "std-a", Key: "k"}
	audit, star := Actor(&auditActor{name: "auditor-0"}), Actor(&starActor{name: "star-0"})
	verb := Actor(&verbActor{v: &verb{kind: reqServe}})
	for _, c := range []struct {
		name  string
		actor Actor
		most  int
		lane  func(i int) core.Path
		op    core.Op
	}{
		{"lookups of a probe", audit, d.ProbeWidth, func(i int) core.Path { return at(q(keys.Reap), 0, core.Slot(i)) }, get},
		{"members of an era", audit, d.MemberWidth, func(i int) core.Path { return at(q(keys.Denorm), 0, 1, core.Slot(i), 0) }, core.ReadRange(obj, 0, 1)},
		{"what is staged", audit, d.MemberWidth, func(i int) core.Path { return at(q(keys.Denorm), 0, 0, core.Slot(i)) }, core.Stage(obj, 1)},
		{"parts of a member's output", audit, d.PartWidth, func(i int) core.Path { return at(q(keys.Denorm), 0, 1, 0, core.Slot(i)) }, core.Op{Kind: core.KUploadPart}},
		{"rights of the parts of an output", audit, d.PartWidth, func(i int) core.Path { return at(q(keys.GC), 0, core.Slot(i)) }, core.Get("due/orphan/0000/x")},
		{"footers of a batch", audit, d.FootersAbreast, func(i int) core.Path { return at(q(keys.Denorm), 0, core.Slot(i)) }, core.ReadTail(obj, 9)},
		{"deletes of a trim-check", audit, d.DeleteBatch, func(i int) core.Path { return at(q(keys.TrimCheck), 0, core.Slot(i)) }, core.Delete(obj)},
		{"lanes of a drain", audit, d.DrainWidth, func(i int) core.Path { return at(q(keys.Orphan), core.Slot(i), 7) }, get},
		{"lanes of teardown", audit, d.TeardownWidth, func(i int) core.Path { return at(q(keys.Teardown), core.Slot(i)) }, get},
		{"reap-checks", audit, 8 * d.DrainWidth, func(i int) core.Path { return at(q(keys.Reap), core.Slot(i)) }, get},
		{"garbage of a settlement", audit, d.FootersAbreast, func(i int) core.Path { return at(q(keys.Settle), 0, core.Slot(i)) }, core.Delete(obj)},
		{"fences", audit, 3 * d.Pipeline, func(i int) core.Path { return at(q(keys.Settle), 0, core.Slot(i)) }, core.Create(obj, core.Bytes("x"), 1)},
		{"replicas of a slot", star, 3, func(i int) core.Path { return at(starLanes, core.Slot(1+i)) }, core.Create(obj, core.Bytes("x"), 1)},
		{"opens after a roll", star, d.DrainWidth, func(i int) core.Path { return at(starPhase, core.Slot(i), 3) }, get},
		{"rows of an absorb", star, 2 * d.StreamsPerTxn, func(i int) core.Path { return at(starAbsorb, core.Slot(i)) }, get},
		{"fetches of a reader", verb, d.FootersAbreast, func(i int) core.Path { return at(core.Slot(i)) }, core.Op{Kind: core.KFetch}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Sim{Dials: d, Stores: stores()}
			s.world(world.Dialect{})
			p := &Proc{Sim: s, Actor: c.actor, Name: "p#1"}
			for i := range c.most + 1 {
				e := &pending{p: p, at: c.lane(i), op: c.op}
				p.pend = append(p.pend, e)
				s.widths(p, e)
				if over := i == c.most; (s.breach != nil) != over {
					t.Fatalf("%d lanes: breach %v", i+1, s.breach)
				}
			}
			if s.breach.Law != LawBudget {
				t.Errorf("%s", s.breach)
			}
		})
	}
}

// TestWidthsCountLanes: what one lane has in flight is one lane.
func TestWidthsCountLanes(t *testing.T) {
	s := &Sim{Dials: Dials(ReplayTape(nil)), Stores: stores()}
	s.Dials.MemberWidth, s.Dials.PartWidth, s.Dials.DrainWidth = 1, 5, 1
	p := &Proc{Sim: s, Actor: &auditActor{name: "auditor-0"}, Name: "p#1"}
	for i := range 5 {
		e := &pending{p: p, at: core.Path{}.Then(core.Slot(keys.Denorm)).Then(0).Then(1).Then(0).Then(core.Slot(i)), op: core.Op{Kind: core.KUploadPart}}
		p.pend = append(p.pend, e)
		if s.widths(p, e); s.breach != nil {
			t.Fatal(s.breach)
		}
	}
	if s.Count.Laws[LawBudget] == 0 {
		t.Error("nothing was held to law 7")
	}
}
