package law

import (
	"cmp"
	"fmt"
	"slices"

	"nova/core/format"
	"nova/core/keys"
)

// stream is everything that stands or is said about one stream.
type stream struct {
	id    uint64
	dirty bool

	desc   value[format.Stream]
	trim   value[uint64]
	writer value[format.Writer]
	refs   []*ref // by last
	blind  int    // rows that do not decode

	teardowns int // markers that stand or are parked
	markers   []marker
	producer  bool    // its producer handle stands
	names     []*fact // addresses that lead to it

	asked   uint64  // below it, clients asked that it be trimmed
	doomed  bool    // a client asked that it be deleted
	grave   grave   // its teardown
	clock   *marker // its retention marker that was written last, or nil
	written bool    // rows of it stood since then

	acks []*promise // by first

	judged    bearing
	staleRefs []*ref
	staleAcks []*promise
	badRefs   int      // rows with breaches
	badAcks   int      // acknowledged chunks with one
	ended     []lifeID // what rows named, live, that were written or went since
}

// bearing is what bears on every row of a stream.
type bearing struct {
	live   bool
	bucket string
	mark   uint64
}

// ref is one row of a stream.
type ref struct {
	f     *fact
	s     *stream
	last  uint64
	row   format.Row
	blind bool

	stale bool // it is to be judged
	gone  bool
	names []lifeID // what it names, live, as last judged
	bad   []Breach
}

func (s *stream) empty() bool {
	return !s.desc.here && !s.trim.here && !s.writer.here && !s.producer && len(s.refs)+len(s.acks)+len(s.ended)+len(s.names)+len(s.markers) == 0 && s.asked == 0 && !s.doomed
}

func (s *stream) find(last uint64) (int, bool) {
	return slices.BinarySearchFunc(s.refs, last, func(r *ref, last uint64) int { return cmp.Compare(r.last, last) })
}

// live reports whether the stream's rows must hold: it stands and is no tombstone.
func (s *stream) live() bool { return s.desc.ok() && !s.desc.v.Deleted }

// judgeStream judges laws 1, 2 and 3 on a stream, and dates the deaths of what
// its rows no longer name.
func (j *Judge) judgeStream(s *stream) (bad []Breach) {
	if j.scope == Chains {
		return j.judgeSpans(s)
	}
	bad = j.judgeWalkers(s, bad)
	bad = j.judgeMarkers(s, bad)
	bad = j.judgeServed(s, bad)
	for i := 1; i < len(s.refs); i++ {
		a, b := s.refs[i-1], s.refs[i]
		if !a.blind && !b.blind && b.row.First < a.row.End {
			bad = append(bad, Breach{2, b.f.row.Key, "the row overlaps the one before it"})
		}
	}
	if s.desc.blind || s.trim.blind {
		return bad // law 0 says so; what it named stays named
	}
	bad = j.judgeRows(s, bad)
	if s.live() && s.blind == 0 {
		bad = j.judgeCover(s, bad)
		bad = j.judgeAcks(s, bad)
	}
	return bad
}

// judgeSpans judges of a stream what a judge of chains can: whether the slots stand
// that the rows it was given name.
func (j *Judge) judgeSpans(s *stream) []Breach {
	if s.desc.blind || s.trim.blind {
		return nil
	}
	return j.judgeRows(s, nil)
}

// judgeRows judges laws 2 and 3 on the rows that have changed, or whose bearing has.
func (j *Judge) judgeRows(s *stream, bad []Breach) []Breach {
	j.bear(s)
	for _, r := range s.staleRefs {
		if r.stale = false; !r.gone {
			j.judgeRow(s, r)
		}
	}
	clear(s.staleRefs)
	s.staleRefs = s.staleRefs[:0]
	j.bury(s)
	if s.live() && s.badRefs > 0 {
		for _, r := range s.refs {
			bad = append(bad, r.bad...)
		}
	}
	return bad
}

