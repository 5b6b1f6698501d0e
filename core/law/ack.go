package law

import (
	"fmt"
	"slices"
	"sort"

	"nova/core/format"
	"nova/core/keys"
)

// promise is an acknowledged chunk, and where it was when it was last judged.
type promise struct {
	Ack
	s     *stream
	stale bool
	why   string  // it is nowhere
	home  *object // the slot that keeps it while no ref leads to it, or nil
	c     *chain  // among whose waiting ones it is, or nil
}

// ackFrom is where the first acknowledged chunk stands that begins at seq or later.
func (s *stream) ackFrom(seq uint64) int {
	return sort.Search(len(s.acks), func(i int) bool { return s.acks[i].First >= seq })
}

func (s *stream) promise(a Ack) *promise {
	p := &promise{Ack: a, s: s}
	s.acks = slices.Insert(s.acks, s.ackFrom(a.First), p)
	return p
}

// staleUnder has the acknowledged chunks judged anew that begin where row i is the
// first that does not end before them.
func (s *stream) staleUnder(i int) {
	from := uint64(0)
	if i > 0 {
		from = s.refs[i-1].last + 1
	}
	s.staleFrom(from, s.refs[i].last)
}

// staleFrom has the acknowledged chunks judged anew that begin in [from, last].
func (s *stream) staleFrom(from, last uint64) {
	for k := s.ackFrom(from); k < len(s.acks) && s.acks[k].First <= last; k++ {
		s.staleAcks = s.acks[k].outdate(s.staleAcks)
	}
}

// outdate adds an acknowledged chunk to those that are to be judged.
func (p *promise) outdate(stale []*promise) []*promise {
	if p.stale {
		return stale
	}
	p.stale = true
	return append(stale, p)
}

// outdate adds a row to those that are to be judged.
func (r *ref) outdate(stale []*ref) []*ref {
	if r.stale {
		return stale
	}
	r.stale = true
	return append(stale, r)
}

func (j *Judge) stalePromise(p *promise) {
	p.s.staleAcks = p.outdate(p.s.staleAcks)
	j.touchStream(p.s)
}

func (j *Judge) staleRef(r *ref) {
	r.s.staleRefs = r.outdate(r.s.staleRefs)
	j.touchStream(r.s)
}

// staleNamers has every row judged anew that names a slot.
func (j *Judge) staleNamers(s *slot) {
	for _, r := range s.namers {
		j.staleRef(r)
	}
}

// staleEntries has every row judged anew that names an object of a group, and the
// acknowledged chunks that it leads to.
func (j *Judge) staleEntries(g *group) {
	for _, n := range g.entries {
		j.staleRef(n.r)
		n.r.s.staleFrom(n.e.First, n.e.End())
	}
}

// staleWaiting has the acknowledged chunks judged anew that only a chain's slots
// kept, and those that were nowhere.
func (j *Judge) staleWaiting(c *chain) {
	for _, p := range c.waiting {
		if p.c == c {
			p.c = nil
			j.stalePromise(p)
		}
	}
	clear(c.waiting)
	c.waiting = c.waiting[:0]
	for _, p := range j.homeless {
		j.stalePromise(p)
	}
	j.homeless = nil
}

// judgeAcks judges law 3 on what was acknowledged.
func (j *Judge) judgeAcks(s *stream, bad []Breach) []Breach {
	for _, p := range s.staleAcks {
		j.judgeAck(s, p)
	}
	clear(s.staleAcks)
	s.staleAcks = s.staleAcks[:0]
	if s.badAcks == 0 {
		return bad
	}
	for _, p := range s.acks {
		if p.why != "" {
			bad = append(bad, Breach{3, keys.Stream(s.id), fmt.Sprintf("acknowledged records [%d, %d): %s, and no slot that will be absorbed holds them", p.First, p.End(), p.why)})
		}
	}
	return bad
}

func (j *Judge) judgeAck(s *stream, p *promise) {
	if p.why != "" {
		s.badAcks--
	}
	p.stale, p.why, p.home = false, "", nil
	if p.End() <= s.trim.v {
		p.c = nil
		return
	}
	j.evaluated(3)
	why := j.refBroken(s, &p.Ack)
	if why == "" {
		p.c = nil
		return
	}
	if p.home = j.deposited(&p.Ack); p.home == nil {
		p.c, p.why = nil, why
		s.badAcks++
		j.homeless = append(j.homeless, p)
		return
	}
	if c := p.home.c; p.c != c {
		p.c = c
		c.waiting = append(c.waiting, p)
	}
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
		if c := &o.chunks[at]; c.Count != a.Count || c.CRC != a.CRC {
			return "the object holds other bytes"
		}
		return ""
	}
	return "no part of the row begins with them"
}

// deposited is a committed slot that is still to be absorbed and holds an
// acknowledged chunk, or nil.
func (j *Judge) deposited(a *Ack) *object {
	for _, o := range j.deposits[chunkID{a.Stream, a.First}] {
		i := o.find(a.Stream, a.First)
		if c := &o.chunks[i]; c.Count != a.Count || c.CRC != a.CRC {
			continue
		}
		if o.c.consts.blind || o.c.head.blind {
			return o // law 0 says so
		}
		h := &o.c.head.v
		if o.c.consts.ok() && o.c.head.ok() && slices.Contains(o.c.consts.v.Stores, o.o.Store) &&
			o.slot >= h.Checkpoint && h.State < format.ChainSwept && (h.State < format.ChainCut || o.slot < h.Cut) {
			return o
		}
	}
	return nil
}
