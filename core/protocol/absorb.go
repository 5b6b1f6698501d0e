package protocol

import (
	"cmp"
	"slices"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
)

// SlotFooter is one slot of a batch: where its footer lies, and the footer.
type SlotFooter struct {
	Slot   uint64
	Window format.Window
	Footer format.Footer
}

// Batch is what one Absorb is to absorb: committed slots, dense and ascending
// from the checkpoint, at most SettleBatch of them.
type Batch struct {
	Chain *Chain
	Slots []SlotFooter
	Claim core.Mark // the settler's; Rev 0: the live star absorbs, under no right but the head
}

func (b *Batch) first() uint64 { return b.Slots[0].Slot }
func (b *Batch) end() uint64   { return b.Slots[len(b.Slots)-1].Slot + 1 }

// absorbTries bounds how often a lost compare or a lost reply is derived anew
// before the machine ends with Again.
const absorbTries = 8

// Absorb makes the records of a batch of slots visible: for every stream that
// they name, span rows that say which slot holds which sequence numbers. Shared
// by the live star and by settlement; docs/protocols.md section 2.
//
// Every transaction compares the chain's head as it was read, so that nothing is
// absorbed from a chain that somebody else has moved on (gap 15), and the last
// one compares the batch marker, so that the checkpoint covers no slot that owes
// a rewrite without a marker that says so (gap 14).
//
// Done: the slots are absorbed, by whomever. Again: another absorber, another
// epoch, a state that is not ours, or nothing definite. Broken: the slots do not
// continue what is absorbed, or a row does not decode. Whatever the verdict,
// Checkpoint is the chain's as last read (0 if never): slots below it need no
// absorbing.
type Absorb struct {
	step    absorbStep
	call    core.Call
	tries   uint8
	head    core.Row
	headVal format.ChainHead
	marker  core.Row
	mark    format.BatchMark // as it stands, or is about to
	sched   core.Ms          // ready time of the schedule row that stands, if one does
	next    int              // in order: the first chunk of the group at hand
	order   []chunkAt        // every chunk of the batch by stream, slot, position; immutable
	streams []uint64         // of the group at hand; immutable
	reads   core.Group[core.Call]
	rows    core.Results[groupRow] // two a stream: descriptor, writer record
	txn     absorbTxn

	Checkpoint uint64
}

type absorbStep uint8

const (
	absorbHead absorbStep = iota
	absorbMark
	absorbArm
	absorbGroup
	absorbReads
	absorbDerive
	absorbWrite
	absorbClose
	absorbDone
)

// chunkAt says where a chunk of the batch stands.
type chunkAt struct {
	stream      uint64
	slot, chunk uint32 // in Batch.Slots, in its footer
}

// groupRow is what a read of a stream's row brought.
type groupRow struct {
	row      core.Row
	definite bool
}

// absorbTxn is one group's transaction, and what holds once it has committed.
type absorbTxn struct {
	ws      []core.Write     // immutable
	next    int              // order index that the next group begins at
	mark    format.BatchMark // when marked
	marked  bool             // it writes the marker, too: a stream crossed
	dropped int64
}

