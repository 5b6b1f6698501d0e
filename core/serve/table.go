package serve

import (
	"slices"

	"nova/core"
	"nova/core/format"
)

// openStream is one stream that the star leads.
type openStream struct {
	id     uint64
	next   uint64    // sequence number of the next record
	newest core.Ms   // time of the last record, clamped
	lease  core.Mark // lease/stream/{id} as it was taken
}

// table holds the streams that a star leads, ascending by id.
type table struct{ rows core.Results[openStream] }

func (b *table) find(id uint64) (*openStream, bool) {
	k, ok := b.index(id)
	if !ok {
		return nil, false
	}
	return b.rows.At(k), true
}

func (b *table) index(id uint64) (int, bool) {
	return slices.BinarySearchFunc(b.rows.All(), id, func(s openStream, id uint64) int {
		switch {
		case s.id < id:
			return -1
		case s.id > id:
			return 1
		}
		return 0
	})
}

func (b *table) set(s openStream) {
	k, ok := b.index(s.id)
	if ok {
		b.rows.Set(k, s)
		return
	}
	b.put(slices.Insert(slices.Clone(b.rows.All()), k, s))
}

func (b *table) drop(id uint64) {
	if k, ok := b.index(id); ok {
		b.put(slices.Delete(slices.Clone(b.rows.All()), k, k+1))
	}
}

func (b *table) put(rows []openStream) {
	b.rows.Make(len(rows))
	for i, s := range rows {
		b.rows.Set(i, s)
	}
}

// slot makes a lane of an append: gives its records their sequence numbers, and
// clamps their times. ok is false where no chunk of it is of a stream that is led;
// acks then say why.
func (b *table) slot(t core.Turn, e *core.Env, r Request, slot uint64) (l lane, ok bool) {
	l = lane{busy: true, slot: slot, req: r, acks: make([]Ack, len(r.Chunks))}
	at := int64(0)
	for i := range r.Chunks {
		c := &r.Chunks[i]
		s, led := b.find(c.Stream)
		if !led {
			l.acks[i] = Ack{Reason: NotOpen}
			continue
		}
		oldest, newest := clamp(t.Now+e.Dials.Skew, s.newest, c.Oldest, c.Newest)
		l.chunks = append(l.chunks, format.Chunk{
			Stream: c.Stream, First: s.next, Count: c.Count, CRC: c.CRC,
			Off: at, Len: c.Len, Oldest: oldest, Newest: newest,
		})
		l.blobs = append(l.blobs, c.Blob)
		l.streams = append(l.streams, c.Stream)
		l.acks[i] = Ack{First: s.next}
		at += c.Len
		s.next += uint64(c.Count)
		s.newest = newest
	}
	if len(l.chunks) == 0 {
		return l, false
	}
	slices.Sort(l.streams)
	l.streams = slices.Compact(l.streams)
	l.tail, l.window = format.Finish(format.SlotObject, at, l.chunks)
	return l, true
}

// clamp makes record times non-decreasing within a stream and not ahead of limit
// (gap 20). Where a stream's last record is ahead of it already, dated by another
// star's clock, the limit wins: one record must not hold retention for ever.
func clamp(limit, last, oldest, newest core.Ms) (core.Ms, core.Ms) {
	last = min(last, limit)
	oldest = min(max(oldest, last), limit)
	return oldest, min(max(newest, oldest), limit)
}
