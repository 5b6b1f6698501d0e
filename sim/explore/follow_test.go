package explore

import (
	"slices"
	"testing"

	"nova/core"
	"nova/core/law"
	"nova/sim"
	"nova/sim/world"
)

// A judge that goes from world to world says what one says that sees only the one:
// on all worlds that a search meets, in an order in which they are not neighbours,
// and on the same with something broken.
func TestFollowerSaysWhatAFreshJudgeSays(t *testing.T) {
	for _, name := range [...]string{"collect", "settle-zombie", "orphan-late"} {
		w := Find(name)
		_, x := guessed(w, Options{})
		f := newFollower(w)
		broken := 0
		for i := range x.raws.all {
			at := x.raws.all[(i*7919)%len(x.raws.all)].w
			for _, b := range [...]*world.World{at, maim(at, i)} {
				j := freshJudge(w, b)
				got, want := f.check(b), j.Check()
				if !slices.Equal(got, want) {
					t.Fatalf("%s: the judge that follows says %v, and one that sees only this world %v", name, got, want)
				}
				for _, o := range objectsOf(b) {
					if got, want := f.judge.Live(o), j.Live(o); got != want {
						t.Fatalf("%s: %v is live: the judge that follows says %t, and one that sees only this world %t", name, o, got, want)
					}
				}
				if len(want) > 0 {
					broken++
				}
			}
		}
		if broken == 0 || broken > len(x.raws.all)*3/2 {
			t.Errorf("%s: of %d worlds and as many that were maimed, %d break a law", name, len(x.raws.all), broken)
		}
	}
}

// maim takes row n of a world away, going round, or its first object.
func maim(w *world.World, n int) *world.World {
	c := w.Clone()
	if os := objectsOf(w); n%3 == 0 && len(os) > 0 {
		op := core.Delete(os[n/3%len(os)])
		c.Apply(&op, world.When{Now: epoch, Admitted: epoch})
	} else {
		op := core.Txn(core.Del(c.Meta.Row(n % c.Meta.Len()).Key))
		c.Apply(&op, world.When{Now: epoch, Admitted: epoch})
	}
	c.Changes = nil
	return c
}

func objectsOf(w *world.World) (all []core.Obj) {
	for _, b := range w.Buckets() {
		for i := range b.Len() {
			all = append(all, core.Obj{Store: b.Name, Key: b.Object(i).Key})
		}
	}
	return all
}

func freshJudge(w *World, at *world.World) *law.Judge {
	j := law.Of(sim.Snapshot(at), &w.Dials, &w.Stores, func(o core.Obj, off, n int64) (uint32, bool) {
		b := at.Bucket(o.Store).Lookup(o.Key)
		if b == nil || off < 0 || n < 0 || off+n > b.Size() {
			return 0, false
		}
		return b.Body.CRC(off, n), true
	})
	for _, a := range w.acks {
		j.Apply(law.Change{Kind: law.Acknowledged, Ack: a})
	}
	return j
}