// Step absorbs the batch.
func (a *Absorb) Step(t core.Turn, e *core.Env, b *Batch) core.Verdict {
	c := b.Chain
	for {
		switch a.step {
		case absorbHead: // 1. Read head; it must be at the batch's first slot.
			re, ok := a.call.Await(t, core.Get(keys.ChainHead(c.Star, c.Epoch)))
			if !ok {
				return core.Working
			}
			if v := a.readHead(re, b); v != core.Working {
				return a.end(v)
			}
			a.step = absorbMark
		case absorbMark: // 2. Arm, merging by compare.
			key := keys.DueDenorm(c.shard(e), c.Star, c.Epoch, b.first())
			re, ok := a.call.Await(t, core.Get(key))
			if !ok {
				return core.Working
			}
			if _, definite := re.Found(); !definite {
				return a.end(core.Again)
			}
			a.marker = re.Row(key)
			whole, err := a.merge(t, e, b)
			if err != nil {
				return a.end(core.Broken)
			}
			a.step = absorbArm
			if whole {
				a.step = absorbGroup
			}
		case absorbArm:
			re, ok := a.call.AwaitFunc(t, func() core.Op { return core.Txn(a.armTxn(e, b)...) })
			if !ok {
				return core.Working
			}
			if re.Outcome != core.OK {
				if !a.again(re.Outcome) {
					return a.end(core.Again)
				}
				continue
			}
			a.marker.Rev, a.sched, a.step = re.Rev, a.mark.Ready, absorbGroup
		case absorbGroup: // 3. The streams, group by group, ascending by id.
			if a.order == nil {
				a.order = orderOf(b)
			}
			if a.next >= len(a.order) {
				a.order, a.step = nil, absorbClose
				continue
			}
			a.streams = groupOf(a.order, a.next, e.Dials.StreamsPerTxn)
			a.rows.Make(2 * len(a.streams))
			a.reads, a.step = core.Group[core.Call]{}, absorbReads
		case absorbReads:
			if !a.readGroup(t) {
				return core.Working
			}
			a.reads, a.step = core.Group[core.Call]{}, absorbDerive
		case absorbDerive:
			v := a.derive(e, b)
			a.rows.Make(0)
			if v != core.Working {
				return a.end(v)
			}
			if len(a.txn.ws) == 0 { // everything of it was dropped
				a.committed(t)
				continue
			}
			a.step = absorbWrite
		case absorbWrite:
			re, ok := a.call.Await(t, core.Op{Kind: core.KTxn, Txn: a.txn.ws})
			if !ok {
				return core.Working
			}
			if re.Outcome != core.OK {
				if !a.again(re.Outcome) {
					return a.end(core.Again)
				}
				continue
			}
			if a.txn.marked {
				a.mark, a.marker.Rev, a.sched = a.txn.mark, re.Rev, a.txn.mark.Ready
			}
			a.committed(t)
		case absorbClose: // 4. Move the checkpoint: the head and the marker as they were read.
			re, ok := a.call.AwaitFunc(t, func() core.Op {
				h := a.headVal
				h.Checkpoint = b.end()
				ws := append(a.guards(b), core.If(a.marker.Mark))
				return core.Txn(append(ws, core.Put(a.head.Key, h.Encode()))...)
			})
			if !ok {
				return core.Working
			}
			if re.Outcome != core.OK {
				if !a.again(re.Outcome) {
					return a.end(core.Again)
				}
				continue
			}
			a.Checkpoint = b.end()
			t.Note(core.NoteAbsorbed, int64(len(b.Slots)))
			return a.end(core.Done)
		case absorbDone:
			return core.Done
		}
	}
}

func (a *Absorb) end(v core.Verdict) core.Verdict {
	*a = Absorb{step: absorbDone, Checkpoint: a.Checkpoint}
	if v != core.Done {
		a.step = absorbHead
	}
	return v
}

// again goes back to the head after a compare that failed or a reply that was
// lost: what is absorbed already is dropped as such, so nothing is done twice.
func (a *Absorb) again(o core.Outcome) bool {
	a.tries++
	a.txn = absorbTxn{}
	a.step = absorbHead
	return (o == core.Conflict || o == core.Unknown) && a.tries < absorbTries
}

// committed goes on to the next group.
func (a *Absorb) committed(t core.Turn) {
	if n := a.txn.dropped; n > 0 {
		t.Note(core.NoteAbsorbDropped, n)
	}
	a.next = a.txn.next
	a.txn, a.streams = absorbTxn{}, nil
	a.step = absorbGroup
}

func (a *Absorb) readHead(re *core.Reply, b *Batch) core.Verdict {
	if re.Outcome != core.OK {
		return core.Again // not definite, or the chain's record is gone: a zombie
	}
	h, err := format.DecodeChainHead(re.Val)
	if err != nil {
		return core.Broken
	}
	a.head, a.headVal, a.Checkpoint = re.Row(keys.ChainHead(b.Chain.Star, b.Chain.Epoch)), h, h.Checkpoint
	switch {
	case h.Checkpoint >= b.end():
		return core.Done
	case h.Checkpoint != b.first():
		return core.Again
	case b.Claim.Rev == 0 && h.State != format.ChainOpen:
		return core.Again // the chain was cut: its settler absorbs the rest
	}
	return core.Working
}

