package sim

import (
	"nova/core"
	"nova/faults/boundaries"
	"nova/sim/world"
)

// Found makes a run begin in a world that is not empty, at a time that is not Epoch:
// a scene calls it before it starts anything. The dials are Config.Dials.
func (s *Sim) Found(now core.Ms, stores core.Stores, w *world.World) {
	s.now, s.Stores, s.W = now, stores, w
}

// Resume puts a machine into the run in the middle of its life, as the process of a
// name, with what it has in flight: nothing of that has landed yet. When the process
// is cut, its actor boots another as ever.
func (s *Sim) Resume(a Actor, name string, m core.Machine, flying []core.Effect) *Proc {
	p := &Proc{Sim: s, Actor: a, queues: map[string]*queue{}}
	s.named(p)
	p.Name = name
	p.Env = core.Env{Dials: s.Dials, Stores: s.Stores, Process: name, Generation: 1}
	s.procs = append(s.procs, p)
	s.running[a.Name()] = p
	s.keepAlive(p)
	p.machine = m
	s.logf(p, "resume", "%d effects in flight", len(flying))
	p.x.Now = p.Clock()
	if s.Cover || s.Plan.Aimed() {
		p.x.Where = boundaries.Emitted
	}
	for i := range flying {
		s.emit(p, &flying[i], -1)
	}
	return p
}

// Session is the name of the first session that a process is given: rows that it
// holds by lease when it is resumed belong to it.
func Session(process string) string { return process + "/0" }

// Expire lets the sessions go whose time is over, at a time.
func (s *Sim) Expire(at core.Ms) { s.At(at, s.expire) }
