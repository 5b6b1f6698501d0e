package duty

import (
	"fmt"
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

type labCursors struct{ trimmed, rewritten, checkpoint uint64 }

// laws holds the laws on the whole world.
func (l *lab) laws(op *core.Op) {
	l.alive = nil
	watched := map[core.Obj]bool{}
	l.rowLaws(op, watched)
	l.markerWatch(watched)
	l.cursorLaws(op)
	for o := range l.objs {
		if strings.HasPrefix(o.Key, "data/") && !watched[o] {
			l.t.Errorf("%d: after %s: nobody watches %v", l.now, op, o)
		}
		if !strings.HasPrefix(o.Key, "chain/") {
			continue
		}
		if star, epoch, slot, err := keys.ParseSlot(o.Key); err == nil && !l.slotWatched(star, epoch, slot) {
			l.t.Errorf("%d: after %s: nobody watches slot %v", l.now, op, o)
		}
	}
	for id, u := range l.uploads {
		if !l.intent(u.at) {
			l.t.Errorf("%d: after %s: nobody watches upload %s of %v", l.now, op, id, u.at)
		}
	}
}

func (l *lab) mark(id uint64) uint64 {
	_, m, _ := l.stream(id)
	return m
}

func (l *lab) stream(id uint64) (s format.Stream, mark uint64, live bool) {
	row, ok := l.rows[keys.Stream(id)]
	if !ok {
		return s, 0, false
	}
	s, err := format.DecodeStream(row.Val)
	if err != nil {
		return s, 0, false
	}
	if row, ok := l.rows[keys.Trim(id)]; ok {
		mark, _ = format.DecodeNumber(row.Val)
	}
	return s, mark, !s.Deleted
}

// rowLaws: what refs of live streams name above the watermark stands, with these
// very bytes; and refs watch.
func (l *lab) rowLaws(op *core.Op, watched map[core.Obj]bool) {
	ends := map[uint64]uint64{}
	for _, k := range l.keys("ref/") {
		id, last, err := keys.ParseRef(k)
		if err != nil {
			l.t.Fatalf("%s: %v", k, err)
		}
		row, err := format.DecodeRow(l.rows[k].Val)
		if err != nil {
			delete(ends, id) // a damaged row is a scenario of its own
			continue
		}
		if row.End != last+1 {
			l.t.Errorf("after %s: row %s ends at %d", op, k, row.End)
		}
		if _, _, live := l.stream(id); !live {
			delete(ends, id)
		}
		if end, ok := ends[id]; ok && (row.First < end || row.First > end && row.First > l.mark(id)) {
			l.t.Errorf("after %s: row %s begins at %d, the row before it ends at %d", op, k, row.First, end)
		}
		ends[id] = row.End
		s, mark, live := l.stream(id)
		for i := range row.Spans {
			sp := &row.Spans[i]
			stands := 0
			for _, st := range row.Stores {
				o := core.Obj{Store: st, Key: keys.Slot(row.Star, row.Epoch, sp.Slot)}
				if watched[o] = true; live && sp.Chunk.End() > mark {
					l.named[o], l.alive = l.now, append(l.alive, o)
					if _, ok := l.objs[o]; ok || l.taken[o] {
						stands++
						l.holds(op, o, &sp.Chunk)
					}
				}
			}
			if live && sp.Chunk.End() > mark && stands == 0 { // read-any
				l.t.Errorf("%d: after %s: a live ref of stream %d names slot %d of %s/%d, which stands nowhere", l.now, op, id, sp.Slot, row.Star, row.Epoch)
			}
		}
		for i := range row.Entries {
			e := &row.Entries[i]
			if e.Lost {
				continue
			}
			key := keys.Settled{Bucket: s.Bucket, Stream: id, Epoch: e.Epoch, First: e.First, Revision: e.Revision,
				Inc: keys.Incarnation{Generation: e.Generation, Created: e.Created}, HasInc: true}
			if s.Bucket == "" {
				key.Bucket = "b" // the tombstone is gone
			}
			o := core.Obj{Store: l.stores.Home(e.Class), Key: key.Key()}
			if watched[o] = true; live && e.End() > mark {
				l.named[o], l.alive = l.now, append(l.alive, o)
				l.holdsEntry(op, o, e, mark)
			}
		}
	}
}

func (l *lab) holds(op *core.Op, o core.Obj, c *format.Chunk) {
	b, ok := l.objs[o]
	if !ok { // taken away by the test
		return
	}
	if int(c.End()*recordSize) > len(l.want[c.Stream]) {
		l.t.Errorf("after %s: %v holds records up to %d of stream %d, which has fewer", op, o, c.End(), c.Stream)
		return
	}
	if got := b[c.Off : c.Off+c.Len]; got != l.want[c.Stream][c.First*recordSize:c.End()*recordSize] {
		l.t.Errorf("after %s: %v holds %q at [%d, %d) of stream %d", op, o, got, c.First, c.End(), c.Stream)
	}
}

func (l *lab) holdsEntry(op *core.Op, o core.Obj, e *format.Entry, mark uint64) {
	b, ok := l.objs[o]
	if !ok && l.taken[o] {
		return
	}
	if !ok {
		l.t.Errorf("%d: after %s: a live entry names %v, which does not stand", l.now, op, o)
		return
	}
	tail, err := format.ParseTail(b, int64(len(b)))
	if err != nil || tail.Window != e.Footer || e.Bytes != int64(len(b)) {
		l.t.Errorf("after %s: %v (%d bytes) is not what its entry %+v says: %+v %v", op, o, len(b), e, tail.Window, err)
		return
	}
	at := max(e.LiveFrom, mark)
	for i := range tail.Footer.Len() {
		c := tail.Footer.At(i)
		if c.End() <= at {
			continue
		}
		if c.First > at {
			l.t.Errorf("after %s: %v has no records [%d, %d)", op, o, at, c.First)
		}
		l.holds(op, o, &c)
		at = c.End()
	}
	if at != e.End() {
		l.t.Errorf("after %s: %v ends at %d, its entry %+v", op, o, at, e)
	}
}

// intent reports whether an intent stands for an object: at its derived key, or
// condemned.
func (l *lab) intent(o core.Obj) bool {
	shard := keys.ShardOfObject(o.Key, l.dials.Shards)
	if _, ok := l.rows[keys.DueOrphan(shard, o.Key)]; ok {
		return true
	}
	s, err := keys.ParseSettled(o.Key)
	if err != nil {
		return false
	}
	row, ok := l.rows[keys.DueOrphan(shard, s.Derived().Key())]
	if !ok {
		return false
	}
	x, err := format.DecodeIntent(row.Val)
	return err == nil && (x.Created == s.Inc.Created || x.Created == 0 && row.Rev == s.Inc.Created)
}

func (l *lab) markerWatch(watched map[core.Obj]bool) {
	watch := func(key string) {
		for _, st := range []core.Store{"std", "xp1", "xp2"} {
			watched[core.Obj{Store: st, Key: key}] = true
		}
	}
	for k := range l.rows {
		marker := k
		if strings.HasPrefix(k, "park/") {
			if q, m, err := keys.ParsePark(k); err == nil && !q.Scheduled() {
				marker = m
			}
		}
		if !strings.HasPrefix(marker, "due/reap/") && !strings.HasPrefix(marker, "due/gc/") {
			continue
		}
		if d, err := keys.ParseDue(marker); err == nil && (d.Queue == keys.Reap || d.Queue == keys.GC) {
			watch(d.Object)
		}
	}
	for o := range l.objs {
		if !watched[o] && l.intent(o) {
			watched[o] = true
		}
	}
}

// slotWatched: a batch marker that owes it, a trim-check, or the part of the
// chain that is not absorbed.
func (l *lab) slotWatched(star string, epoch, slot uint64) bool {
	row, ok := l.rows[keys.ChainHead(star, epoch)]
	if h, err := format.DecodeChainHead(row.Val); ok && err == nil && slot >= h.Checkpoint {
		return true
	}
	shard := keys.ShardOfChain(star, epoch, l.dials.Shards)
	from, end := keys.DenormChain(shard, star, epoch)
	trims := fmt.Sprintf("due/trimcheck/%04d/", shard)
	for k := range l.rows {
		switch {
		case strings.HasPrefix(k, trims):
			if d, err := keys.ParseDue(k); err == nil && d.Star == star && d.Epoch == epoch {
				return true
			}
		case strings.HasPrefix(k, "park/trimcheck/"):
			return true
		case k >= from && k < end:
			if d, err := keys.ParseDue(k); err == nil && d.Slot <= slot {
				return true // it owes the slot, or its trim-check will cover it
			}
		}
	}
	return false
}

func (l *lab) cursorLaws(op *core.Op) {
	for _, k := range l.keys("chain/") {
		star, epoch, part, err := keys.ParseChain(k)
		if err != nil || part != keys.PartTrim {
			continue
		}
		t, _ := format.DecodeChainTrim(l.rows[k].Val)
		h, _ := format.DecodeChainHead(l.rows[keys.ChainHead(star, epoch)].Val)
		was, now := l.trims[k], labCursors{t.Trimmed, t.Rewritten, h.Checkpoint}
		if now.trimmed < was.trimmed || now.rewritten < was.rewritten || now.trimmed > now.rewritten || now.rewritten > now.checkpoint {
			l.t.Errorf("after %s: cursors went from %+v to %+v", op, was, now)
		}
		l.trims[k] = now
	}
}
