package sim

import (
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/sim/world"
)

// graces holds what one operation did to reap-checks to what the specification says
// of their dates: whoever arms one, or confirms one, dates it one read grace from
// then, or later. An object that dies just before it is probed has no other grace
// than that of its confirmation, and runs in which that happens are few.
//
// Then is when the operation was sent, by its sender's own clock. A marker that only
// moves, since its duty failed or an operator put it back, keeps what it was armed
// for; confirmed, it may not come sooner.
func graces(s *Sim, e *pending, cs []world.Change) {
	if e == nil {
		return
	}
	sent := e.clock
	for i := range cs {
		c := &cs[i]
		if c.Kind != world.RowPut || !strings.HasPrefix(c.Key, "due/reap/") {
			continue
		}
		due, err := keys.ParseDue(c.Key)
		m, err2 := format.DecodeReapMark(c.Val)
		if err != nil || err2 != nil {
			continue
		}
		s.Count.Laws[LawReader]++
		was, at, moved := movedFrom(cs, c, due.Object)
		switch {
		case moved && was.Confirmed == m.Confirmed:
			if m.Confirmed && due.At < at {
				s.Breach(LawReader, "a confirmed reap-check of %s moves from %d to %d: its grace is not over", due.Object, at, due.At)
			}
		case due.At < sent+s.Dials.ReadGrace:
			s.Breach(LawReader, "%s dates a reap-check of %s %d ms from when it asked for it, and the read grace is %d ms", e.p.Name, due.Object, due.At-sent, s.Dials.ReadGrace)
		}
	}
}

// movedFrom is the reap-check of an object that the same operation replaced or took
// away, from its queue or from where it was parked, and its date.
func movedFrom(cs []world.Change, put *world.Change, object string) (was format.ReapMark, at core.Ms, yes bool) {
	for i := range cs {
		c := &cs[i]
		key, val := c.Key, c.Was
		switch {
		case c.Kind == world.RowDel && strings.HasPrefix(key, "park/"):
			p, err := format.DecodeParked(val)
			if err != nil {
				continue
			}
			if _, key, err = keys.ParsePark(key); err != nil {
				continue
			}
			val = p.Value
		case c.Kind == world.RowDel:
		case c != put || c.Was == "":
			continue
		}
		due, err := keys.ParseDue(key)
		m, err2 := format.DecodeReapMark(val)
		if err == nil && err2 == nil && due.Queue == keys.Reap && due.Object == object {
			return m, due.At, true
		}
	}
	return was, 0, false
}
