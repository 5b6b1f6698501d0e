package sim

import (
	"fmt"

	"nova/core"
	"nova/faults/boundaries"
	"nova/sim/world"
)

// Actor is a role in a run (a star, an auditor, a reader): what its processes,
// one after another, have in common.
type Actor interface {
	// Name is the role's own, the same at every start: "star-0".
	Name() string
	// Boot makes the root machine of a new process.
	Boot(p *Proc) core.Machine
}

// What an actor is told of its processes, where it cares to implement them.
type (
	// Giver is told of the answers that a process gives, when they are given.
	Giver interface {
		Gave(p *Proc, queue, val string)
	}
	// Fetcher is told of what a process fetched: the body is the bytes that are
	// in the sink now, if the outcome is OK.
	Fetcher interface {
		Fetched(p *Proc, op *core.Op, out core.Outcome, body world.Body)
	}
	// Mourner is told that a process has ended: cut, or done.
	Mourner interface {
		Ended(p *Proc, cut bool)
	}
	// Reviver decides whether a process that was cut may be started again.
	Reviver interface {
		Revive() bool
	}
)

// Proc is one start of one actor.
type Proc struct {
	Sim   *Sim
	Actor Actor
	Name  string // unique to this start
	Env   core.Env
	Skew  core.Ms // what its clock is ahead of the true time

	machine core.Machine
	x       core.Exchange
	session string // "" while it could not be granted one
	leases  int    // sessions that it has had
	pend    []*pending
	paused  bool
	slept   bool       // it was paused once
	kept    bool       // as it stands still its session is renewed
	flaky   core.Ms    // until when its network is bad
	held    []*pending // what became ready while it was paused
	ended   bool
	queues  map[string]*queue

	id   string     // the actor, and which of its starts
	sent map[ID]int // in a run that is recorded or replayed: effects of each identity
	line *Line      // that records its start
}

// queue is one of a process's own queues of requests.
type queue struct {
	vals   []string
	takers []*pending
}

// Clock is the process's own time.
func (p *Proc) Clock() core.Ms { return p.Sim.now + p.Skew }

// Alive reports whether the process has neither been cut nor ended.
func (p *Proc) Alive() bool { return !p.ended }

// Paused reports whether the process stands still.
func (p *Proc) Paused() bool { return p.paused }

// Push hands the process a request in one of its queues.
func (p *Proc) Push(name, val string) {
	q := p.queue(name)
	if len(q.takers) == 0 {
		q.vals = append(q.vals, val)
		return
	}
	e := q.takers[0]
	q.takers = append(q.takers[:0:0], q.takers[1:]...)
	p.Sim.answer(e, core.Reply{Val: val})
}

func (p *Proc) queue(name string) *queue {
	q := p.queues[name]
	if q == nil {
		q = &queue{}
		p.queues[name] = q
	}
	return q
}

// Start starts a new process of an actor. Its name is the actor's with a number
// that no other start has.
func (s *Sim) Start(a Actor) *Proc {
	p := &Proc{Sim: s, Actor: a, queues: map[string]*queue{}}
	s.named(p)
	p.Env = core.Env{Dials: s.Dials, Stores: s.Stores, Process: p.Name, Generation: 1}
	if off, yes := s.skewed(p); yes {
		p.Skew = off
		s.logf(p, "skew", "%d ms", p.Skew)
	}
	s.clocks.Run(p.Skew, &s.Dials)
	s.procs = append(s.procs, p)
	s.running[a.Name()] = p
	s.keepAlive(p)
	p.machine = a.Boot(p)
	s.logf(p, "start", "")
	p.x.Now = p.Clock()
	if s.Cover || s.Plan.Aimed() {
		p.x.Where = boundaries.Emitted
	}
	s.turn(p, p.x.Start())
	return p
}

// Running is the live process of an actor, or nil.
func (s *Sim) Running(a Actor) *Proc { return s.running[a.Name()] }

// turn steps a machine and takes up what it emits.
func (s *Sim) turn(p *Proc, t core.Turn) {
	done := p.machine.Step(t)
	s.Count.Turns++
	if !p.x.Consumed() {
		s.Breach(LawContract, "%s: the reply at %s found no call: a branch was dropped in flight", p.Name, p.x.Ev.At)
		return
	}
	for i := range p.x.Notes {
		s.note(p, &p.x.Notes[i])
	}
	for i := range p.x.Out {
		s.emit(p, &p.x.Out[i], s.sited(p, i))
	}
	if done {
		if len(p.pend) > 0 {
			s.Breach(LawContract, "%s ended with %s in flight at %s", p.Name, &p.pend[0].op, p.pend[0].at)
		}
		s.end(p, false)
	}
}

