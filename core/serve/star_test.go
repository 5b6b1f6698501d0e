package serve

import (
	"testing"

	"nova/core"
)

// The life of a star: create, open, append, absorb, close, settle.
func TestLife(t *testing.T) {
	w := newWorld(t, 1, "a", "b", "c")
	w.check = w.laws
	c := newClient(w)
	x, y := w.create("x"), w.create("y")
	p := w.star("p1", "s1")
	if a := c.mustOpen(p, x); a.Next != 0 {
		t.Fatalf("a new stream begins at %d", a.Next)
	}
	c.mustOpen(p, y)
	for range 20 {
		c.append(p, x, y)
		c.append(p, x, x)
	}
	if a := c.await(p, c.append(p, y)); a.Outcome != Acked || a.Acks[0].Reason != None {
		t.Fatalf("append: %+v", a)
	}
	if a := c.await(p, c.close(p)); a.Outcome != Closed {
		t.Fatalf("close: %+v", a)
	}
	w.until("the star is done", func() bool { return p.done })
	c.verify()
	if len(c.acked) != 81 {
		t.Fatalf("%d chunks acknowledged", len(c.acked))
	}
	if ks := append(w.keys("star/"), w.keys("lease/")...); len(ks) > 0 {
		t.Fatalf("left behind: %v", ks)
	}
	w.auditor("aud")
	w.settled()
	c.verify()
	if n := w.notes[core.NoteAcked]; n == 0 {
		t.Fatal("nothing was counted")
	}
}