// bear has judged anew what the descriptor and the watermark bear on, if they moved.
func (j *Judge) bear(s *stream) {
	now := bearing{s.live(), s.desc.v.Bucket, s.trim.v}
	was := s.judged
	if now == was {
		return
	}
	s.judged = now
	lo, hi := min(was.mark, now.mark), max(was.mark, now.mark)
	if now.live != was.live || now.bucket != was.bucket {
		lo, hi = 0, 1<<64-1
	}
	for _, r := range s.refs { // rows that overlap are in no order of their beginnings
		if r.row.First < hi && r.row.End > lo {
			s.staleRefs = r.outdate(s.staleRefs)
		}
	}
	for _, p := range s.acks {
		if p.First < hi && p.End() > lo {
			s.staleAcks = p.outdate(s.staleAcks)
		}
	}
}

// judgeWalkers: rows name objects that only a walk over them will let go, so a
// duty must come for the rows.
func (j *Judge) judgeWalkers(s *stream, bad []Breach) []Breach {
	key := keys.Stream(s.id)
	switch {
	case s.desc.blind:
	case !s.desc.here:
		if len(s.refs) > 0 {
			j.evaluated(1)
			bad = append(bad, Breach{1, s.refs[0].f.row.Key, "the row's stream has neither descriptor nor tombstone: no walk comes for it"})
		}
	case s.desc.v.Deleted:
		j.evaluated(1)
		if s.teardowns == 0 {
			bad = append(bad, Breach{1, key, "the stream is deleted, and no teardown marker stands"})
		}
	case s.desc.v.MaxAge > 0 && len(s.refs) > 0:
		j.evaluated(1)
		if !s.ages() {
			bad = append(bad, Breach{1, key, "the stream has rows and an age policy, and no retention marker of that policy stands"})
		}
	}
	return bad
}

// ages reports whether a marker stands that will walk the stream: one of an earlier
// policy resolves without a look at any row. What does not decode may be the one.
func (s *stream) ages() bool {
	return slices.ContainsFunc(s.markers, func(m marker) bool {
		return m.due.Queue == keys.Retention && (m.blind || m.policy == s.desc.v.Policy)
	})
}

// judgeRow judges laws 2 and 3 on one row, and what it names; of a stream that does
// not live, nothing.
func (j *Judge) judgeRow(s *stream, r *ref) {
	if len(r.bad) > 0 {
		s.badRefs--
	}
	j.names, r.bad = j.names[:0], nil
	if s.live() && !r.blind {
		j.names, r.bad = j.readable(s, r, j.names, nil)
	}
	if len(r.bad) > 0 {
		s.badRefs++
	}
	j.relive(r, j.names)
}

// readable says what of a row of a live stream cannot be read, and what it names.
func (j *Judge) readable(s *stream, r *ref, names []lifeID, bad []Breach) ([]lifeID, []Breach) {
	mark := s.trim.v
	if r.row.Kind == format.SpanRow {
		c := j.chain(r.row.Star, r.row.Epoch)
		for i := range r.row.Spans {
			sp := &r.row.Spans[i]
			if sp.Chunk.End() <= mark {
				continue
			}
			names = append(names, slotLife(r.row.Star, r.row.Epoch, sp.Slot))
			if j.scope == Streams {
				continue
			}
			j.evaluated(2)
			if why := j.spanBroken(c, &r.row, sp); why != "" {
				bad = append(bad, Breach{2, r.f.row.Key, fmt.Sprintf("records [%d, %d) in slot %d: %s", sp.Chunk.First, sp.Chunk.End(), sp.Slot, why)})
			}
		}
		return names, bad
	}
	for i := range r.row.Entries {
		e := &r.row.Entries[i]
		from := max(e.First, e.LiveFrom, mark)
		if above := max(e.First, mark); e.LiveFrom > above && !e.Lost {
			bad = append(bad, Breach{3, r.f.row.Key, fmt.Sprintf("records [%d, %d) are not below the watermark, and the entry holds them no more", above, e.LiveFrom)})
		}
		if e.Lost || from >= e.End() {
			continue
		}
		names = append(names, entryLife(s.id, e))
		j.evaluated(2)
		if why := j.entryBroken(s, e, from); why != "" {
			bad = append(bad, Breach{2, r.f.row.Key, fmt.Sprintf("records [%d, %d): %s", from, e.End(), why)})
		}
	}
	return names, bad
}

