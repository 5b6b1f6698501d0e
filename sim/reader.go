package sim

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/sim/world"
)

// plan is a read plan: what the refs of one stream said at one instant. Its
// holder may use any of it, in any order, for as long as a plan is good for.
type plan struct {
	stream uint64
	made   core.Ms
	mark   uint64
	parts  []planned
}

// planned is one thing that a plan names: a chunk in a slot, or a settled object
// whose footer says what chunks it has.
type planned struct {
	at    []core.Obj // replicas, any of which will do
	chunk format.Chunk
	entry format.Entry
}

// makePlan reads a stream's refs, all at one instant.
func makePlan(s *Sim, id uint64) *plan {
	live, mark := streamState(&s.W.Meta, id)
	if !live {
		return nil
	}
	p := &plan{stream: id, made: s.now, mark: mark}
	bucket := bucketOf(&s.W.Meta, id)
	from, end := keys.RefRange(id, mark)
	s.W.Meta.Range(from, end, func(r core.Row) bool {
		row, err := format.DecodeRow(r.Val)
		if err != nil {
			return true
		}
		for i := range row.Spans {
			sp := &row.Spans[i]
			if sp.Chunk.End() <= mark {
				continue
			}
			var at []core.Obj
			for _, st := range row.Stores {
				at = append(at, core.Obj{Store: st, Key: keys.Slot(row.Star, row.Epoch, sp.Slot)})
			}
			p.parts = append(p.parts, planned{at: at, chunk: sp.Chunk})
		}
		for i := range row.Entries {
			if e := &row.Entries[i]; !e.Lost && max(e.LiveFrom, mark) < e.End() {
				p.parts = append(p.parts, planned{at: []core.Obj{entryObj(&s.Stores, bucket, id, e)}, entry: *e})
			}
		}
		return true
	})
	return p
}

// use fetches one thing that the plan names. The plan's time has not run out, so
// it must be there, whatever has become of the stream since; and its bytes must
// be those that were submitted.
func (p *plan) use(s *Sim, l *Ledger, it *planned) {
	s.Count.Laws[LawReader]++
	var o *world.Object
	for _, at := range it.at {
		b := s.W.Bucket(at.Store)
		if b.Down {
			return // nobody can say
		}
		// A fence in one replica, as its absence, means: try the next.
		if x := b.Lookup(at.Key); x != nil && !fence(x) {
			o = x
			break
		}
	}
	if o == nil {
		s.Breach(LawReader, "a reader's plan of stream %d, %d ms old, names %s/%s, which does not stand", p.stream, s.now-p.made, it.at[0].Store, it.at[0].Key)
		return
	}
	if it.chunk.Count > 0 {
		p.verify(s, l, o, &it.chunk)
		return
	}
	t, err := format.ParseTail(o.Tail(o.Size()), o.Size())
	if err != nil {
		s.Breach(LawBytes, "%s, which an entry of stream %d names: %v", o.Key, p.stream, err)
		return
	}
	for i := range t.Footer.Len() {
		if c := t.Footer.At(i); c.End() > max(it.entry.LiveFrom, p.mark) {
			p.verify(s, l, o, &c)
		}
	}
}

// keepsFooters has a reader fetch the footers that a plan names as the plan runs out,
// and use them for as long as a cached footer may be used: to the end of its contract,
// which is the plan's time and the footer's, one after the other.
func (w *Workload) keepsFooters(s *Sim, p *plan) {
	last := s.now + s.Dials.FooterLife
	for i := range p.parts {
		it := &p.parts[i]
		b := s.W.Bucket(it.at[0].Store)
		if it.chunk.Count > 0 || b.Down { // a chunk of a slot is in the plan itself: that has no footer to keep
			continue
		}
		if o := b.Lookup(it.at[0].Key); o != nil {
			s.At(last-1, func() { p.useFooter(s, it, o, last) })
		}
	}
}

