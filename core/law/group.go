package law

import (
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// groupID is a derived key without its bucket: ids are never reused, so the
// stream says which.
type groupID struct {
	stream, epoch, first uint64
	revision             uint32
}

func groupOf(at keys.Settled) groupID {
	return groupID{at.Stream, at.Epoch, at.First, at.Revision}
}

// group is everything that stands or is said about one derived key.
type group struct {
	id    groupID
	dirty bool

	objects []*object
	uploads []unfinished
	entries []naming // of catalog rows, live or dead
	intents []intent // at the derived key, and condemned ones
	scheds  []mark   // their schedule rows
	marks   []mark   // reap, GC, and what is parked
}

func (g *group) empty() bool {
	return len(g.objects)+len(g.uploads)+len(g.entries)+len(g.intents)+len(g.scheds)+len(g.marks) == 0
}

type unfinished struct {
	u  Upload
	at keys.Settled
}

// naming is a catalog entry in its row.
type naming struct {
	r *ref
	e *format.Entry
}

func (n naming) inc() keys.Incarnation {
	return keys.Incarnation{Generation: n.e.Generation, Created: n.e.Created}
}

// mark is a row that names an object by its key.
type mark struct {
	f      *fact
	at     keys.Settled
	store  core.Store
	any    bool // parked or undecodable: it names the object in whatever store
	orphan bool // a parked intent
}

// intent is a write intent.
type intent struct {
	mark
	inc   keys.Incarnation // at the derived key: the incarnation that it stands for
	young bool             // the generation of inc is the cluster's
	blind bool
}

// covers reports whether an intent watches what is published under a key.
func (j *Judge) covers(x *intent, at keys.Settled, store core.Store) bool {
	if x.at.HasInc {
		return x.at == at && (x.blind || x.store == store)
	}
	if x.at != at.Derived() {
		return false
	}
	inc := x.inc
	if x.young {
		inc.Generation = uint32(j.generation)
	}
	return x.blind || inc == at.Inc && x.store == store
}

// judgeGroup judges law 1 on the objects and uploads of a derived key, law 6 on
// its entries, and that each intent is on the schedule.
func (j *Judge) judgeGroup(g *group) (bad []Breach) {
	s := j.streams[g.id.stream]
	untouchable := s != nil && s.blind > 0
	for _, o := range g.objects {
		j.evaluated(1)
		if !untouchable && !j.objectWatched(g, o) {
			bad = append(bad, Breach{1, name(o.o), "no ref, no intent, and no marker names the object"})
		}
	}
	for i := range g.uploads {
		u := &g.uploads[i]
		j.evaluated(1)
		if !j.uploadWatched(g, u) {
			bad = append(bad, Breach{1, uploadName(u.u), "no intent watches the unfinished upload"})
		}
	}
	for i, n := range g.entries {
		if n.e.Lost {
			continue
		}
		j.evaluated(6)
		for _, m := range g.entries[:i] {
			if !m.e.Lost && m.inc() == n.inc() && m.e.Class == n.e.Class {
				bad = append(bad, Breach{6, max(m.r.f.row.Key, n.r.f.row.Key), fmt.Sprintf("another entry names its object too (epoch %d, first %d, revision %d)", n.e.Epoch, n.e.First, n.e.Revision)})
			}
		}
	}
	return j.judgeSchedule(g, bad)
}

func (j *Judge) objectWatched(g *group, o *object) bool {
	for _, n := range g.entries {
		if holds(n.e) && n.inc() == o.at.Inc && j.home(n.e.Class) == o.o.Store {
			return true
		}
	}
	for i := range g.intents {
		if j.covers(&g.intents[i], o.at, o.o.Store) {
			return true
		}
	}
	for i := range g.marks {
		if m := &g.marks[i]; m.at == o.at && (m.any || m.store == o.o.Store) || m.orphan && m.at == o.at.Derived() {
			return true
		}
	}
	return false
}

func (j *Judge) uploadWatched(g *group, u *unfinished) bool {
	for i := range g.intents {
		if j.covers(&g.intents[i], u.at, u.u.Store) {
			return true
		}
	}
	return false
}

// judgeSchedule: an intent that no schedule row brings up again, and that is not
// parked, watches nothing; a schedule row without its intent is a clock that
// nobody stops.
func (j *Judge) judgeSchedule(g *group, bad []Breach) []Breach {
	for i := range g.intents {
		x := &g.intents[i]
		j.evaluated(1)
		n, parked := 0, false
		for k := range g.scheds {
			if g.scheds[k].at == x.at {
				n++
			}
		}
		for k := range g.marks {
			parked = parked || g.marks[k].orphan && g.marks[k].at == x.at
		}
		switch {
		case n == 0 && !parked:
			bad = append(bad, Breach{1, x.f.row.Key, "no schedule row brings the intent up"})
		case n > 1 || n == 1 && parked:
			bad = append(bad, Breach{8, x.f.row.Key, "more than one row brings the intent up"})
		}
	}
	for i := range g.scheds {
		there := false
		for k := range g.intents {
			there = there || g.intents[k].at == g.scheds[i].at
		}
		if !there {
			bad = append(bad, Breach{1, g.scheds[i].f.row.Key, "no intent stands for the schedule row"})
		}
	}
	return bad
}
