package protocol

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
)

// The room that a group's transaction leaves for the guards, the marker and its
// schedule rows.
const (
	reserveOps   = 4
	reserveBytes = 64 << 10
)

// derive makes the transaction of the group at hand from what was read: for each
// stream its span rows and its writer record, as far as they fit. A stream that
// does not fit is gone on with in the next group; its record says from where.
// Working means that txn is made.
func (a *Absorb) derive(e *core.Env, b *Batch) core.Verdict {
	for _, r := range a.rows.All() {
		if !r.definite {
			return core.Again
		}
	}
	d := groupDraft{next: a.next, thens: reserveOps, bytes: reserveBytes, ws: a.guards(b)}
	guards := len(d.ws)
	for i, id := range a.streams {
		v := d.stream(e, b, a.order, id, a.rows.At(2*i).row, a.rows.At(2*i+1).row)
		if v != core.Working {
			return v
		}
		if d.full {
			break
		}
	}
	a.txn = absorbTxn{next: d.next, dropped: d.dropped}
	if len(d.ws) == guards {
		return core.Working // nothing is left to write
	}
	// The flag goes with the record whose base it answers to: written apart, a cut
	// in between would lose the crossing.
	if d.crossed && !a.mark.Crossing {
		d.ws = append(d.ws, a.crossTxn(e, b)...)
	}
	a.txn.ws = d.ws
	return core.Working
}

// crossTxn ripens the marker at linger cadence.
func (a *Absorb) crossTxn(e *core.Env, b *Batch) []core.Write {
	c, m := b.Chain, a.mark
	m.Crossing, m.Ready = true, min(m.Ready, plan.Ready(&e.Dials, c.Const.Class, m.Birth, true))
	a.txn.mark, a.txn.marked = m, true
	sched := func(at core.Ms) string { return keys.SchedDenorm(c.shard(e), at, c.Star, c.Epoch, b.first()) }
	ws := []core.Write{core.If(a.marker.Mark), core.Put(a.marker.Key, m.Encode()), core.Put(sched(m.Ready), "")}
	if m.Ready != a.sched {
		ws = append(ws, core.Del(sched(a.sched)))
	}
	return ws
}

// groupDraft is a group's transaction in the making. It lives for one turn.
type groupDraft struct {
	ws      []core.Write
	thens   int
	bytes   int
	next    int // order index of the first chunk that is not decided
	full    bool
	crossed bool
	dropped int64
}

// stream adds one stream: its chunks begin at order[next].
func (d *groupDraft) stream(e *core.Env, b *Batch, order []chunkAt, id uint64, desc, writer core.Row) core.Verdict {
	end := d.next
	for end < len(order) && order[end].stream == id {
		end++
	}
	if desc.Rev == 0 {
		d.drop(end) // the id is never reused: nobody will ask for these records (gap 6)
		return core.Working
	}
	s, err := format.DecodeStream(desc.Val)
	switch {
	case err != nil:
		return core.Broken
	case s.Deleted:
		d.drop(end)
		return core.Working
	case writer.Rev == 0: // a teardown came between the two reads
		return core.Again
	}
	w, err := format.DecodeWriter(writer.Val)
	if err != nil {
		return core.Broken
	}
	c := b.Chain
	if w.Star != c.Star || w.Epoch != c.Epoch {
		return core.Again // opened elsewhere since: this absorber is a zombie
	}
	rows := rowDraft{c: c, id: id, maxSpans: e.Dials.SpansPerRow, maxBytes: e.Dials.OutputCap / 4}
	rows.at, rows.total = w.End, w.Total
	rows.birth = w.End == 0 && s.MaxAge > 0
	for d.next < end {
		at := order[d.next]
		slot := &b.Slots[at.slot]
		ch := slot.Footer.At(int(at.chunk))
		if ch.End() <= w.End {
			d.dropped++
			d.next++
			continue
		}
		if ch.First != rows.at {
			return core.Broken // a gap, or records that were absorbed in part
		}
		if rows.closes(&ch) && !d.room(&rows) {
			break
		}
		rows.add(d.next, format.Span{Slot: slot.Slot, Footer: slot.Window, Chunk: ch})
		d.next++
	}
	if rows.open() && (d.full || !d.room(&rows)) {
		d.next = rows.from // the row at hand goes into the next group
	}
	if len(rows.done) == 0 {
		return core.Working
	}
	w.End, w.Total = rows.doneAt, rows.doneTotal
	if w.Total-w.Base >= e.Dials.SizeTrigger {
		w.Base, d.crossed = w.Total, true
	}
	d.ws = append(d.ws, core.If(desc.Mark), core.If(writer.Mark))
	d.ws = append(d.ws, rows.done...)
	d.ws = append(d.ws, core.Put(writer.Key, w.Encode()))
	d.thens++
	if rows.birth {
		d.ws = append(d.ws, armRetention(e, id, &s, rows.newest))
		d.thens++
	}
	return core.Working
}

