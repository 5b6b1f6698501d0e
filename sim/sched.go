package sim

import (
	"nova/core"
	"nova/faults"
	"nova/sim/world"
)

// style is how a run's scheduler chooses among what is ready.
type style uint8

const (
	uniform   style = iota // any effect
	sticky                 // mostly the process that ran last
	lagging                // one actor runs only where nothing else can
	newest                 // mostly what was sent last
	oldest                 // mostly what was sent first
	reluctant              // mostly what only reads: what is written follows what was read long ago
	styles
)

// run is the whole of a run.
func (s *Sim) run() {
	s.faulty = true
	// A run whose processes are all gone ends as well: steps are bounded.
	for n := 0; s.breach == nil && !s.over() && n < 30*s.Config.Effects; n++ {
		if s.script == nil && s.clients != nil && s.tape.Choose(100) >= 100-s.busy {
			s.clients.Act(s)
		}
		if !s.step() {
			break
		}
	}
	if s.Instant {
		return
	}
	s.calm()
	if s.clients == nil {
		for s.breach == nil && s.step() {
		}
		return
	}
	s.settle()
}

// over reports whether it is time for the faults to stop.
func (s *Sim) over() bool {
	if s.script != nil {
		return s.script.calm(s) || s.Count.Effects >= int64(s.Config.Effects)
	}
	return s.Count.Effects >= int64(s.Config.Effects)
}

// calm ends all faults: what is down comes up, what is paused goes on, what
// waits to be restarted is.
func (s *Sim) calm() {
	s.faulty, s.calmAt = false, s.now
	if s.rec != nil {
		s.rec.add(s, &Line{Do: DoCalm})
	}
	s.logf(nil, "calm", "faults stop")
	s.metaDown, s.slow = false, ""
	s.W.Meta.SetNoSpace(false)
	for _, b := range s.W.Buckets() {
		b.Down = false
	}
	for _, p := range s.procs {
		s.resume(p)
	}
}

// patience is how long the work of a run may take to drain once faults stop:
// every grace of every duty, one after another, with room.
func (s *Sim) patience() core.Ms {
	if s.Patience > 0 {
		return s.Patience
	}
	d := &s.Dials
	return 2*(max(d.AgeCap[0], d.AgeCap[1])+d.OrphanGrace+8*d.ReadGrace+4*d.RequestLife+4*d.LiveHeadProbe+d.GateRetry+d.Quiesce+10*d.BackoffMax) + 20_000
}

// WorkLeft is in the words of a breach of law 8 by work that does not drain.
const WorkLeft = "work is left"

// settle runs until the work has drained, and then looks for a fixed point.
func (s *Sim) settle() {
	if s.breach == nil {
		s.clients.Stop(s)
	}
	end, least := s.now+s.patience(), s.W.Meta.Len()
	left := "nothing yet"
	for s.breach == nil && s.now < end {
		next := s.now + 500
		for s.breach == nil && s.now < next {
			if !s.step() {
				s.now = next // nothing moves any more, and nobody is left: time goes by all the same
			}
		}
		s.Count.Laws[LawDrains]++
		if left = s.clients.Drained(s); left == "" && s.now < s.calmAt+s.Dials.RequestLife {
			left = "what was sent as the faults stopped may still land" // a claim, say, that another's work has made moot
		}
		if left == "" {
			break
		}
		// A long backlog may take its time, as long as it becomes shorter.
		if n := s.W.Meta.Len(); n < least {
			end, least = end+500, n
		}
	}
	if s.breach == nil && left != "" {
		s.Breach(LawDrains, "%d ms after the faults have stopped, %s: %s", s.patience(), WorkLeft, left)
	}
	if s.breach == nil {
		s.clients.Finish(s)
	}
	s.still()
}

// still runs for a while in which nothing may be written but clocks.
func (s *Sim) still() {
	d := &s.Dials
	s.Laws.Still(true)
	for end := s.now + 2*d.ReadGrace + 4*d.LiveHeadProbe; s.breach == nil && s.now < end && s.step(); {
	}
	s.Laws.Still(false)
}

// step does the next thing: what the time brings, or one effect. It reports
// false when nothing will ever happen any more.
func (s *Sim) step() bool {
	if s.script != nil {
		return s.script.step(s)
	}
	for len(s.timers) > 0 && s.timers[0].at <= s.now {
		s.timers.pop().what()
	}
	if len(s.ready) == 0 {
		if len(s.timers) == 0 {
			return false
		}
		s.now = max(s.now, s.timers[0].at)
		return true
	}
	s.pass()
	s.act(s.choose())
	return true
}

// pass lets a little time go by: mostly none, seldom much.
func (s *Sim) pass() {
	switch r := s.tape.Choose(64); {
	case r == 63:
		s.now += core.Ms(s.tape.Choose(100))
	case r >= 56:
		s.now += core.Ms(r - 55)
	}
}

