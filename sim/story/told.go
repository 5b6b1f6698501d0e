package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/faults"
	"nova/sim"
	"nova/sim/world"
)

var says = map[faults.Kind]string{
	faults.CutBefore: "the process ends before it lands", faults.CutAfter: "it lands, and the process ends after its turn",
	faults.CutSilent: "it lands, and the process never hears of it", faults.CutUpload: "the process ends, the upload stays",
	faults.LostReply: "it lands, and its answer is lost", faults.Dropped: "it never lands, and nobody knows",
	faults.Late: "it lands later, after it was given up", faults.Refusal: "it is refused", faults.DeleteKey: "this key alone is refused",
	faults.DamagedTip: "the bytes arrive damaged", faults.Pause: "the process stands still", faults.LeaseLost: "its session ends",
	faults.Flaky: "its network is bad for a while",
}

func strikes(e *sim.Event) *Told {
	t := &Told{Verb: "FAULT " + e.Text, Why: "a fault", weight: 90}
	if e.Op != nil {
		t.Object = e.Op.Kind.String() + " " + Short(sim.KeyOf(e.Op))
	}
	for k, why := range says {
		if k.String() == e.Text {
			t.Why = why
		}
	}
	return t
}

// changes tells what an event changed about the things; nil: nothing.
func (s *Story) changes(e *sim.Event) (best *Told) {
	for i := range e.Changes {
		c := &e.Changes[i]
		for k := range s.Things {
			if t := s.change(&s.Things[k], c); t != nil && (best == nil || t.weight > best.weight) {
				best = t
			}
		}
	}
	if best == nil {
		return nil
	}
	// A marker that goes for another that comes later is no loss.
	if again := strings.TrimSuffix(best.Why, " watches it no longer"); again != best.Why && best.weight == 70 {
		for i := range e.Changes {
			for k := range s.Things {
				c := &e.Changes[i]
				if rel, what := s.Things[k].Row(c.Key, c.Val); rel == Watches && what == again && c.Kind == world.RowPut {
					best.Verb, best.Object, best.Why, best.weight = "puts", Short(c.Key), again+" will come again", 30
				}
			}
		}
	}
	switch {
	case e.Reply != nil:
		best.Outcome = e.Reply.Outcome.String()
		if e.What == "late" {
			best.Outcome += ", late"
		}
	default:
		best.Outcome = e.Text
	}
	return best
}

func (s *Story) change(t *Thing, c *world.Change) *Told {
	x := &Told{Object: Short(strings.TrimPrefix(string(c.Store)+"/"+c.Key, "/"))}
	switch c.Kind {
	case world.ObjectPut, world.ObjectDel, world.UploadPut, world.UploadGone:
		if c.Key != t.Key {
			if first, end, ok := t.records(c); ok {
				x.Verb, x.Why, x.weight, x.bare = "writes", fmt.Sprintf("records [%d, %d) of stream %d", first, end, t.stream), 65, c.Key
				return x
			}
			return nil
		}
		x.weight, x.bare = 80, c.Key
		switch c.Kind {
		case world.ObjectPut:
			x.Verb, x.Why = "writes", "the bytes stand"
		case world.ObjectDel:
			x.Verb, x.Why = "deletes", "the bytes are gone"
		case world.UploadPut:
			x.Verb, x.Why, x.weight = "uploads", "parts of an unfinished upload stand", 55
		default:
			x.Verb, x.Why, x.weight = "ends upload", "the upload is gone", 55
		}
		return x
	}
	rel, what := t.Row(c.Key, c.Val)
	was, _ := t.Row(c.Key, c.Was)
	put := c.Kind == world.RowPut
	x.Verb = "puts"
	if !put {
		x.Verb = "removes"
	}
	switch {
	case rel == Itself:
		x.weight, x.Why = 80, cmp.Or(reads(c), "the row itself")
	case put && rel == Names && was != Names:
		x.weight, x.Why = 75, "a ref names it"
	case was == Names && (!put || rel != Names):
		x.weight, x.Why = 78, "no such ref names it any more"
	case rel == Names:
		x.weight, x.Why = 40, "a ref that names it changes"
	case rel == Watches && put:
		x.weight, x.Why = 60, "watched by "+what
	case rel == Watches:
		x.weight, x.Why = 70, what+" watches it no longer"
	case rel == Near && what == "stream" && !put:
		x.weight, x.Why = 50, "the stream's tombstone goes"
	case rel == Near:
		x.weight, x.Why = 20, "beside it: "+cmp.Or(reads(c), what)
		if what == "stream" || strings.HasPrefix(what, "chain ") || what == "trim" {
			x.weight = 45
		}
	default:
		return nil
	}
	return x
}

// records says which records of the stream that the thing is about an object that
// was just written brings.
func (t *Thing) records(c *world.Change) (first, end uint64, ok bool) {
	if c.Kind != world.ObjectPut || !t.row || t.stream == 0 {
		return 0, 0, false
	}
	tail, err := format.ParseTail(c.Object.Tail(c.Object.Size()), c.Object.Size())
	if err != nil {
		return 0, 0, false
	}
	for i := range tail.Footer.Len() {
		if k := tail.Footer.At(i); k.Stream == t.stream {
			if !ok {
				first = k.First
			}
			end, ok = k.End(), true
		}
	}
	return first, end, ok
}

// reads adds the reads on which the last write was decided: the last of each kind
// that its process made before it, about the things.
func (s *Story) reads(all []*sim.Event, last int, add func(int, *Told)) {
	by := all[last].Proc
	seen := map[string]bool{}
	for i := last - 1; i >= 0 && len(seen) < 3; i-- {
		e := all[i]
		if e.Proc != by || e.What != "land" || e.Op == nil || e.Op.Mutates() || !together(e.Path, all[last].Path) {
			continue
		}
		for k := range s.Things {
			if key := e.Op.Kind.String() + sim.Noun(e.Op.Key); s.Things[k].Read(e.Op) && !seen[key] {
				seen[key] = true
				out := e.Reply.Outcome.String()
				if e.Op.Kind == core.KScan {
					out = fmt.Sprintf("%d rows", len(e.Reply.Rows))
				}
				add(i, &Told{Verb: "reads", Object: e.Op.Kind.String() + " " + Short(sim.KeyOf(e.Op)), Outcome: out, Why: "on this it decides", weight: 82})
			}
		}
	}
}

// together reports whether two paths belong to one duty's work.
func together(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	n := min(2, len(x), len(y))
	return slices.Equal(x[:n], y[:n])
}

// c0 is the part of an object's name before the first slash: its stores.
func c0(object string) string {
	st, _, _ := strings.Cut(object, "/")
	return st
}

// reads is what a row says, where that is a few numbers.
func reads(c *world.Change) string {
	if c.Kind == world.RowDel {
		return ""
	}
	switch {
	case strings.HasSuffix(c.Key, "/"+keys.PartHead):
		if h, err := format.DecodeChainHead(c.Val); err == nil {
			return fmt.Sprintf("checkpoint %d, cut %d, state %d", h.Checkpoint, h.Cut, h.State)
		}
	case strings.HasSuffix(c.Key, "/"+keys.PartTrim):
		if t, err := format.DecodeChainTrim(c.Val); err == nil {
			return fmt.Sprintf("trimmed %d, rewritten %d", t.Trimmed, t.Rewritten)
		}
	case strings.HasPrefix(c.Key, "stream/"):
		if t, err := format.DecodeStream(c.Val); err == nil && t.Deleted {
			return "the stream's tombstone"
		}
	}
	return ""
}
