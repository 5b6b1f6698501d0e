package law

import (
	"fmt"
	"slices"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// lifeID is what a live ref names: a slot, or one incarnation of a settled object.
type lifeID struct {
	star    string
	epoch   uint64
	n       uint64 // slot, or first
	stream  uint64
	rev     uint32
	inc     keys.Incarnation
	settled bool
}

func slotLife(star string, epoch, n uint64) lifeID { return lifeID{star: star, epoch: epoch, n: n} }

func entryLife(id uint64, e *format.Entry) lifeID {
	return lifeID{settled: true, stream: id, epoch: e.Epoch, n: e.First, rev: e.Revision,
		inc: keys.Incarnation{Generation: e.Generation, Created: e.Created}}
}

func (o *object) life() lifeID {
	if o.c != nil {
		return slotLife(o.c.id.star, o.c.id.epoch, o.slot)
	}
	return lifeID{settled: true, stream: o.at.Stream, epoch: o.at.Epoch, n: o.at.First, rev: o.at.Revision, inc: o.at.Inc}
}

// holds reports whether a catalog entry is a ref: of one that is lost, or of which all is
// dead, nothing is left but its place in its row.
func holds(e *format.Entry) bool { return !e.Lost && e.LiveFrom < e.End() }

// life counts the live refs that name an object, and dates its last death.
type life struct {
	refs int
	died core.Ms
}

// relive replaces what a row names, but counts nothing out: that is bury's, once
// every row of the stream has said what it names now.
func (j *Judge) relive(r *ref, names []lifeID) {
	if slices.Equal(r.names, names) {
		return
	}
	for _, id := range names {
		l := j.lives[id]
		if l == nil {
			l = &life{}
			j.lives[id] = l
		}
		l.refs++
	}
	r.s.ended = append(r.s.ended, r.names...)
	r.names = append(r.names[:0], names...)
}

// bury counts out what the rows of a stream name no more.
func (j *Judge) bury(s *stream) {
	for _, id := range s.ended {
		l := j.lives[id]
		if l.refs--; l.refs == 0 {
			l.died = j.now
			if !j.stands(id) {
				delete(j.lives, id)
			}
		}
	}
	s.ended = s.ended[:0]
}

// stands reports whether any object is what a ref named.
func (j *Judge) stands(id lifeID) bool {
	if !id.settled {
		c := j.chains[chainID{id.star, id.epoch}]
		if c == nil {
			return false
		}
		i, ok := c.findSlot(id.n)
		return ok && len(c.slots[i].objects) > 0
	}
	if g := j.groups[groupID{id.stream, id.epoch, id.n, id.rev}]; g != nil {
		for _, o := range g.objects {
			if o.at.Inc == id.inc {
				return true
			}
		}
	}
	return false
}

// TooEarly reports whether a deletion breaks law 4: it came sooner than one read
// grace after the last death. Who dates a grace and who finds that it is over may be
// two processes, so it can be short by what their clocks are apart: by the spread of
// the clocks of those that have run, not by what two clocks may be apart.
func TooEarly(died, deleted, grace, spread core.Ms) bool { return deleted < died+grace-spread }

// Clocks sets how far the clocks of all the processes that have run are apart, at
// most. A judge that was not told allows the skew of the dials.
func (j *Judge) Clocks(spread core.Ms) { j.spread = spread }

// judgeDeletion judges law 4 as an object goes. One that no live ref ever named
// has no reader to harm.
func (j *Judge) judgeDeletion(o *object) {
	j.evaluated(4)
	l := j.lives[o.life()]
	switch {
	case l == nil:
	case l.refs > 0:
		j.passing = append(j.passing, Breach{4, name(o.o), "it was deleted while a live ref named it"})
	case TooEarly(l.died, j.now, j.d.ReadGrace, j.spread):
		j.passing = append(j.passing, Breach{4, name(o.o), fmt.Sprintf("it was deleted %d ms after its last death, and the read grace is %d ms", j.now-l.died, j.d.ReadGrace)})
	}
}

// flushStreams judges the streams that are to be judged: deaths get the time at
// which they happened.
func (j *Judge) flushStreams() {
	for len(j.dirtyStreams) > 0 {
		s := j.dirtyStreams[len(j.dirtyStreams)-1]
		j.dirtyStreams = j.dirtyStreams[:len(j.dirtyStreams)-1]
		s.dirty = false
		j.say(s, j.judgeStream(s))
	}
}
