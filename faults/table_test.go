package faults_test

import (
	"errors"
	"testing"

	"nova/core"
	"nova/faults"
	"nova/faults/boundaries"
)

// Every row is bound: to boundaries that the source has, or to marks that there are.
func TestTableIsBound(t *testing.T) {
	if faults.Rows != 12 {
		t.Errorf("the specification's table has twelve rows, and this %d", faults.Rows)
	}
	names := map[string]bool{}
	for i := range faults.Table {
		r := &faults.Table[i]
		if names[r.Name] || r.Name == "" || r.Cut == "" || r.Sees == "" || r.Why == "" || len(r.Cuts) == 0 {
			t.Errorf("row %d is not whole, or a second of its name: %+v", i+1, r)
		}
		names[r.Name] = true
		if _, ok := faults.RowNamed(r.Name); !ok {
			t.Errorf("%s is not found", r.Name)
		}
		for _, c := range r.Cuts {
			if mark := c.Mark != core.NoteNone; mark == (c.Point != "") || !mark && boundaries.Index(c.Point) < 0 || c.Root != "" && boundaries.PointOf(boundaries.Index(c.Point), c.Root) < 0 || mark && c.Mark >= core.NoteKinds {
				t.Errorf("%s: %+v is no boundary and no mark, or both", r.Name, c)
			}
		}
	}
	if i, ok := faults.RowNamed("put before  commit"); !ok || faults.Table[i].Name != "put-before-commit" {
		t.Errorf("%d, %v", i, ok)
	}
}

func TestAimsPrintAndParse(t *testing.T) {
	var aims []faults.Aim
	for i := range faults.Table {
		aims = append(aims, faults.Aim{Row: i + 1})
	}
	for i := range boundaries.All() {
		aims = append(aims, faults.Aim{Point: i + 1})
		for s := range faults.Side(faults.Sides) {
			aims = append(aims, faults.Aim{Point: i + 1, Sided: true, Side: s})
		}
	}
	for i, p := range boundaries.Points() {
		aims = append(aims, faults.Aim{Point: p.Boundary + 1, Root: p.Root}, faults.AimAt(i, faults.Silent),
			faults.Aim{Point: p.Boundary + 1, Root: p.Root, Kind: faults.Aimable[i%len(faults.Aimable)]},
			faults.Aim{Point: p.Boundary + 1, Kind: faults.Aimable[i%len(faults.Aimable)], Every: true})
	}
	for _, a := range append(aims, faults.Aim{}) {
		p := faults.Plan{At: [2]faults.Aim{a}}
		if a != (faults.Aim{}) && a.Point%3 == 1 {
			p.CutAt(faults.Aim{Row: 3})
		}
		p.Rate[faults.Late] = 7
		got, err := faults.ParseAim(a.String())
		plan, err2 := faults.Parse(p.String())
		if err != nil || err2 != nil || got != a || plan != p {
			t.Errorf("%q is %+v, %v; in a plan %q, %v", a, got, err, plan, err2)
		}
	}
	for _, s := range []string{"no-such-row", "duty.No.Step:get", "put-before-commit=before", "protocol.Resolve.Step:txn=", "protocol.Resolve.Step:txn=later", "protocol.Resolve.Step:txn@reap", "protocol.Resolve.Step:txn@"} {
		if a, err := faults.ParseAim(s); !errors.Is(err, faults.ErrPlan) || a != (faults.Aim{}) {
			t.Errorf("ParseAim(%q) = %+v, %v", s, a, err)
		}
	}
	for _, s := range []string{"at=", "at=no-such-row", "at=lost-race at=settle-member at=lost-race"} {
		if p, err := faults.Parse(s); !errors.Is(err, faults.ErrPlan) || p.Aimed() {
			t.Errorf("Parse(%q) = %+v, %v", s, p, err)
		}
	}
}

// One seed in four is told where to cut, or where to strike and with what, and all
// together everywhere.
func TestDrawAims(t *testing.T) {
	const seeds = 60_000
	told := map[faults.Aim]int{}
	n := 0
	for seed := range uint64(seeds) {
		if a := faults.Draw(seed).At[0]; a != (faults.Aim{}) {
			told[a]++
			n++
		}
	}
	if n < seeds/6 || n > seeds/4 {
		t.Errorf("%d of %d seeds", n, seeds)
	}
	// A seed draws no jump.
	if all := len(boundaries.Points()) * (faults.Sides + len(faults.Aimable) - 1); len(told) < all*9/10 || len(told) > all {
		t.Errorf("%d of %d places", len(told), all)
	}
}

func TestSides(t *testing.T) {
	for s := range faults.Side(faults.Sides) {
		if got, ok := faults.SideOf(s.Kind()); !ok || got != s {
			t.Errorf("%s: %v, %v", s, got, ok)
		}
	}
	cuts := 0
	for _, k := range faults.All() {
		if _, ok := faults.SideOf(k); ok != k.Cut() {
			t.Errorf("%s: a side %v, a cut %v", k, ok, k.Cut())
		} else if ok {
			cuts++
		}
	}
	if cuts != 5 {
		t.Errorf("%d kinds cut", cuts)
	}
}
