package sim

import (
	"nova/core"
	"nova/faults"
)

// The kinds that can strike when an effect is about to land. Of a read, a lost
// reply is one that was dropped, and a cut at it is one at the next write.
var (
	onWrite = []faults.Kind{
		faults.CutBefore, faults.CutAfter, faults.CutSilent,
		faults.LostReply, faults.Dropped, faults.Late, faults.Refusal,
		faults.Flaky, faults.Pause, faults.LeaseLost, faults.Jump,
		faults.StoreDown, faults.StoreSlow, faults.MetaDown, faults.NoSpace,
	}
	onRead = []faults.Kind{
		faults.Dropped, faults.Refusal, faults.Flaky, faults.Pause, faults.LeaseLost, faults.Jump,
		faults.StoreDown, faults.StoreSlow, faults.MetaDown, faults.NoSpace,
	}
)

// strikes draws whether a kind strikes at one opportunity of its own.
func (s *Sim) strikes(k faults.Kind) bool {
	if !s.faulty || !s.Plan.Has(k) {
		return false
	}
	return s.tape.Chance(int(s.Plan.Rate[k]), faults.Million)
}

// strike draws what strikes as an effect is about to land: with one draw for all
// the kinds that strike any effect.
func (s *Sim) strike(e *pending) faults.Kind {
	if s.script != nil {
		return s.script.strike(s, e)
	}
	if k := s.aim(e); k != faults.None {
		return k
	}
	if !s.faulty || s.Plan.Quiet() || e.op.Kind == core.KGive || e.op.Kind == core.KStage {
		return faults.None
	}
	if e.p.flaky > s.now && s.tape.Choose(3) == 2 {
		return s.flake(e)
	}
	switch e.op.Kind {
	case core.KDelete:
		if s.strikes(faults.DeleteKey) {
			return faults.DeleteKey
		}
	case core.KReadTail, core.KReadRange:
		if s.strikes(faults.DamagedTip) {
			return faults.DamagedTip
		}
	case core.KUploadPart, core.KCopyPart, core.KComplete:
		if s.strikes(faults.CutUpload) {
			return faults.CutUpload
		}
	}
	x := faults.Million - 1 - s.tape.Choose(faults.Million)
	kinds := onRead
	if e.op.Mutates() {
		kinds = onWrite
	}
	for _, k := range kinds {
		if x -= int(s.Plan.Rate[k]); x < 0 {
			return k
		}
	}
	return faults.None
}

// strikeReply is what strikes a wait, or a take, as it is answered.
func (s *Sim) strikeReply(e *pending) faults.Kind {
	switch {
	case e.op.Kind != core.KWait && e.op.Kind != core.KTake:
		return faults.None
	case s.script != nil:
		return s.script.strike(s, e)
	}
	return s.aim(e)
}

// flake is what becomes of an effect of a process whose network is bad: lost,
// refused, or not answered, whatever else the plan has.
func (s *Sim) flake(e *pending) faults.Kind {
	kinds := [...]faults.Kind{faults.Dropped, faults.Refusal, faults.LostReply, faults.Late}
	n := 2
	if e.op.Mutates() {
		n = 4
	}
	return kinds[s.tape.Choose(n)]
}

// harms counts a fault where it changes something: the world, an answer, or when
// something happens. One that was drawn where there was nothing to harm has not
// struck (law 9).
func (s *Sim) harms(k faults.Kind) { s.Count.Faults[k]++ }

// harmsAtOnce reports whether a kind that strikes an effect harms by that alone:
// windows harm what meets them, a jump if it sets the clock.
func (s *Sim) harmsAtOnce(k faults.Kind, e *pending) bool {
	switch k {
	case faults.Pause:
		return !e.p.paused
	case faults.LeaseLost:
		return e.p.session != ""
	case faults.Late:
		return s.left(&e.op, s.now) >= 1
	case faults.Slow:
		return s.left(&e.op, e.sentAt) >= 1
	case faults.Jump, faults.StoreDown, faults.StoreSlow, faults.MetaDown, faults.NoSpace:
		return false
	}
	return true
}

