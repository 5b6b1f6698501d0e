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

	batches []*batch   // by first slot
	slots   []*slot    // by number
	waiting []*promise // acknowledged chunks that are in no ref, and in a slot of the chain
	objects int        // that stand
	strays  int        // of them, in stores that are not in the bucket set
	untidy  bool       // a slot or a batch may be left of which nothing stands
	blinds  int        // batch markers that do not decode
}

// slot is one slot of a chain: the objects at its key, who names it, and how many
// batch markers will have it rewritten.
type slot struct {
	n       uint64
	objects []*object // one a store
	namers  []*ref    // once for each span
	owed    int
}

func (s *slot) name(r *ref, on bool) {
	if on {
		s.namers = append(s.namers, r)
	} else if i := slices.Index(s.namers, r); i >= 0 {
		s.namers = slices.Delete(s.namers, i, i+1)
	}
}

func (s *slot) empty() bool { return len(s.objects)+len(s.namers)+s.owed == 0 }

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
	dues   []inventory // one, unless a row stands in a wrong shard as well
	scheds []*fact
	parks  []*fact
}

// inventory is a batch marker's row.
type inventory struct {
	f     *fact
	v     format.BatchMark
	blind bool
}

func (b *batch) empty() bool { return len(b.dues)+len(b.scheds)+len(b.parks) == 0 }

func (c *chain) empty() bool {
	return !c.recorded() && c.settles+c.trimchecks+len(c.batches)+len(c.slots) == 0
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

// owes reports whether a batch marker stands that will have a slot rewritten.
func (c *chain) owes(s *slot) bool {
	if s.owed > 0 || c.blinds == 0 {
		return s.owed > 0
	}
	for _, b := range c.batches {
		for i := range b.dues {
			if b.dues[i].blind && b.first <= s.n {
				return true
			}
		}
	}
	return false
}

// tidy forgets the slots and batches of which nothing stands.
func (c *chain) tidy() {
	if c.untidy {
		c.batches = slices.DeleteFunc(c.batches, (*batch).empty)
		c.slots = slices.DeleteFunc(c.slots, (*slot).empty)
		c.untidy = false
	}
}

// judgeChain judges law 5 on the cursors, and law 1 on the chain and its slots.
func (j *Judge) judgeChain(c *chain) (bad []Breach) {
	c.tidy()
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
		if c.head.v.State == format.ChainOpen && c.settles > 1 && j.liveHead(c) {
			bad = append(bad, Breach{8, key, fmt.Sprintf("%d settle markers stand for the epoch that a live star writes to: each of them would tick for ever", c.settles)})
		}
	}
	if !gone.here && c.allWatched() {
		j.report.Evaluated[1] += c.objects
		return bad
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

// liveHead reports whether a star that is alive writes to an epoch: it is the newest
// that was minted, and was minted since the star registered. (Before that, what the
// star announced as it closed may still stand beside the mint's marker; the mint
// supersedes the epoch, and both resolve.)
func (j *Judge) liveHead(c *chain) bool {
	star, mint := j.rows[keys.Star(c.id.star)], j.rows[keys.Mint(c.id.star, c.consts.v.Class)]
	if star == nil || mint == nil || star.row.Rev > mint.row.Rev {
		return false
	}
	j.evaluated(8)
	newest, err := format.DecodeNumber(mint.row.Val)
	return err == nil && newest == c.id.epoch
}

// allWatched reports whether unwatched would say "" of every object of the chain:
// what it asks is true of all slots between two if it is of the two.
func (c *chain) allWatched() bool {
	lo, hi := c.span()
	if lo == nil {
		return true
	}
	h := &c.head.v
	switch {
	case !c.recorded() || c.strays > 0 || lo.n < c.trim.v.Trimmed:
		return false
	case hi.n >= h.Checkpoint && (c.settles == 0 || h.State == format.ChainSettled ||
		h.State >= format.ChainCut && hi.n >= h.Cut && hi.n-h.Cut >= sweeps*uint64(c.consts.v.Pipeline)):
		return false
	case lo.n >= h.Checkpoint || c.trimchecks > 0:
		return true
	}
	for _, b := range c.batches {
		if len(b.dues)+len(b.parks) > 0 {
			return b.first <= lo.n
		}
	}
	return false
}

// span is the first and the last slot that has an object.
func (c *chain) span() (lo, hi *slot) {
	if c.objects == 0 {
		return nil, nil
	}
	i, k := 0, len(c.slots)-1
	for len(c.slots[i].objects) == 0 {
		i++
	}
	for len(c.slots[k].objects) == 0 {
		k--
	}
	return c.slots[i], c.slots[k]
}

// count counts the objects, and those in stores that are not in the bucket set.
func (c *chain) count(o *object, by int) {
	c.objects += by
	if c.consts.ok() && !slices.Contains(c.consts.v.Stores, o.o.Store) {
		c.strays += by
	}
}

// recount counts the strays anew: the bucket set has changed.
func (c *chain) recount() {
	c.objects, c.strays = 0, 0
	for _, s := range c.slots {
		for _, o := range s.objects {
			c.count(o, 1)
		}
	}
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
		if b.first <= o.slot && len(b.dues)+len(b.parks) > 0 {
			return ""
		}
	}
	return "neither a batch marker nor a trim-check stands for the slot"
}

// judgeBatch: a batch marker has its schedule row, unless it is parked; a
// schedule row has its marker.
func (j *Judge) judgeBatch(b *batch, bad []Breach) []Breach {
	j.evaluated(1)
	var due *inventory
	if len(b.dues) > 0 {
		due = &b.dues[0]
	}
	onTime := 0
	for _, f := range b.scheds {
		d, _ := keys.ParseDue(f.row.Key)
		switch {
		case due == nil:
			bad = append(bad, Breach{1, f.row.Key, "no batch marker stands for the schedule row"})
		case due.blind:
			onTime++
		case d.At != max(due.v.Ready, 0):
			bad = append(bad, Breach{8, f.row.Key, "the schedule row is for another time than its marker's"})
		default:
			onTime++
		}
	}
	switch {
	case due == nil:
	case !due.blind && due.v.Parked:
		if onTime > 0 {
			bad = append(bad, Breach{8, due.f.row.Key, "a parked batch marker is on the schedule"})
		}
	case onTime == 0 && len(b.parks) == 0:
		bad = append(bad, Breach{1, due.f.row.Key, "no schedule row brings the batch marker up"})
	}
	return bad
}
