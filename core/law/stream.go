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

	teardowns, retentions int // markers that stand or are parked

	acks  []Ack    // by first
	lives []lifeID // what its rows name, live, as last judged
}

// ref is one row of a stream.
type ref struct {
	f     *fact
	last  uint64
	row   format.Row
	blind bool
}

func (s *stream) empty() bool {
	return !s.desc.here && !s.trim.here && !s.writer.here && len(s.refs)+len(s.acks)+len(s.lives) == 0 && s.teardowns+s.retentions == 0
}

func (s *stream) find(last uint64) (int, bool) {
	return slices.BinarySearchFunc(s.refs, last, func(r *ref, last uint64) int { return cmp.Compare(r.last, last) })
}

func (s *stream) ack(a Ack) {
	i, _ := slices.BinarySearchFunc(s.acks, a, func(x, a Ack) int { return cmp.Compare(x.First, a.First) })
	s.acks = slices.Insert(s.acks, i, a)
}

// live reports whether the stream's rows must hold: it stands and is no tombstone.
func (s *stream) live() bool { return s.desc.ok() && !s.desc.v.Deleted }

// judgeStream judges laws 1, 2 and 3 on a stream, and dates the deaths of what
// its rows no longer name.
func (j *Judge) judgeStream(s *stream) (bad []Breach) {
	bad = j.judgeWalkers(s, bad)
	for i := 1; i < len(s.refs); i++ {
		a, b := s.refs[i-1], s.refs[i]
		if !a.blind && !b.blind && b.row.First < a.row.End {
			bad = append(bad, Breach{2, b.f.row.Key, "the row overlaps the one before it"})
		}
	}
	if s.desc.blind || s.trim.blind {
		return bad // law 0 says so; what it named stays named
	}
	var names []lifeID
	if s.live() {
		for _, r := range s.refs {
			if !r.blind {
				names, bad = j.judgeRow(s, r, names, bad)
			}
		}
		if s.blind == 0 {
			bad = j.judgeCover(s, bad)
			bad = j.judgeAcks(s, bad)
		}
	}
	j.relive(s, names)
	return bad
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
		if s.retentions == 0 {
			bad = append(bad, Breach{1, key, "the stream has rows and an age policy, and no retention marker stands"})
		}
	}
	return bad
}

// judgeRow judges law 2 on one row of a live stream, and collects what it names.
func (j *Judge) judgeRow(s *stream, r *ref, names []lifeID, bad []Breach) ([]lifeID, []Breach) {
	mark := s.trim.v
	if r.row.Kind == format.SpanRow {
		for i := range r.row.Spans {
			sp := &r.row.Spans[i]
			if sp.Chunk.End() <= mark {
				continue
			}
			names = append(names, slotLife(r.row.Star, r.row.Epoch, sp.Slot))
			j.evaluated(2)
			if why := j.spanBroken(&r.row, sp); why != "" {
				bad = append(bad, Breach{2, r.f.row.Key, fmt.Sprintf("records [%d, %d) in slot %d: %s", sp.Chunk.First, sp.Chunk.End(), sp.Slot, why)})
			}
		}
		return names, bad
	}
	for i := range r.row.Entries {
		e := &r.row.Entries[i]
		from := max(e.First, e.LiveFrom, mark)
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
func (j *Judge) spanBroken(row *format.Row, sp *format.Span) string {
	c := j.chain(row.Star, row.Epoch)
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
	if why == "" && !c.owes(sp.Slot) {
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
	case i < 0 || o.tail.Footer.At(i) != sp.Chunk:
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
	f := o.tail.Footer
	for i := o.covering(s.id, from); from < e.End(); i++ {
		var c format.Chunk
		if i < len(o.order) {
			c = f.At(int(o.order[i]))
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

// judgeAcks judges law 3 on what was acknowledged.
func (j *Judge) judgeAcks(s *stream, bad []Breach) []Breach {
	for i := range s.acks {
		a := &s.acks[i]
		if a.End() <= s.trim.v {
			continue
		}
		j.evaluated(3)
		why := j.refBroken(s, a)
		if why != "" && !j.deposited(a) {
			bad = append(bad, Breach{3, keys.Stream(s.id), fmt.Sprintf("acknowledged records [%d, %d): %s, and no slot that will be absorbed holds them", a.First, a.End(), why)})
		}
	}
	return bad
}

// refBroken says why the stream's rows do not lead to an acknowledged chunk.
func (j *Judge) refBroken(s *stream, a *Ack) string {
	i, _ := s.find(a.First)
	if i == len(s.refs) || s.refs[i].row.First > a.First {
		return "no row covers them"
	}
	row := &s.refs[i].row
	for k := range row.Spans {
		if c := &row.Spans[k].Chunk; c.First == a.First {
			if c.Count != a.Count || c.CRC != a.CRC {
				return "the span that covers them has other bytes"
			}
			return ""
		}
	}
	for k := range row.Entries {
		e := &row.Entries[k]
		if a.First < e.First || a.First >= e.End() {
			continue
		}
		if e.Lost {
			return "the entry that covers them says that they are lost"
		}
		if a.End() <= e.LiveFrom || a.End() > e.End() {
			return "the entry does not cover them"
		}
		o := j.settled(s, e)
		if o == nil || !o.sound {
			return "the object that the entry names does not stand"
		}
		at := o.find(s.id, a.First)
		if at < 0 {
			return "the object does not hold them"
		}
		if c := o.tail.Footer.At(at); c.Count != a.Count || c.CRC != a.CRC {
			return "the object holds other bytes"
		}
		return ""
	}
	return "no part of the row begins with them"
}

// deposited reports whether a committed slot that is still to be absorbed holds
// an acknowledged chunk.
func (j *Judge) deposited(a *Ack) bool {
	for _, o := range j.deposits[chunkID{a.Stream, a.First}] {
		i := o.find(a.Stream, a.First)
		if c := o.tail.Footer.At(i); c.Count != a.Count || c.CRC != a.CRC {
			continue
		}
		if o.c.consts.blind || o.c.head.blind {
			return true // law 0 says so
		}
		h := &o.c.head.v
		if o.c.consts.ok() && o.c.head.ok() && slices.Contains(o.c.consts.v.Stores, o.o.Store) &&
			o.slot >= h.Checkpoint && h.State < format.ChainSwept && (h.State < format.ChainCut || o.slot < h.Cut) {
			return true
		}
	}
	return false
}