// guards are the compares that every transaction of the batch carries.
func (a *Absorb) guards(b *Batch) []core.Write {
	ws := append(make([]core.Write, 0, 8), core.If(a.head.Mark))
	if b.Claim.Rev != 0 {
		ws = append(ws, core.If(b.Claim))
	}
	return ws
}

// merge makes mark what the marker must hold: what stands, and the batch's slots.
// It reports whether the marker stands and holds them already.
func (a *Absorb) merge(t core.Turn, e *core.Env, b *Batch) (whole bool, err error) {
	class := b.Chain.Const.Class
	m := format.BatchMark{Class: class, Birth: t.Now, Ready: plan.Ready(&e.Dials, class, t.Now, false)}
	if a.marker.Rev != 0 {
		if m, err = format.DecodeBatchMark(a.marker.Val); err != nil {
			return false, err
		}
		a.sched = m.Ready
	}
	slots := make([]format.Inventory, 0, len(m.Slots)+len(b.Slots))
	slots = append(slots, m.Slots...)
	for _, s := range b.Slots {
		if !slices.ContainsFunc(m.Slots, func(i format.Inventory) bool { return i.Slot == s.Slot }) {
			slots = append(slots, format.Inventory{Slot: s.Slot, Footer: s.Window})
		}
	}
	slices.SortFunc(slots, func(x, y format.Inventory) int { return cmp.Compare(x.Slot, y.Slot) })
	whole = a.marker.Rev != 0 && len(slots) == len(m.Slots) && !m.Parked
	m.Slots, m.Parked = slots, false
	a.mark = m
	return whole, nil
}

func (a *Absorb) armTxn(e *core.Env, b *Batch) []core.Write {
	c := b.Chain
	ws := append(a.guards(b), core.If(a.marker.Mark),
		core.Put(a.marker.Key, a.mark.Encode()),
		core.Put(keys.SchedDenorm(c.shard(e), a.mark.Ready, c.Star, c.Epoch, b.first()), ""))
	if a.marker.Rev != 0 { // it may have been parked: now it runs again
		ws = append(ws, core.Del(keys.Park(keys.Denorm, a.marker.Key)))
	}
	return ws
}

// readGroup reads two rows for each stream of the group.
func (a *Absorb) readGroup(t core.Turn) bool {
	n := 2 * len(a.streams)
	return a.reads.Run(t, n, n, func(i int, m *core.Call, t core.Turn) bool {
		key := keys.Stream(a.streams[i/2])
		if i%2 == 1 {
			key = keys.Writer(a.streams[i/2])
		}
		re, ok := m.Await(t, core.Get(key))
		if ok {
			_, definite := re.Found()
			a.rows.Set(i, groupRow{re.Row(key), definite})
		}
		return ok
	})
}

// orderOf is every chunk of the batch by stream, then in the order of writing.
func orderOf(b *Batch) []chunkAt {
	n := 0
	for i := range b.Slots {
		n += b.Slots[i].Footer.Len()
	}
	order := make([]chunkAt, 0, n)
	for i := range b.Slots {
		f := b.Slots[i].Footer
		for k := range f.Len() {
			order = append(order, chunkAt{f.At(k).Stream, uint32(i), uint32(k)})
		}
	}
	slices.SortStableFunc(order, func(x, y chunkAt) int { return cmp.Compare(x.stream, y.stream) })
	return order
}

// groupOf is the next streams, at most limit, whose chunks begin at order[from].
func groupOf(order []chunkAt, from, limit int) (ids []uint64) {
	for _, c := range order[from:] {
		if n := len(ids); n == 0 || ids[n-1] != c.stream {
			if n == limit {
				break
			}
			ids = append(ids, c.stream)
		}
	}
	return ids
}