// armRetention is the write that begins a stream's retention clock, in the
// transaction that writes its first ref: when that ref has expired. Nothing of
// the stream was covered by a ref before, and a policy that comes later compares
// the writer record whose end this transaction raises, so that every stream with
// refs and a policy has one clock. The duty keeps it from here on.
func armRetention(e *core.Env, id uint64, s *format.Stream, newest core.Ms) core.Write {
	key := keys.DueRetention(keys.ShardOfStream(id, e.Dials.Shards), newest+s.MaxAge, id)
	return core.Put(key, format.RetentionMark{Policy: s.Policy}.Encode())
}

func (d *groupDraft) drop(end int) {
	d.dropped += int64(end - d.next)
	d.next = end
}

// room closes the row at hand if the transaction has room for it, its stream's
// writer record, its retention marker and two compares; if not, the transaction
// is full.
func (d *groupDraft) room(r *rowDraft) bool {
	w := r.encode()
	n := len(w.At.Key) + len(w.Val) + 384
	if d.thens+3 > core.TxnOps || d.bytes+n > core.TxnBytes {
		d.full = true
		return false
	}
	d.thens++
	d.bytes += n
	r.close(w)
	return true
}

// rowDraft gathers one stream's chunks into span rows.
type rowDraft struct {
	c        *Chain
	id       uint64
	maxSpans int
	maxBytes int64

	at    uint64 // where the next chunk must begin
	total int64  // bytes absorbed, with what is at hand
	spans []format.Span
	bytes int64
	from  int // order index of its first chunk

	birth     bool    // the stream has an age policy, and no ref yet
	newest    core.Ms // of its first row
	done      []core.Write
	doneAt    uint64
	doneTotal int64
}

func (r *rowDraft) open() bool { return len(r.spans) > 0 }

// closes reports whether the row at hand must be closed before a chunk is added:
// outputs split at row boundaries only, so a row is bounded here.
func (r *rowDraft) closes(ch *format.Chunk) bool {
	return r.open() && (len(r.spans) == r.maxSpans || r.bytes+ch.Len > r.maxBytes)
}

func (r *rowDraft) add(at int, s format.Span) {
	if !r.open() {
		r.from = at
	}
	r.spans = append(r.spans, s)
	r.bytes += s.Chunk.Len
	r.total += s.Chunk.Len
	r.at = s.Chunk.End()
}

func (r *rowDraft) encode() core.Write {
	row := format.Row{
		Kind: format.SpanRow, First: r.spans[0].Chunk.First, End: r.at,
		Star: r.c.Star, Epoch: r.c.Epoch, Class: r.c.Const.Class, Stores: r.c.Const.Stores,
		Spans: r.spans,
	}
	return core.Put(keys.Ref(r.id, r.at-1), row.Encode())
}

func (r *rowDraft) close(w core.Write) {
	if len(r.done) == 0 {
		r.newest = r.spans[len(r.spans)-1].Chunk.Newest
	}
	r.done = append(r.done, w)
	r.doneAt, r.doneTotal = r.at, r.total
	r.spans, r.bytes = nil, 0
}
