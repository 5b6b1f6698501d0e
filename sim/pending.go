package sim

import "nova/core"

// stage is how far an effect has come.
type stage uint8

const (
	sent    stage = iota // on its way: it can land
	landed               // its reply can be delivered
	waiting              // a wait, or a take of an empty queue: only time or a client moves it
)

// pending is one effect in flight.
type pending struct {
	p      *Proc
	at     core.Path
	op     core.Op
	site   int // the crash point that emitted it: an index of boundaries.Points; -1: none
	reply  core.Reply
	lease  string // the session under which it was sent
	sentAt core.Ms
	clock  core.Ms // its process's, as it was sent
	stage  stage
	dead   bool // delivered, or its process is gone
	aimed  bool // it was struck because the run was told to, and goes on
	ready  int  // where it stands in Sim.ready, or -1
	slot   int  // where it stands in Proc.pend
	serial uint64

	// Of a run that is recorded or replayed.
	id     ID
	key    string
	line   *Line  // that records what becomes of it
	fate   *Line  // that says so
	places places // of its lines
}

// enqueue makes an effect a choice of the scheduler.
func (s *Sim) enqueue(e *pending) {
	if e.dead || e.ready >= 0 {
		return
	}
	if e.p.paused && e.stage == landed { // what was sent goes on by itself; its reply waits
		e.p.held = append(e.p.held, e)
		return
	}
	e.ready = len(s.ready)
	s.ready = append(s.ready, e)
}

// dequeue takes an effect out of the choices.
func (s *Sim) dequeue(e *pending) {
	if e.ready < 0 {
		return
	}
	last := s.ready[len(s.ready)-1]
	s.ready[e.ready] = last
	last.ready = e.ready
	s.ready[len(s.ready)-1] = nil
	s.ready = s.ready[:len(s.ready)-1]
	e.ready = -1
}

// forget takes an effect out of its process.
func (s *Sim) forget(e *pending) {
	s.dequeue(e)
	e.dead = true
	p := e.p
	last := p.pend[len(p.pend)-1]
	p.pend[e.slot] = last
	last.slot = e.slot
	p.pend[len(p.pend)-1] = nil
	p.pend = p.pend[:len(p.pend)-1]
}
