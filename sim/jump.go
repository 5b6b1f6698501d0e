package sim

import (
	"nova/core"
	"nova/faults"
)

// jump sets a process's clock while it lives: to a time between two that others have,
// for good; an auditor's, every other time, hours or years ahead, for a while (C7).
// One that a run was told to make is over a moment later: what is decided in between
// goes out by a right clock.
func (s *Sim) jump(p *Proc, aimed bool) {
	if _, audits := p.Actor.(*auditActor); audits && !p.wrong() && s.tape.Choose(2) == 1 {
		far := [...]core.Ms{tenYears, 6 * 3_600_000}[s.tape.Choose(2)]
		most := s.Dials.ReadGrace
		if aimed {
			most = moment
		}
		long := 1 + s.within(int(most))
		s.logf(p, "jump", "%d ms ahead, for %d ms", far, long)
		p.Skew += far
		s.harms(faults.Jump)
		s.After(long, func() {
			p.Skew -= far
			if !p.ended {
				s.logf(p, "jump", "back")
			}
		})
		return
	}
	if p.wrong() {
		return // it is set right when its time has come
	}
	was := p.Skew
	if p.Skew = s.clocks.Least() + core.Ms(s.tape.Choose(int(s.clocks.Spread())+1)); p.Skew != was {
		s.harms(faults.Jump)
	}
	s.logf(p, "jump", "to %d ms", p.Skew)
}

// moment is for how long a clock is wrong at most, in ms, that a run was told to set
// wrong: a few effects.
const moment = 12

// wrong reports whether the process's clock is off by more than clocks may be.
func (p *Proc) wrong() bool { return max(p.Skew, -p.Skew) > p.Sim.Dials.Skew }

// refuses reports whether an effect is not let out by its own host, or not let in by
// the store: an auditor's host holds its clock against the stores' (gap 11), and lets
// it delete and write nothing while the two disagree; and no store takes a request
// that is dated so.
func (s *Sim) refuses(e *pending) bool {
	_, audits := e.p.Actor.(*auditActor)
	return audits && e.op.Mutates() && e.p.wrong()
}