// emit takes up one effect, of a place in the source.
func (s *Sim) emit(p *Proc, eff *core.Effect, site int) {
	for _, o := range p.pend {
		if o.at == eff.At {
			s.Breach(LawContract, "%s: %s is in flight at %s already, and now %s", p.Name, &o.op, eff.At, &eff.Op)
			return
		}
	}
	s.serial++
	e := &pending{p: p, at: eff.At, op: eff.Op, site: site, lease: p.session, sentAt: s.now, clock: p.Clock(), ready: -1, slot: len(p.pend), serial: s.serial}
	s.identify(e)
	p.pend = append(p.pend, e)
	s.Count.Laws[LawBudget]++
	if len(p.pend) > s.budget {
		s.Breach(LawBudget, "%s has %d effects in flight, more than any of its widths allow (%d)", p.Name, len(p.pend), s.budget)
	}
	if !s.NoLaws {
		s.widths(p, e)
	}
	s.Count.Ops[e.op.Kind]++
	switch e.op.Kind {
	case core.KWait:
		s.wait(e)
	case core.KTake:
		s.take(e)
	case core.KGive, core.KStage:
		s.enqueue(e)
	default:
		s.send(e)
	}
}

// wait wakes a process at a time of its own clock; now and then it is nudged.
func (s *Sim) wait(e *pending) {
	e.stage = waiting
	until := e.op.Until - e.p.Skew
	if d := s.nudged(e, int(until-s.now)); d >= 0 {
		until = s.now + d
	}
	s.At(until, func() { s.answer(e, core.Reply{}) })
}

func (s *Sim) take(e *pending) {
	q := e.p.queue(e.op.Key)
	if len(q.vals) == 0 {
		e.stage = waiting
		q.takers = append(q.takers, e)
		return
	}
	val := q.vals[0]
	q.vals = append(q.vals[:0:0], q.vals[1:]...)
	s.answer(e, core.Reply{Val: val})
}

// send puts an effect on its way; some are slow.
func (s *Sim) send(e *pending) {
	if s.refuses(e) {
		s.answer(e, core.Reply{Outcome: core.Refused, Val: "the clocks disagree"})
		return
	}
	if d := s.slowed(e); d > 0 {
		e.stage = waiting
		s.After(d, func() {
			if !e.dead {
				e.stage = sent
				s.enqueue(e)
			}
		})
		return
	}
	s.enqueue(e)
}

// answer makes a reply ready to be delivered.
func (s *Sim) answer(e *pending, r core.Reply) {
	if e.dead {
		return
	}
	e.reply, e.stage = r, landed
	s.enqueue(e)
}

// deliver hands a reply to its machine.
func (s *Sim) deliver(e *pending) {
	p := e.p
	s.forget(e)
	s.Count.Effects++
	s.Count.Outcomes[e.op.Kind][e.reply.Outcome]++
	told := s.logReply(e)
	p.x.Now = p.Clock()
	s.turn(p, p.x.Deliver(e.at, e.reply))
	if told != nil {
		told.After = s.state(p)
	}
	if s.passesMark(p, e) {
		s.cutAtMark(p, e)
	}
}

// end is the end of a process: its machine is done, or it was cut.
func (s *Sim) end(p *Proc, cut bool) {
	p.ended = true
	s.rec.leaves(s, p)
	for len(p.pend) > 0 {
		s.forget(p.pend[len(p.pend)-1])
	}
	p.held, p.machine = nil, nil
	if s.running[p.Actor.Name()] == p {
		delete(s.running, p.Actor.Name())
	}
	for i, q := range s.procs {
		if q == p {
			s.procs = append(s.procs[:i], s.procs[i+1:]...)
			break
		}
	}
	if !cut && p.session != "" { // a process that ends well gives its session back
		s.W.Revoke(p.session)
		s.changed(nil)
	}
	if m, ok := p.Actor.(Mourner); ok {
		m.Ended(p, cut)
	}
}

// keepAlive renews a process's session three times in its life, for as long as
// the process lives; it asks for a new one where it has none.
func (s *Sim) keepAlive(p *Proc) {
	if p.ended {
		return
	}
	s.After(s.Dials.SessionTTL/3, func() { s.keepAlive(p) })
	if p.paused && !p.kept || s.metaDown {
		return
	}
	until := s.now + s.Dials.SessionTTL
	if p.session != "" && s.W.Meta.Renew(p.session, until) {
		s.At(until, s.expire)
		return
	}
	// A session that ended does not come back: what stood under it is gone, and
	// what the process puts from now on stands under another.
	id := fmt.Sprintf("%s/%d", p.Name, p.leases)
	if s.W.Meta.Grant(id, until) {
		p.session = id
		p.leases++
		s.At(until, s.expire)
		s.logf(p, "session", "%s", id)
	} else {
		p.session = ""
	}
}

// expire ends the sessions that nobody renewed.
func (s *Sim) expire() {
	for _, id := range s.W.Expire(s.now) {
		s.logf(nil, "expired", "session %s", id)
	}
	s.changed(nil)
}
