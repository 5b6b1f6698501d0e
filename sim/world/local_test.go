package world_test

import (
	"bytes"
	"testing"

	"nova/core"
	"nova/sim/world"

	"pgregory.net/rapid"
)

// Writes to different keys lead to the same world in either order, and a key that
// was deleted never has an old revision again.
func TestLocalRevisions(t *testing.T) {
	do := func(w *world.World, ws ...core.Write) core.Reply {
		op := core.Txn(ws...)
		return w.Apply(&op, now(1))
	}
	a, b := newWorld(world.Dialect{}).Local(), newWorld(world.Dialect{}).Local()
	do(a, core.Put("x", "1"))
	do(a, core.Put("y", "1"))
	do(b, core.Put("y", "1"))
	do(b, core.Put("x", "1"))
	if !bytes.Equal(a.Append(nil), b.Append(nil)) {
		t.Error("two orders of independent writes made two worlds")
	}
	old := core.Mark{Key: "x", Rev: 1}
	do(a, core.Del("x"))
	if r := do(a, core.Missing("x"), core.Put("x", "1")); r.Rev != 2 {
		t.Errorf("a key that was deleted comes back at revision %d", r.Rev)
	}
	if r := do(a, core.If(old), core.Put("x", "2")); r.Outcome != core.Conflict {
		t.Errorf("what was read before the deletion compares as current: %v", r.Outcome)
	}
	if bytes.Equal(a.Append(nil), b.Append(nil)) {
		t.Error("two worlds have one encoding")
	}
}

// No machine can tell local revisions from the cluster's: the same transactions,
// with the marks that each world handed out, have the same outcomes.
func TestLocalRevisionsCompareAlike(t *testing.T) {
	keys := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		global, local := newWorld(world.Dialect{}), newWorld(world.Dialect{}).Local()
		type held struct{ g, l core.Mark }
		var marks []held
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			k := rapid.SampledFrom(keys).Draw(t, "key")
			var g, l []core.Write
			if len(marks) > 0 && rapid.Bool().Draw(t, "compare") {
				m := rapid.SampledFrom(marks).Draw(t, "mark")
				g, l = append(g, core.If(m.g)), append(l, core.If(m.l))
			}
			w := core.Put(k, "v")
			switch rapid.IntRange(0, 3).Draw(t, "verb") {
			case 0:
				w = core.Del(k)
			case 1:
				w = core.DelRange("a", "c")
			}
			og, ol := core.Txn(append(g, w)...), core.Txn(append(l, w)...)
			if a, b := global.Apply(&og, now(1)), local.Apply(&ol, now(1)); a.Outcome != b.Outcome {
				t.Fatalf("%s: %v, and with local revisions %v", og, a.Outcome, b.Outcome)
			}
			for _, k := range keys {
				g, ok := global.Meta.Lookup(k)
				l, ok2 := local.Meta.Lookup(k)
				if ok != ok2 || g.Val != l.Val {
					t.Fatalf("%s differs", k)
				}
				marks = append(marks, held{g.Mark, l.Mark})
			}
		}
	})
}
