package sim

import (
	"fmt"
	"sort"
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/sim/world"
)

// Chunk is what a client submitted: a blob of its own, so that its bytes say
// which it is wherever they are found.
type Chunk struct {
	Blob   uint64
	Stream uint64
	Count  uint32
	CRC    uint32
	Len    int64
	Acked  bool
	First  uint64 // once acked
}

// Ledger is what the clients know: what they submitted, and what they were told
// is safe. It judges law 3.
type Ledger struct {
	chunks []*Chunk            // by blob, from 1
	acked  map[uint64][]*Chunk // by stream, ascending by First
	slots  map[uint64][]slotAt // where each blob was seen in a slot
	way    []*Chunk            // acked, and not yet seen in refs
}

type slotAt struct {
	star        string
	epoch, slot uint64
}

func newLedger() *Ledger {
	return &Ledger{acked: map[uint64][]*Chunk{}, slots: map[uint64][]slotAt{}}
}

// Submit makes a chunk for a stream.
func (l *Ledger) Submit(stream uint64, count uint32, size int64) *Chunk {
	c := &Chunk{Blob: uint64(len(l.chunks) + 1), Stream: stream, Count: count, Len: size}
	c.CRC = world.BlobCRC(c.Blob, 0, size)
	l.chunks = append(l.chunks, c)
	return c
}

// Ack notes that a chunk was acknowledged, its first record at first. It says
// what is wrong with that, or "".
func (l *Ledger) Ack(c *Chunk, first uint64) string {
	if c.Acked {
		return fmt.Sprintf("blob %d of stream %d was acknowledged twice, at %d and %d", c.Blob, c.Stream, c.First, first)
	}
	c.Acked, c.First = true, first
	as := l.acked[c.Stream]
	i := sort.Search(len(as), func(i int) bool { return as[i].First >= first })
	if i < len(as) && as[i].First < first+uint64(c.Count) || i > 0 && as[i-1].First+uint64(as[i-1].Count) > first {
		return fmt.Sprintf("stream %d: [%d, %d) was given out twice", c.Stream, first, first+uint64(c.Count))
	}
	as = append(as, nil)
	copy(as[i+1:], as[i:])
	as[i] = c
	l.acked[c.Stream] = as
	l.way = append(l.way, c)
	return ""
}

// Acked is what was acknowledged of a stream, in order. The caller must not
// change it.
func (l *Ledger) Acked(stream uint64) []*Chunk { return l.acked[stream] }

// Of is the chunk that a blob belongs to, or nil.
func (l *Ledger) Of(blob uint64) *Chunk {
	if blob == 0 || blob > uint64(len(l.chunks)) {
		return nil
	}
	return l.chunks[blob-1]
}

// whole says whose bytes a body is, if it is one submitted chunk whole.
func (l *Ledger) whole(b *world.Body) *Chunk {
	blob, off, n, ok := b.Blob()
	c := l.Of(blob)
	if !ok || c == nil || off != 0 || n != c.Len {
		return nil
	}
	return c
}

// seen notes what a new slot holds.
func (l *Ledger) seen(c *world.Change) {
	star, epoch, slot, err := keys.ParseSlot(c.Key)
	if err != nil {
		return
	}
	t, err := format.ParseTail(c.Object.Tail(c.Object.Size()), c.Object.Size())
	if err != nil || t.Kind != format.SlotObject {
		return
	}
	for i := range t.Footer.Len() {
		k := t.Footer.At(i)
		b := c.Object.Body.Slice(k.Off, k.Len)
		if ch := l.whole(&b); ch != nil {
			l.slots[ch.Blob] = append(l.slots[ch.Blob], slotAt{star, epoch, slot})
		}
	}
}

// changed follows the world: what was acknowledged must be there at every
// instant, in refs or in a committed slot that refs will be made of.
func (l *Ledger) changed(s *Sim, cs []world.Change) {
	way := false
	for i := range cs {
		c := &cs[i]
		switch {
		case c.Kind == world.ObjectPut:
			l.seen(c)
		case c.Kind == world.ObjectDel:
			way = way || strings.HasPrefix(c.Key, "chain/")
		case c.Kind == world.RowPut && strings.HasPrefix(c.Key, "chain/"):
			way = true
		case strings.HasPrefix(c.Key, "ref/") && c.Was != "":
			l.covered(s, c)
		}
	}
	if way {
		l.onTheWay(s)
	}
}

// covered looks at what a ref row that has changed did cover: it still must be.
func (l *Ledger) covered(s *Sim, c *world.Change) {
	id, _, err := keys.ParseRef(c.Key)
	row, err2 := format.DecodeRow(c.Was)
	if err != nil || err2 != nil {
		return
	}
	as := l.acked[id]
	for i := sort.Search(len(as), func(i int) bool { return as[i].First >= row.First }); i < len(as) && as[i].First < row.End; i++ {
		if why := l.inRefs(s, as[i]); why != "" {
			s.Breach(LawAcked, "acknowledged blob %d, [%d, %d) of stream %d, was in row %s: %s", as[i].Blob, as[i].First, as[i].First+uint64(as[i].Count), id, c.Key, why)
			return
		}
	}
}

// onTheWay looks at everything that was acknowledged and not yet seen in refs.
func (l *Ledger) onTheWay(s *Sim) {
	kept := l.way[:0]
	for _, c := range l.way {
		why := l.inRefs(s, c)
		if why == "" {
			continue
		}
		if no := l.inSlot(s, c); no != "" {
			s.Breach(LawAcked, "acknowledged blob %d, [%d, %d) of stream %d, is nowhere: %s, and %s", c.Blob, c.First, c.First+uint64(c.Count), c.Stream, why, no)
			return
		}
		kept = append(kept, c)
	}
	l.way = kept
}