// hit is what a kind of fault does.
func (s *Sim) hit(k faults.Kind, e *pending) {
	defer s.struck(k, e)()
	s.Count.Laws[LawStrikes]++
	if s.harmsAtOnce(k, e) {
		s.harms(k)
	}
	s.logFault(k, e)
	s.tally(k, e)
	switch k {
	case faults.CutBefore, faults.CutUpload:
		s.dequeue(e)
		e.dead = true // it is not among those that the cut may land
		s.cut(e.p)
	case faults.CutAfter:
		s.land(e)
		if s.breach == nil {
			p := e.p
			s.deliver(e)
			if !p.ended {
				s.tallyMarks(p)
				s.cut(p)
			}
		}
	case faults.CutSilent:
		s.land(e)
		s.cut(e.p)
	case faults.LostReply:
		s.land(e)
		s.answer(e, core.Reply{Outcome: core.Unknown})
	case faults.Dropped:
		s.answer(e, core.Reply{Outcome: core.Unknown})
	case faults.Late:
		s.later(e)
		s.answer(e, core.Reply{Outcome: core.Unknown})
	case faults.Slow:
		s.detain(e, s.left(&e.op, e.sentAt))
	case faults.Refusal, faults.DeleteKey:
		s.answer(e, core.Reply{Outcome: core.Refused, Val: "503"})
	case faults.DamagedTip:
		s.damage(e)
	case faults.Flaky:
		long := core.Ms(1 + s.tape.Choose(int(s.Dials.RequestLife)))
		s.logf(e.p, "flaky", "for %d ms", long)
		e.p.flaky = max(e.p.flaky, s.now+long)
	case faults.Pause:
		s.pause(e)
	case faults.LeaseLost:
		s.straggle(e.p)
		if e.p.session != "" {
			s.W.Revoke(e.p.session)
			s.changed(nil)
		}
	case faults.Jump:
		s.jump(e.p, e.aimed)
	default:
		s.window(k, e)
	}
}

// window begins a time in which a store or the metastore is not itself.
func (s *Sim) window(k faults.Kind, e *pending) {
	long := 1 + s.within(int(2*s.Dials.RequestLife))
	switch k {
	case faults.StoreDown:
		bs := s.W.Buckets()
		b := bs[s.tape.Choose(len(bs))]
		if e.op.IsStore() { // the one that is being used, mostly
			if u := s.W.Bucket(e.op.Store); u != nil && s.tape.Choose(2) == 0 {
				b = u
			}
		}
		b.Down = true
		s.logf(nil, "down", "%s for %d ms", b.Name, long)
		s.lasts("down "+string(b.Name), long, func() { b.Down = false })
	case faults.StoreSlow:
		bs := s.W.Buckets()
		s.slow = bs[s.tape.Choose(len(bs))].Name
		s.logf(nil, "slow", "%s for %d ms", s.slow, long)
		s.lasts("slow", long, func() { s.slow = "" })
	case faults.MetaDown:
		long = min(long, s.Dials.RequestLife)
		s.metaDown = true
		s.logf(nil, "down", "metastore for %d ms", long)
		s.lasts("metastore down", long, func() { s.metaDown = false })
	case faults.NoSpace:
		s.W.Meta.SetNoSpace(true)
		s.logf(nil, "nospace", "for %d ms", long)
		s.lasts("no space", long, func() { s.W.Meta.SetNoSpace(false) })
	}
}

// lasts ends a window after a time, unless another that began meanwhile goes on for
// longer: of windows that overlap the last to end ends them all.
func (s *Sim) lasts(window string, long core.Ms, over func()) {
	if s.windows == nil {
		s.windows = map[string]core.Ms{}
	}
	end := max(s.windows[window], s.now+long)
	s.windows[window] = end
	s.At(s.now+long, func() {
		if s.windows[window] == end && s.now >= end {
			over()
		}
	})
}

// later lets an effect land after its answer, its process alive or not.
func (s *Sim) later(e *pending) {
	op := &e.op
	left := s.left(op, s.now)
	if left < 1 {
		return
	}
	s.At(s.now+1+s.within(left), func() {
		if s.breach != nil {
			return
		}
		admitted := max(e.sentAt, s.now-s.Dials.Service)
		if op.Until > 0 {
			admitted = min(admitted, op.Until)
		}
		r := s.apply(e, admitted)
		s.Count.Lates++
		s.logLate(e.p, e.at, op, &r)
	})
}

// cut ends a process at once. Of what it has in flight, each lands at once, or
// later, or never.
func (s *Sim) cut(p *Proc) {
	s.logf(p, "cut", "%d effects in flight", len(p.pend))
	for _, e := range p.pend {
		if e.dead || e.stage == landed || !e.op.Mutates() {
			continue
		}
		fate, after := s.inFlight(e)
		switch fate {
		case 1:
			r := s.apply(e, s.admitted(e))
			s.logLate(p, e.at, &e.op, &r)
		case 2:
			s.later(e)
		}
		after()
	}
	s.end(p, true)
	if s.breach == nil {
		s.restart(p)
	}
}