// useFooter reads by a footer that was fetched from an object as it stood then. A timer
// may come late: beyond the last instant nothing is asked.
func (p *plan) useFooter(s *Sim, it *planned, had *world.Object, last core.Ms) {
	at := it.at[0]
	b := s.W.Bucket(at.Store)
	if s.breach != nil || s.now > last || b.Down {
		return
	}
	s.Count.Laws[LawReader]++
	o := b.Lookup(at.Key)
	switch {
	case o == nil:
		s.Breach(LawReader, "a reader's footer of %s/%s, which it fetched as its plan of stream %d ran out, is good for %d ms yet, and the object does not stand", at.Store, at.Key, p.stream, last-s.now)
	case !o.Body.Equal(&had.Body):
		s.Breach(LawImmutable, "a reader's footer of %s/%s is of other bytes than those that stand", at.Store, at.Key)
	}
}

// fence reports whether an object is one.
func fence(o *world.Object) bool {
	t, err := format.ParseTail(o.Tail(format.TrailerSize), o.Size())
	return err == nil && t.Kind == format.FenceObject
}

// verify holds a chunk to what the client submitted.
func (p *plan) verify(s *Sim, l *Ledger, o *world.Object, c *format.Chunk) {
	if c.Off+c.Len > o.Size() {
		s.Breach(LawBytes, "%s is too short for the chunk at %d of stream %d", o.Key, c.First, p.stream)
		return
	}
	b := o.Body.Slice(c.Off, c.Len)
	got := l.whole(&b)
	switch {
	case got == nil || got.Stream != p.stream || c.Stream != p.stream || got.Count != c.Count:
		s.Breach(LawBytes, "%s: the chunk at %d of stream %d has bytes that nobody submitted for it (%v)", o.Key, c.First, p.stream, got)
	case got.Acked && got.First != c.First:
		s.Breach(LawBytes, "%s: blob %d of stream %d was acknowledged at %d and reads at %d", o.Key, got.Blob, p.stream, got.First, c.First)
	case c.CRC != b.CRC(0, b.Size()):
		s.Breach(LawBytes, "%s: the chunk at %d of stream %d has another checksum", o.Key, c.First, p.stream)
	}
}

// readBack reads a stream from its watermark to its end: every acknowledged
// chunk once, in order, whole, with its bytes; no chunk twice; no gap.
func readBack(s *Sim, l *Ledger, id uint64) {
	p := makePlan(s, id)
	if p == nil {
		return
	}
	var got []format.Chunk
	for i := range p.parts {
		it := &p.parts[i]
		if p.use(s, l, it); s.breach != nil {
			return
		}
		if it.chunk.Count > 0 {
			got = append(got, it.chunk)
			continue
		}
		o := s.W.Bucket(it.at[0].Store).Lookup(it.at[0].Key)
		t, _ := format.ParseTail(o.Tail(o.Size()), o.Size())
		for k := range t.Footer.Len() {
			if c := t.Footer.At(k); c.End() > max(it.entry.LiveFrom, p.mark) {
				got = append(got, c)
			}
		}
	}
	seen := map[uint64]bool{}
	next := uint64(0)
	for i, c := range got {
		if i > 0 && c.First != next {
			s.Breach(LawAcked, "stream %d reads [..., %d) and then [%d, %d)", id, next, c.First, c.End())
			return
		}
		next = c.End()
		seen[c.First] = true
	}
	s.Count.Laws[LawAcked]++
	for _, c := range l.Acked(id) {
		if c.First+uint64(c.Count) > p.mark && !seen[c.First] {
			s.Breach(LawAcked, "acknowledged blob %d, [%d, %d) of stream %d, does not read back (watermark %d)", c.Blob, c.First, c.First+uint64(c.Count), id, p.mark)
			return
		}
	}
	l.twice(s, id, got)
}

// twice looks for bytes that read more often than they were submitted. Chunks of
// a byte or two may be alike by chance: they are counted, not named.
func (l *Ledger) twice(s *Sim, id uint64, got []format.Chunk) {
	type bytes struct {
		crc uint32
		len int64
	}
	left := map[bytes]int{}
	for _, ch := range l.chunks {
		if ch.Stream == id {
			left[bytes{ch.CRC, ch.Len}]++
		}
	}
	for i := range got {
		k := bytes{got[i].CRC, got[i].Len}
		if left[k]--; left[k] < 0 {
			s.Breach(LawAcked, "the chunk [%d, %d) of stream %d, %d bytes with checksum %08x, reads more often than it was submitted", got[i].First, got[i].End(), id, k.len, k.crc)
			return
		}
	}
}