// inRefs says why a chunk is not to be found through the refs, or "". A chunk of
// a stream that is deleted, or below the watermark, need not be.
func (l *Ledger) inRefs(s *Sim, c *Chunk) string {
	s.Count.Laws[LawAcked]++
	m := &s.W.Meta
	if live, mark := streamState(m, c.Stream); !live || c.First+uint64(c.Count) <= mark {
		return ""
	}
	why := fmt.Sprintf("no row covers %d", c.First)
	from, end := keys.RefRange(c.Stream, c.First)
	m.Range(from, end, func(r core.Row) bool {
		row, err := format.DecodeRow(r.Val)
		if err != nil || row.First > c.First {
			return false
		}
		why = l.inRow(s, c, &row)
		return false
	})
	return why
}

// streamState is whether a stream lives, and its watermark.
func streamState(m *world.Meta, id uint64) (live bool, mark uint64) {
	if r, ok := m.Lookup(keys.Stream(id)); ok {
		st, err := format.DecodeStream(r.Val)
		live = err == nil && !st.Deleted
	}
	if r, ok := m.Lookup(keys.Trim(id)); ok {
		mark, _ = format.DecodeNumber(r.Val)
	}
	return live, mark
}

func (l *Ledger) inRow(s *Sim, c *Chunk, row *format.Row) string {
	for i := range row.Spans {
		if sp := &row.Spans[i]; sp.Chunk.First <= c.First && c.First < sp.Chunk.End() {
			key := keys.Slot(row.Star, row.Epoch, sp.Slot)
			for _, st := range row.Stores {
				if o := s.W.Bucket(st).Lookup(key); o != nil && !fence(o) {
					return l.same(c, o, &sp.Chunk)
				}
			}
			return "its slot " + key + " is in no store"
		}
	}
	for i := range row.Entries {
		e := &row.Entries[i]
		if c.First < e.First || c.First >= e.End() {
			continue
		}
		switch {
		case e.Lost:
			return "its entry says that it is lost"
		case c.First+uint64(c.Count) <= e.LiveFrom:
			return fmt.Sprintf("its entry is dead below %d", e.LiveFrom)
		}
		at := entryObj(&s.Stores, bucketOf(&s.W.Meta, c.Stream), c.Stream, e)
		o := s.W.Bucket(at.Store).Lookup(at.Key)
		if o == nil {
			return "its object " + at.Key + " does not stand"
		}
		t, err := format.ParseTail(o.Tail(o.Size()), o.Size())
		if err != nil {
			return err.Error()
		}
		for k := range t.Footer.Len() {
			if f := t.Footer.At(k); f.Stream == c.Stream && f.First == c.First {
				return l.same(c, o, &f)
			}
		}
		return "its object " + at.Key + " has no chunk that begins there"
	}
	return "its row has nothing there"
}

func bucketOf(m *world.Meta, id uint64) string {
	r, _ := m.Lookup(keys.Stream(id))
	st, err := format.DecodeStream(r.Val)
	if err != nil {
		return ""
	}
	return st.Bucket
}

// same says what is wrong with the place where a chunk is said to be.
func (l *Ledger) same(c *Chunk, o *world.Object, f *format.Chunk) string {
	if f.Off+f.Len > o.Size() {
		return "the object is shorter than the chunk"
	}
	b := o.Body.Slice(f.Off, f.Len)
	if got := l.whole(&b); got != c || f.First != c.First || f.Count != c.Count {
		return fmt.Sprintf("%s holds other bytes there (blob %v)", o.Key, got)
	}
	return ""
}

// inSlot says why a chunk is in no committed slot that is still to be absorbed,
// or "".
func (l *Ledger) inSlot(s *Sim, c *Chunk) string {
	why := "no slot ever held it"
	for _, at := range l.slots[c.Blob] {
		if why = l.owed(s, at); why == "" {
			return ""
		}
	}
	return why
}

// owed says why a slot is not committed, or will not be absorbed any more.
func (l *Ledger) owed(s *Sim, at slotAt) string {
	m := &s.W.Meta
	name := keys.Slot(at.star, at.epoch, at.slot)
	cr, _ := m.Lookup(keys.ChainConst(at.star, at.epoch))
	hr, _ := m.Lookup(keys.ChainHead(at.star, at.epoch))
	con, err := format.DecodeChainConst(cr.Val)
	head, err2 := format.DecodeChainHead(hr.Val)
	switch {
	case err != nil || err2 != nil:
		return "the chain of " + name + " has no record"
	case at.slot < head.Checkpoint:
		return fmt.Sprintf("%s is below the checkpoint %d", name, head.Checkpoint)
	case head.State != format.ChainOpen && at.slot >= head.Cut:
		return fmt.Sprintf("%s is above the cut %d", name, head.Cut)
	}
	missing := 0
	for _, st := range con.Stores {
		if s.W.Bucket(st).Lookup(name) == nil {
			missing++
		}
	}
	// A settler that could not reach a store may have adopted what the others hold.
	if missing == len(con.Stores) || missing > 0 && head.State == format.ChainOpen {
		return fmt.Sprintf("%s is missing from %d of %d stores", name, missing, len(con.Stores))
	}
	return ""
}