// spanBroken says why a span's bytes cannot be read, or will not be for long.
func (j *Judge) spanBroken(c *chain, row *format.Row, sp *format.Span) string {
	why := "no store of the set holds the slot"
	s := c.slot(sp.Slot)
	for _, st := range row.Stores {
		o := s.in(st)
		if o == nil {
			continue
		}
		if why = j.chunkBroken(o, sp); why == "" {
			break
		}
	}
	if why == "" && !c.owes(s) {
		why = "no batch marker stands for the slot, so it will be trimmed"
	}
	return why
}

func (j *Judge) chunkBroken(o *object, sp *format.Span) string {
	if !o.sound || o.tail.Kind != format.SlotObject {
		return "what stands at the slot's key is no slot"
	}
	i := o.find(sp.Chunk.Stream, sp.Chunk.First)
	switch {
	case i < 0 || o.chunks[i] != sp.Chunk:
		return "the slot's footer does not have the chunk"
	case o.tail.Window != sp.Footer:
		return "the slot's footer lies elsewhere"
	}
	return j.bytesBroken(o, i)
}

func (j *Judge) bytesBroken(o *object, i int) string {
	switch j.verify(o, i) {
	case mismatch:
		return fmt.Sprintf("the bytes of chunk %d in %s are not what the footer says", i, name(o.o))
	case unreadable:
		return fmt.Sprintf("the bytes of chunk %d in %s could not be read", i, name(o.o))
	}
	return ""
}

// settled is the object that an entry names, if it stands.
func (j *Judge) settled(s *stream, e *format.Entry) *object {
	g := j.groups[groupID{s.id, e.Epoch, e.First, e.Revision}]
	if g == nil {
		return nil
	}
	inc, home := keys.Incarnation{Generation: e.Generation, Created: e.Created}, j.home(e.Class)
	for _, o := range g.objects {
		if o.at.Inc == inc && o.o.Store == home && o.at.Bucket == s.desc.v.Bucket {
			return o
		}
	}
	return nil
}

// entryBroken says why the records [from, end) of an entry cannot be read.
func (j *Judge) entryBroken(s *stream, e *format.Entry, from uint64) string {
	o := j.settled(s, e)
	switch {
	case o == nil:
		return "the object does not stand"
	case !o.sound || o.tail.Kind != format.SettledObject:
		return "what stands is no settled object"
	case o.tail.Window != e.Footer:
		return "the object's footer lies elsewhere"
	case o.size != e.Bytes:
		return "the object has another size"
	}
	for i := o.covering(s.id, from); from < e.End(); i++ {
		var c format.Chunk
		if i < len(o.order) {
			c = o.chunks[o.order[i]]
		}
		if c.Stream != s.id || c.First > from || c.End() <= from {
			return fmt.Sprintf("the object does not hold record %d", from)
		}
		if why := j.bytesBroken(o, int(o.order[i])); why != "" {
			return why
		}
		from = c.End()
	}
	return ""
}

// judgeCover judges what law 3 says without knowing what was acknowledged: a
// live stream's rows cover it from its watermark to its writer's end.
func (j *Judge) judgeCover(s *stream, bad []Breach) []Breach {
	at := s.trim.v
	for _, r := range s.refs {
		if r.row.End <= at {
			continue
		}
		j.evaluated(3)
		if r.row.First > at {
			bad = append(bad, Breach{3, r.f.row.Key, fmt.Sprintf("records [%d, %d) before the row are in none", at, r.row.First)})
		}
		at = r.row.End
	}
	if !s.writer.ok() {
		return bad
	}
	end := s.writer.v.End
	j.evaluated(3)
	if at < end {
		bad = append(bad, Breach{3, keys.Writer(s.id), fmt.Sprintf("records [%d, %d) are absorbed, and in no row", at, end)})
	}
	if n := len(s.refs); n > 0 && s.refs[n-1].row.End > end {
		bad = append(bad, Breach{3, s.refs[n-1].f.row.Key, fmt.Sprintf("the row reaches beyond the writer's end, %d", end)})
	}
	return bad
}
