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
	chains map[string]*wayOf   // by the prefix of their keys
	fresh  []*Chunk            // acked, and not yet looked for

	commits commits

	// What was read last: reading is pure, and one object or row is looked at for
	// chunk after chunk.
	slot   *world.Object
	object *world.Object
	footer []format.Chunk
	tail   error
	val    string
	row    format.Row
	rowErr error
}

// wayOf is the chunks that were acked and not seen in refs, while a slot of one
// chain keeps them: nothing but a change of the chain can take them from there.
type wayOf struct {
	constKey, headKey string
	chunks            []*Chunk
}

type slotAt struct {
	of   *wayOf
	slot uint64
	key  string
}

func newLedger() *Ledger {
	return &Ledger{acked: map[uint64][]*Chunk{}, slots: map[uint64][]slotAt{}, chains: map[string]*wayOf{}, commits: newCommits()}
}

// chain is the chain of a slot's key, or of a row's.
func (l *Ledger) chain(key string) *wayOf {
	prefix := key[:strings.LastIndexByte(key, '/')+1]
	c := l.chains[prefix]
	if c == nil {
		c = &wayOf{constKey: prefix + keys.PartConst, headKey: prefix + keys.PartHead}
		l.chains[prefix] = c
	}
	return c
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
	l.fresh = append(l.fresh, c)
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
	_, _, slot, err := keys.ParseSlot(c.Key)
	if err != nil || l.slot != nil && l.slot.Key == c.Key && l.slot.Body.Equal(&c.Object.Body) {
		return // a replica
	}
	l.slot = c.Object
	t, err := format.ParseTail(c.Object.Tail(c.Object.Size()), c.Object.Size())
	if err != nil || t.Kind != format.SlotObject {
		return
	}
	for i := range t.Footer.Len() {
		k := t.Footer.At(i)
		b := c.Object.Body.Slice(k.Off, k.Len)
		if ch := l.whole(&b); ch != nil {
			l.slots[ch.Blob] = append(l.slots[ch.Blob], slotAt{l.chain(c.Key), slot, c.Key})
		}
	}
}

// changed follows the world: what was acknowledged must be there at every
// instant, in refs or in a committed slot that refs will be made of.
func (l *Ledger) changed(s *Sim, cs []world.Change) {
	for i := range cs {
		c := &cs[i]
		l.committing(s, c)
		switch {
		case c.Kind == world.ObjectPut:
			l.seen(c)
		case c.Kind == world.ObjectDel:
			l.leave(c)
		case (c.Kind == world.RowPut || c.Kind == world.RowDel) && strings.HasPrefix(c.Key, "chain/"):
			l.leave(c)
		case strings.HasPrefix(c.Key, "ref/") && c.Was != "":
			l.covered(s, c)
		}
	}
	l.onTheWay(s)
}

// leave has everything looked for again that the chain of a slot or row kept.
func (l *Ledger) leave(c *world.Change) {
	if strings.HasPrefix(c.Key, "chain/") {
		of := l.chain(c.Key)
		l.fresh = append(l.fresh, of.chunks...)
		of.chunks = of.chunks[:0]
	}
}

// covered looks at what a ref row that has changed did cover: it still must be.
func (l *Ledger) covered(s *Sim, c *world.Change) {
	id, _, err := keys.ParseRef(c.Key)
	row, err2 := l.decode(c.Was)
	if err != nil || err2 != nil {
		return
	}
	as, first, end := l.acked[id], row.First, row.End
	for i := sort.Search(len(as), func(i int) bool { return as[i].First >= first }); i < len(as) && as[i].First < end; i++ {
		if why := l.inRefs(s, as[i]); why != "" {
			s.Breach(LawAcked, "acknowledged blob %d, [%d, %d) of stream %d, was in row %s: %s", as[i].Blob, as[i].First, as[i].First+uint64(as[i].Count), id, c.Key, why)
			return
		}
	}
}

// onTheWay looks for everything that was acknowledged, and was not seen in refs nor
// in a slot since its chain has changed.
func (l *Ledger) onTheWay(s *Sim) {
	for i, c := range l.fresh {
		of, no := l.inSlot(s, c)
		if no == "" {
			of.chunks = append(of.chunks, c)
			continue
		}
		if why := l.inRefs(s, c); why != "" {
			s.Breach(LawAcked, "acknowledged blob %d, [%d, %d) of stream %d, is nowhere: %s, and %s", c.Blob, c.First, c.First+uint64(c.Count), c.Stream, why, no)
			l.fresh = append(l.fresh[:0], l.fresh[i:]...)
			return
		}
	}
	l.fresh = l.fresh[:0]
}

// decode is DecodeRow. What it returns is valid until it is called again.
func (l *Ledger) decode(val string) (*format.Row, error) {
	if val != l.val || val == "" {
		l.val = val
		l.row, l.rowErr = format.DecodeRow(val)
	}
	return &l.row, l.rowErr
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
		row, err := l.decode(r.Val)
		if err != nil || row.First > c.First {
			return false
		}
		why = l.inRow(s, c, row)
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
		if l.object != o {
			var t format.Tail
			t, l.tail = format.ParseTail(o.Tail(o.Size()), o.Size())
			l.object, l.footer = o, t.Footer.Chunks()
		}
		if l.tail != nil {
			return l.tail.Error()
		}
		for k := range l.footer {
			if f := &l.footer[k]; f.Stream == c.Stream && f.First == c.First {
				return l.same(c, o, f)
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

// inSlot is the chain of a committed slot that is still to be absorbed and holds a
// chunk; or it says why there is none.
func (l *Ledger) inSlot(s *Sim, c *Chunk) (of *wayOf, why string) {
	s.Count.Laws[LawAcked]++
	why = "no slot ever held it"
	for _, at := range l.slots[c.Blob] {
		if why = l.owed(s, at); why == "" {
			return at.of, ""
		}
	}
	return nil, why
}

// owed says why a slot is not committed, or will not be absorbed any more.
func (l *Ledger) owed(s *Sim, at slotAt) string {
	m := &s.W.Meta
	name := at.key
	cr, _ := m.Lookup(at.of.constKey)
	hr, _ := m.Lookup(at.of.headKey)
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
		// A fence is what keeps a slot from being there.
		if o := s.W.Bucket(st).Lookup(name); o == nil || fence(o) {
			missing++
		}
	}
	// A settler that could not reach a store may have adopted what the others hold.
	if missing == len(con.Stores) || missing > 0 && head.State == format.ChainOpen {
		return fmt.Sprintf("%s is missing from %d of %d stores", name, missing, len(con.Stores))
	}
	return ""
}
