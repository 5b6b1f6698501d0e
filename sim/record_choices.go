package sim

import (
	"strconv"

	"nova/core"
	"nova/faults"
)

// struck notes what strikes the effect that moves; what is drawn until the end of
// the hit is its arguments.
func (s *Sim) struck(k faults.Kind, e *pending) (after func()) {
	if s.rec == nil && s.script == nil {
		return func() {}
	}
	var into *[]uint32
	if s.rec != nil {
		into = &e.line.Args
		if k == faults.CutMark && e.line.Fault != faults.None {
			e.line.Mark = true // within a cut that was to come after the turn
		} else {
			e.line.Fault = k
		}
	}
	var args []uint32
	if s.script != nil {
		args = e.fate.Args
	}
	return s.tape.lend(args, into)
}

// early says whether a store admitted a request as early as it could have.
func (s *Sim) early(e *pending) (yes bool) {
	if s.script != nil {
		yes = e.fate != nil && e.fate.Early
	} else if s.rec == nil {
		return s.tape.Chance(1, 4)
	} else {
		defer s.tape.lend(nil, nil)()
		yes = s.tape.Chance(1, 4)
	}
	if yes && s.rec != nil && e.line != nil {
		e.line.Early = true
	}
	return yes
}

// atOnce says whether an effect that has just landed is answered at once.
func (s *Sim) atOnce(e *pending) (yes bool) {
	if s.script != nil {
		yes = e.fate.Reply
	} else {
		yes = s.tape.Choose(4) < 3
	}
	if yes && s.rec != nil {
		e.line.Reply = true
	}
	return yes
}

// inFlight says what a cut makes of an effect: 0 it never lands, 1 at once, 2
// later. What is drawn until after is called is about it.
func (s *Sim) inFlight(e *pending) (n int, after func()) {
	if s.rec == nil && s.script == nil {
		return s.tape.Choose(3), func() {}
	}
	var args []uint32
	if s.script != nil {
		e.fate = s.script.inFlight[e.id]
		if e.fate != nil {
			n, args = int(e.fate.Num), e.fate.Args
		}
	} else {
		back := s.tape.lend(nil, nil)
		n = s.tape.Choose(3)
		back()
	}
	var into *[]uint32
	if s.rec != nil {
		e.line = s.rec.about(s, DoInFlight, e)
		e.line.Num = int64(n)
		into = &e.line.Args
	}
	return n, s.tape.lend(args, into)
}

// named numbers a start, and says which of its actor's it is.
func (s *Sim) named(p *Proc) {
	name := p.Actor.Name()
	if s.startsOf == nil {
		s.startsOf = map[string]int{}
	}
	s.startsOf[name]++
	p.id = name + "/" + strconv.Itoa(s.startsOf[name])
	s.starts++
	n := s.starts
	if s.script != nil {
		n = s.script.number(p.id, n)
	}
	p.Name = name + "#" + strconv.Itoa(n)
	if s.rec != nil {
		p.line = s.rec.add(s, &Line{Do: DoStart, Proc: p.id, Num: int64(n)})
	}
}

// skewed draws whether a process's clock is off, and by how much.
func (s *Sim) skewed(p *Proc) (off core.Ms, yes bool) {
	if s.script != nil {
		if l := s.script.starts[p.id]; l != nil && l.Skews {
			off, yes = l.Skew, true
		}
	} else if p.dates() && s.strikes(faults.Ahead) {
		off, yes = tenYears, true
	} else if s.strikes(faults.Skew) {
		off, yes = s.skewFrom+s.apart(), true
	}
	switch {
	case off == tenYears:
		s.harms(faults.Ahead)
	case off != 0:
		s.harms(faults.Skew)
	}
	if yes && s.rec != nil {
		p.line.Skews, p.line.Skew = true, off
	}
	return off, yes
}

// comesBack draws whether, and after how long, the actor of a process that was cut
// is started again.
func (s *Sim) comesBack(p *Proc) (wait core.Ms, yes bool) {
	if s.script != nil {
		if l := s.script.back[p.id]; l != nil {
			wait, yes = core.Ms(l.Num), true
		}
	} else {
		defer s.tape.lend(nil, nil)()
		if wait, yes = s.drawRestart(), true; wait < 0 {
			yes = false
		}
	}
	if yes && s.rec != nil {
		s.rec.add(s, &Line{Do: DoBack, Proc: p.id, Num: int64(wait)})
	}
	return wait, yes
}

// cutsAtEnd draws whether a star is cut instead of closed when the run ends.
func (s *Sim) cutsAtEnd(a Actor) (yes bool) {
	if s.script != nil {
		yes = s.script.stops[a.Name()]
	} else {
		yes = s.tape.Choose(3) == 2
	}
	if yes && s.rec != nil {
		s.rec.add(s, &Line{Do: DoStop, Proc: a.Name()})
	}
	return yes
}

// slowed is how long an effect is on its way.
func (s *Sim) slowed(e *pending) (d core.Ms) {
	if s.script != nil {
		d = core.Ms(s.script.slow[e.id])
	} else {
		d = s.delay(e)
	}
	if d > 0 && s.rec != nil {
		s.rec.about(s, DoSlow, e).Num = int64(d)
	}
	return d
}

// nudged is after how long a wait ends that would last left, or -1: in its time.
func (s *Sim) nudged(e *pending, left int) (d core.Ms) {
	d = -1
	if s.script != nil {
		if n, ok := s.script.nudge[e.id]; ok {
			d = core.Ms(n)
		}
	} else if left > 1 && s.tape.Chance(1, 32) {
		d = core.Ms(s.tape.Choose(left))
	}
	if d >= 0 && s.rec != nil {
		s.rec.about(s, DoNudge, e).Num = int64(d)
	}
	return d
}
