package serve

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

func (w *world) goneFor(star string) {
	w.rev++
	w.rows[keys.Gone(star)] = rowOf{format.Gone{Phase: format.GoneDraining, Since: w.now, Stores: w.stores.Of[0]}.Encode(), w.rev, ""}
}

// A star that was decommissioned does not register again: it refuses what it is
// asked, with the reason, until it is closed.
func TestADecommissionedStarRefuses(t *testing.T) {
	w := newWorld(t, 1)
	w.check = w.laws
	c := newClient(w)
	x := w.create("x")
	w.goneFor("s1")
	p := w.star("p1", "s1")
	early := c.open(p, x)
	if a := c.await(p, early); a.Outcome != Failed || a.Reason != Gone {
		t.Fatalf("an open: %+v", a)
	}
	if a := c.await(p, c.append(p, x)); a.Outcome != Acked || a.Acks[0].Reason != NotOpen {
		t.Fatalf("an append: %+v", a)
	}
	if a := c.await(p, c.open(p, x)); a.Outcome != Failed || a.Reason != Gone {
		t.Fatalf("another open: %+v", a)
	}
	if ks := append(w.keys("star/"), w.keys("mint/")...); len(ks) > 0 || w.notes[core.NoteStarRefused] != 1 {
		t.Fatalf("it left %v", ks)
	}
	if a := c.await(p, c.close(p)); a.Outcome != Closed {
		t.Fatalf("a close: %+v", a)
	}
	w.until("it is done", func() bool { return p.done })
}

// A star that serves, loses its registration, and is decommissioned before it has
// noticed: it mints nothing, and what it could not absorb is undecided.
func TestAStarIsDecommissionedUnderItself(t *testing.T) {
	w := newWorld(t, 2)
	w.check = w.laws
	c := newClient(w)
	x := w.create("x")
	p := w.star("p1", "s1")
	c.mustOpen(p, x)
	epoch := w.rows[keys.CounterEpoch].val
	delete(w.rows, keys.Star("s1"))
	delete(w.rows, keys.StreamLease(x))
	w.goneFor("s1")
	w.auditor("aud") // settles the chain of a dead star
	w.run(2 * w.dials.LiveHeadProbe)
	c.append(p, x) // it learns that its chain is cut
	w.until("it refuses", func() bool { return w.notes[core.NoteStarRefused] > 0 })
	if a := c.await(p, c.open(p, x)); a.Outcome != Failed || a.Reason != Gone {
		t.Fatalf("an open: %+v", a)
	}
	if w.rows[keys.CounterEpoch].val != epoch || len(w.keys("star/")) > 0 {
		t.Fatalf("it minted, or registered: %v", w.keys("star/"))
	}
	c.await(p, c.close(p))
	w.until("it is done", func() bool { return p.done })
}

// The mint compares the record itself, beside the registration.
func TestMintComparesTheRecord(t *testing.T) {
	w := newWorld(t, 3)
	w.rev++
	w.rows[keys.Star("s1")] = rowOf{"p", w.rev, "p"}
	reg := core.Mark{Key: keys.Star("s1"), Rev: w.rev}
	w.goneFor("s1")
	var m Mint
	v := once(w, "p", func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, "s1", 0, reg, w.stores.Of[0]) })
	if v == core.Done || len(w.keys("chain/")) > 0 {
		t.Fatalf("%s: minted %v", v, w.keys("chain/"))
	}
}
