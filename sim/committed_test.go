package sim

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/sim/world"
)

// book is a ledger over a world of one chain of two stores, whose slots hold one
// chunk each.
type book struct {
	s *Sim
	l *Ledger
	t *testing.T
}

func newBook(t *testing.T) *book {
	d := Dials(ReplayTape(nil))
	b := &book{&Sim{Dials: d, Stores: stores()}, newLedger(), t}
	b.s.world(world.Dialect{})
	b.txn(core.Put(keys.ChainConst("a", 1), format.ChainConst{Stores: []core.Store{"std-a", "std-b"}, Pipeline: 4}.Encode()),
		core.Put(keys.ChainHead("a", 1), format.ChainHead{State: format.ChainOpen}.Encode()),
		core.Put(keys.Stream(7), format.Stream{Bucket: "b", Name: "n"}.Encode()))
	return b
}

func (b *book) apply(op core.Op) {
	b.t.Helper()
	if r := b.s.W.Apply(&op, world.When{Now: Epoch, Admitted: Epoch}); r.Outcome != core.OK {
		b.t.Fatalf("%s: %s %s", &op, r.Outcome, r.Val)
	}
	for i := range b.s.W.Changes {
		b.l.committing(b.s, &b.s.W.Changes[i])
		if c := &b.s.W.Changes[i]; c.Kind == world.ObjectPut {
			b.l.seen(c)
		}
	}
	b.s.W.Changes = b.s.W.Changes[:0]
}

func (b *book) txn(ws ...core.Write) { b.apply(core.Txn(ws...)) }

func (b *book) delete() {
	b.txn(core.Put(keys.Stream(7), format.Stream{Bucket: "b", Name: "n", Deleted: true}.Encode()))
}

// slot puts a chunk's slot into a store.
func (b *book) slot(st core.Store, slot uint64, c *Chunk) {
	f := format.EncodeFooter([]format.Chunk{{Stream: 7, First: slot, Count: c.Count, Len: c.Len, CRC: c.CRC}})
	tail := string(f) + format.EncodeTrailer(format.SlotObject, format.Window{Off: c.Len, Len: int64(len(f))}, f)
	b.apply(core.Create(core.Obj{Store: st, Key: keys.Slot("a", 1, slot)}, []core.Piece{
		{Kind: core.Blob, Blob: c.Blob, Len: c.Len, CRC: c.CRC}, {Kind: core.Literal, Bytes: tail}}, Epoch+1))
}

// What was committed before its stream's tombstone may be acknowledged at any time;
// what was not may not, whenever it was asked for.
func TestCommittedAfterTheTombstone(t *testing.T) {
	for what, x := range map[string]struct {
		do   func(b *book, c, before *Chunk)
		late bool
	}{
		"in every store, then the tombstone": {func(b *book, c, before *Chunk) {
			b.slot("std-a", 0, before)
			b.slot("std-b", 0, before)
			b.slot("std-a", 1, c)
			b.slot("std-b", 1, c)
			b.delete()
		}, false},
		"no tombstone": {func(b *book, c, before *Chunk) { b.slot("std-a", 1, c) }, false},
		"the last replica lands after it": {func(b *book, c, before *Chunk) {
			b.slot("std-a", 0, before)
			b.slot("std-b", 0, before)
			b.slot("std-a", 1, c)
			b.delete()
			b.slot("std-b", 1, c)
		}, true},
		"the slot before it lands after it": {func(b *book, c, before *Chunk) {
			b.slot("std-a", 0, before)
			b.slot("std-a", 1, c)
			b.slot("std-b", 1, c)
			b.delete()
			b.slot("std-b", 0, before)
		}, true},
		"a cut above it was published before": {func(b *book, c, before *Chunk) {
			b.slot("std-a", 0, before)
			b.slot("std-a", 1, c)
			b.txn(core.Put(keys.ChainHead("a", 1), format.ChainHead{State: format.ChainCut, Cut: 2}.Encode()))
			b.delete()
		}, false},
		"it stands everywhere above a cut": {func(b *book, c, before *Chunk) {
			b.slot("std-a", 0, before)
			b.txn(core.Put(keys.ChainHead("a", 1), format.ChainHead{State: format.ChainCut, Cut: 1}.Encode()))
			b.slot("std-a", 1, c)
			b.slot("std-b", 1, c)
			b.delete()
		}, true},
		"nowhere": {func(b *book, c, before *Chunk) { b.delete() }, true},
	} {
		b := newBook(t)
		before, c := b.l.Submit(7, 1, 10), b.l.Submit(7, 1, 10)
		x.do(b, c, before)
		if why := b.l.late(c); (why != "") != x.late {
			t.Errorf("%s: %q", what, why)
		}
	}
}
