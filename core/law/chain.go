package law

import (
	"cmp"
	"fmt"
	"slices"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

type chainID struct {
	star  string
	epoch uint64
}

// chain is everything that stands or is said about one epoch of a star.
type chain struct {
	id    chainID
	dirty bool

	consts value[format.ChainConst]
	head   value[format.ChainHead]
	trim   value[format.ChainTrim]

	settles, trimchecks int // markers that stand or are parked

	batches []*batch       // by first slot
	slots   []*slot        // by number
	named   map[uint64]int // streams whose rows name slots: how many rows
	holds   map[uint64]int // streams whose chunks lie in slots: how many chunks
}

// slot is one slot of a chain: the objects at its key, and who names it.
type slot struct {
	n       uint64
	objects []*object // one a store
	namers  []uint64  // stream ids, once for each span
}

func (s *slot) name(id uint64, on bool) {
	if on {
		s.namers = append(s.namers, id)
	} else if i := slices.Index(s.namers, id); i >= 0 {
		s.namers = slices.Delete(s.namers, i, i+1)
	}
}

func (s *slot) in(store core.Store) *object {
	for _, o := range s.objects {
		if o.o.Store == store {
			return o
		}
	}
	return nil
}

// batch is what stands for one batch marker.
type batch struct {
	first  uint64
	key    string // of the due row
	due    value[format.BatchMark]
	scheds []*fact
	parks  []*fact
}

func (b *batch) empty() bool { return !b.due.here && len(b.scheds)+len(b.parks) == 0 }

func (c *chain) empty() bool {
	return !c.recorded() && c.settles+c.trimchecks+len(c.batches)+len(c.slots)+len(c.named)+len(c.holds) == 0
}

func (c *chain) recorded() bool { return c.consts.here || c.head.here || c.trim.here }

func (c *chain) blind() bool { return c.consts.blind || c.head.blind || c.trim.blind }

func (c *chain) whole() bool { return c.consts.ok() && c.head.ok() && c.trim.ok() }

func (c *chain) findSlot(n uint64) (int, bool) {
	return slices.BinarySearchFunc(c.slots, n, func(s *slot, n uint64) int { return cmp.Compare(s.n, n) })
}

func (c *chain) slot(n uint64) *slot {
	i, ok := c.findSlot(n)
	if !ok {
		c.slots = slices.Insert(c.slots, i, &slot{n: n})
	}
	return c.slots[i]
}

func (c *chain) batch(first uint64) *batch {
	i, ok := slices.BinarySearchFunc(c.batches, first, func(b *batch, n uint64) int { return cmp.Compare(b.first, n) })
	if !ok {
		c.batches = slices.Insert(c.batches, i, &batch{first: first})
	}
	return c.batches[i]
}

// owes reports whether a batch marker stands that will have slot n rewritten.
func (c *chain) owes(n uint64) bool {
	for _, b := range c.batches {
		if !b.due.here || b.first > n {
			continue
		}
		if b.due.blind {
			return true
		}
		for i := range b.due.v.Slots {
			if b.due.v.Slots[i].Slot == n {
				return true
			}
		}
	}
	return false
}

// judgeChain judges law 5 on the cursors, and law 1 on the chain and its slots.
func (j *Judge) judgeChain(c *chain) (bad []Breach) {
	c.batches = slices.DeleteFunc(c.batches, (*batch).empty)
	c.slots = slices.DeleteFunc(c.slots, func(s *slot) bool { return len(s.objects)+len(s.namers) == 0 })
	for _, b := range c.batches {
		bad = j.judgeBatch(b, bad)
	}
	key := keys.ChainHead(c.id.star, c.id.epoch)
	gone := j.gones[c.id.star]
	if gone.ok() && gone.v.Phase == format.GoneDone && (c.recorded() || c.settles+c.trimchecks+len(c.batches) > 0) {
		bad = append(bad, Breach{8, key, "the star is decommissioned, and a row of the chain stands"})
	}
	switch {
	case c.blind():
		return bad // law 0 says so; its slots are nobody's to delete
	case !c.recorded():
	case !c.whole():
		return append(bad, Breach{1, key, "the chain's record is incomplete: constants, head and trim stand and fall together"})
	default:
		bad = j.judgeCursors(c, key, bad)
		j.evaluated(1)
		if c.head.v.State != format.ChainSettled && c.settles == 0 {
			bad = append(bad, Breach{1, key, "the chain is not settled, and no settle marker stands"})
		}
	}
	for _, s := range c.slots {
		for _, o := range s.objects {
			j.evaluated(1)
			if why := c.unwatched(o, gone.here && (gone.blind || gone.v.Phase != format.GoneDone)); why != "" {
				bad = append(bad, Breach{1, name(o.o), why})
			}
		}
	}
	return bad
}

// judgeCursors: trimmed ≤ rewritten ≤ checkpoint ≤ cut, and a chain that is
// swept is absorbed to its cut.
func (j *Judge) judgeCursors(c *chain, key string, bad []Breach) []Breach {
	j.evaluated(5)
	h, t := &c.head.v, &c.trim.v
	refuse := func(what string) {
		bad = append(bad, Breach{5, key, fmt.Sprintf("%s (trimmed %d, rewritten %d, checkpoint %d, cut %d)", what, t.Trimmed, t.Rewritten, h.Checkpoint, h.Cut)})
	}
	if t.Trimmed > t.Rewritten {
		refuse("trimmed is above rewritten")
	}
	if t.Rewritten > h.Checkpoint {
		refuse("rewritten is above the checkpoint")
	}
	if h.State >= format.ChainCut && h.Checkpoint > h.Cut {
		refuse("the checkpoint is above the cut")
	}
	if h.State >= format.ChainSwept && h.Checkpoint < h.Cut {
		refuse("the chain is swept, and not absorbed to its cut")
	}
	return bad
}

// sweeps is how many pipelines above its cut a chain is swept. A writer's slots lie
// less than one above; a settler that was cut off before it published a higher
// cut, which itself lies at most one above, may have fenced one more from there.
const sweeps = 2

// unwatched says why nothing will ever come for a slot's object, or "". While a
// decommission is under way its two sweeps come for whatever no duty comes for any
// more; what still owes its rewrite, or its trim, must be watched as ever.
func (c *chain) unwatched(o *object, swept bool) string {
	h, t := &c.head.v, &c.trim.v
	if swept && (!c.recorded() || h.State == format.ChainSettled && (o.slot >= h.Checkpoint || o.slot < t.Trimmed)) {
		return ""
	}
	if !c.recorded() {
		return "the chain has no record"
	}
	if !slices.Contains(c.consts.v.Stores, o.o.Store) {
		return "the store is not in the chain's bucket set"
	}
	if o.slot >= h.Checkpoint {
		switch {
		case h.State == format.ChainSettled:
			return "the chain is settled, and the slot is above its cut"
		case h.State >= format.ChainCut && o.slot >= h.Cut && o.slot-h.Cut >= sweeps*uint64(c.consts.v.Pipeline):
			return "the slot is too far above the cut: no sweep reaches it"
		case c.settles == 0:
			return "no settle marker stands for the chain, and the slot is not absorbed"
		}
		return ""
	}
	if o.slot < t.Trimmed {
		return "the slot is below trimmed"
	}
	if c.trimchecks > 0 {
		return ""
	}
	for _, b := range c.batches {
		if b.first <= o.slot && (b.due.here || len(b.parks) > 0) {
			return ""
		}
	}
	return "neither a batch marker nor a trim-check stands for the slot"
}

// judgeBatch: a batch marker has its schedule row, unless it is parked; a
// schedule row has its marker.
func (j *Judge) judgeBatch(b *batch, bad []Breach) []Breach {
	j.evaluated(1)
	onTime := 0
	for _, f := range b.scheds {
		d, _ := keys.ParseDue(f.row.Key)
		switch {
		case !b.due.here:
			bad = append(bad, Breach{1, f.row.Key, "no batch marker stands for the schedule row"})
		case b.due.blind:
			onTime++
		case d.At != max(b.due.v.Ready, 0):
			bad = append(bad, Breach{8, f.row.Key, "the schedule row is for another time than its marker's"})
		default:
			onTime++
		}
	}
	switch {
	case !b.due.here:
	case b.due.ok() && b.due.v.Parked:
		if onTime > 0 {
			bad = append(bad, Breach{8, b.key, "a parked batch marker is on the schedule"})
		}
	case onTime == 0 && len(b.parks) == 0:
		bad = append(bad, Breach{1, b.key, "no schedule row brings the batch marker up"})
	}
	return bad
}