// choose is the scheduler: which of the effects that can move does.
func (s *Sim) choose() *pending {
	n := len(s.ready)
	e := s.ready[s.tape.Choose(n)]
	if s.style == uniform || n == 1 {
		return e
	}
	// The other styles draw a few and take the one that they like most.
	for range 3 {
		if f := s.ready[s.tape.Choose(n)]; s.prefers(f, e) {
			e = f
		}
	}
	return e
}

func (s *Sim) prefers(f, e *pending) bool {
	switch s.style {
	case sticky:
		return f.p.Actor.Name() == s.favoured && e.p.Actor.Name() != s.favoured
	case lagging:
		return f.p.Actor.Name() != s.favoured && e.p.Actor.Name() == s.favoured
	case newest:
		return f.serial > e.serial
	case oldest:
		return f.serial < e.serial
	case reluctant: // at the end of a run, when only work is left to be done, it would starve it
		return s.faulty && !f.op.Mutates() && e.stage == sent && e.op.Mutates()
	}
	return false
}

// act moves one effect: it lands, or its reply is delivered.
func (s *Sim) act(e *pending) {
	s.moves(e)
	switch s.style {
	case sticky:
		s.favoured = e.p.Actor.Name()
	case lagging:
		if s.favoured == "" || s.tape.Choose(256) == 255 {
			s.favoured = e.p.Actor.Name()
		}
	}
	if e.stage == landed {
		if e.p.paused {
			s.hold(e)
			return
		}
		if k := s.strikeReply(e); k != faults.None {
			s.hit(k, e)
			return
		}
		s.deliver(e)
		return
	}
	if k := s.strike(e); k != faults.None {
		s.hit(k, e)
		return
	}
	s.land(e)
	switch {
	case s.breach != nil || e.dead:
	case e.p.paused:
		s.hold(e)
	case s.atOnce(e):
		s.deliver(e)
	}
}

// hold keeps a reply for a process that is paused.
func (s *Sim) hold(e *pending) {
	s.dequeue(e)
	e.p.held = append(e.p.held, e)
}

// land applies an effect to the world; its reply is ready then. A wait, or a take,
// has its reply already.
func (s *Sim) land(e *pending) {
	switch e.op.Kind {
	case core.KGive:
		s.logOp(e, "give")
		if g, ok := e.p.Actor.(Giver); ok {
			g.Gave(e.p, e.op.Key, e.op.Val)
		}
		e.stage = landed
	case core.KStage, core.KWait, core.KTake:
		e.stage = landed
	default:
		e.reply = s.apply(e, s.admitted(e))
		e.stage = landed
		s.logLand(e.p, e.at, &e.op, &e.reply)
	}
}

// admitted draws when a store let a request in, of those that it may have been
// let in at to land now.
func (s *Sim) admitted(e *pending) core.Ms {
	if !e.op.IsStore() || !e.op.Mutates() {
		return s.now
	}
	first := max(e.sentAt, s.now-s.Dials.Service)
	if first < s.now && s.early(e) {
		return first
	}
	return s.now
}

// apply applies an effect to the world. Its process, and the session under which it
// was sent, may have ended.
func (s *Sim) apply(e *pending, admitted core.Ms) core.Reply {
	p, op := e.p, &e.op
	if s.metaDown && op.IsMeta() {
		s.harms(faults.MetaDown)
		return core.Reply{Outcome: core.Unknown}
	}
	if b := s.W.Bucket(op.Store); op.IsStore() && b != nil && b.Down {
		s.harms(faults.StoreDown)
	}
	r := s.W.Apply(op, world.When{Now: s.now, Admitted: admitted, Session: e.lease})
	if s.W.Contract != nil {
		s.Breach(LawContract, "%s: %v", p.Name, s.W.Contract)
	}
	if r.Outcome == core.NoSpace {
		s.harms(faults.NoSpace)
	}
	if op.Kind == core.KFetch {
		s.fetched(p, op, &r)
	}
	if op.Mutates() {
		s.lands = e
		s.changed(op)
		s.lands = nil
	}
	return r
}

// fetched tells the actor what a fetch brought.
func (s *Sim) fetched(p *Proc, op *core.Op, r *core.Reply) {
	f, ok := p.Actor.(Fetcher)
	if !ok {
		return
	}
	var body world.Body
	if r.Outcome == core.OK {
		o := s.W.Bucket(op.Store).Lookup(op.Key)
		body = o.Body.Slice(op.Off, op.Len)
	}
	f.Fetched(p, op, r.Outcome, body)
}

// changed lets the laws follow what has just changed.
func (s *Sim) changed(op *core.Op) {
	if len(s.W.Changes) == 0 {
		return
	}
	s.Count.Changes += int64(len(s.W.Changes))
	s.track(op)
	s.Laws.Changed(s, op, s.W.Changes)
	s.W.Changes = s.W.Changes[:0]
}