// restart starts the actor of a process that was cut again: at once, later, or
// never.
func (s *Sim) restart(p *Proc) {
	a := p.Actor
	if r, ok := a.(Reviver); ok && !r.Revive() {
		return
	}
	wait, yes := s.comesBack(p)
	if !yes {
		s.logf(p, "never", "it is not started again")
		return
	}
	s.After(wait, func() {
		if s.running[a.Name()] == nil && s.breach == nil {
			if r, ok := a.(Reviver); !ok || r.Revive() {
				s.Start(a)
			}
		}
	})
}

// drawRestart is after how long it is; -1: never.
func (s *Sim) drawRestart() core.Ms {
	if s.strikes(faults.RestartNever) {
		s.harms(faults.RestartNever)
		return -1
	}
	wait := core.Ms(s.tape.Choose(20))
	if s.strikes(faults.RestartLater) {
		s.harms(faults.RestartLater)
		wait = core.Ms(s.tape.Choose(int(2 * s.Dials.RequestLife)))
	}
	return wait
}

// within draws a time below a bound that the contract sets: any, and every third time
// one that all but reaches it. What a bound is for shows at its edge.
func (s *Sim) within(bound int) core.Ms {
	x := s.tape.Choose(bound + bound/2)
	if x >= bound {
		x = bound - 1 - (x-bound)/8
	}
	return core.Ms(x)
}

// apart draws how far a clock is ahead of the one that is most behind: every other
// time it is one of the two that are as far apart as clocks may be.
func (s *Sim) apart() core.Ms {
	switch s.tape.Choose(4) {
	case 2:
		return 0
	case 3:
		return s.Dials.Skew
	}
	return core.Ms(s.tape.Choose(int(s.Dials.Skew) + 1))
}

// pause stops a process where it stands, as an effect of it is about to move. What it
// has sent goes on by itself; the process finds the replies when it wakes. Mostly its
// session ends meanwhile; where only the machine stands still, its host keeps it.
func (s *Sim) pause(e *pending) {
	p := e.p
	if p.paused {
		return
	}
	long := 1 + s.within(int(2*s.Dials.RequestLife))
	if s.tape.Choose(4) == 3 {
		long += s.Dials.ReadGrace
	}
	p.paused, p.slept = true, true
	s.logf(p, "pause", "for %d ms", long)
	s.straggle(p)
	p.kept = s.tape.Choose(4) == 3
	s.After(long, func() { s.resume(p) })
}

// straggle lets what a process has sent be late, every other time: a process that
// stands still, or whose session ends, is one whose network is bad, and a zombie
// is worst when what it sent as it lived lands after it was judged. Each mutation
// lands at any time at which it still may.
func (s *Sim) straggle(p *Proc) {
	if s.tape.Choose(2) == 0 {
		return
	}
	for _, e := range append([]*pending(nil), p.pend...) {
		if left := s.left(&e.op, e.sentAt); e.stage == sent && e.ready >= 0 && e.op.Mutates() {
			s.detain(e, left)
		}
	}
}

// detain keeps what was sent on its way, for as long as it may be at most.
func (s *Sim) detain(e *pending, left int) {
	if left < 1 {
		return
	}
	s.dequeue(e)
	e.stage = waiting
	s.After(1+s.within(left), func() {
		if !e.dead {
			e.stage = sent
			s.enqueue(e)
		}
	})
}

// left is for how long from now an effect may still land. A store lets no request
// in after its NotAfter, and is done with it one service time later; a
// transaction, or a delete, may take as long as any request may.
func (s *Sim) left(op *core.Op, from core.Ms) int {
	if op.IsStore() && op.Until > 0 {
		// One that a wrong clock has dated is given up by its host's timer all the same.
		return int(min(op.Until+s.Dials.Service, from+s.Dials.RequestLife+s.Dials.Skew) - s.now)
	}
	return int(from + s.Dials.RequestLife - s.now)
}

func (s *Sim) resume(p *Proc) {
	if !p.paused || p.ended {
		return
	}
	p.paused = false
	s.logf(p, "resume", "")
	held := p.held
	p.held = nil
	for _, e := range held {
		s.enqueue(e)
	}
}

// delay is how long an effect takes beyond the ordinary.
func (s *Sim) delay(e *pending) core.Ms {
	if s.slow != "" && e.op.IsStore() && e.op.Store == s.slow {
		s.harms(faults.StoreSlow)
		return core.Ms(s.tape.Choose(int(s.Dials.Service)))
	}
	if s.strikes(faults.Slow) {
		s.harms(faults.Slow)
		most := s.Dials.RequestLife
		if e.op.Kind == core.KFetch { // a reader gives up what takes longer
			most = s.Dials.Service
		}
		long := core.Ms(s.tape.Choose(int(most)))
		if s.tape.Chance(1, 2) { // it hangs until just before it is given up
			long = most - 1 - long/8
		}
		return long
	}
	return 0
}
