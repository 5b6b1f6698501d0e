package shrink

import (
	"fmt"
	"math/rand/v2"
	"time"

	"nova/faults"
	"nova/sim"
)

// struck is how a run is told to strike as a record's was struck.
func struck(rec *sim.Record, scene func(*sim.Sim)) []faults.Aim {
	return sim.Guarded(sim.Config{Script: rec, Scene: scene, Cover: true, Instant: !calms(rec)}).Struck
}

// A record that is long is looked for anew among short runs: each replay of it costs
// too much for it to be taken apart.
const long = 2000

// shorter draws other runs, with fewer kinds of fault that strike more often, or that
// are told to strike where the record's strike, and returns the record of the shortest
// that breaks the same law in the same words; it takes a quarter of the budget at most.
func (s *search) shorter(rec *sim.Record) *sim.Record {
	until, kind, rng := time.Now().Add(s.o.Budget/4), Kind(rec.Breach), s.rng
	best, plan, lines := sim.Config{}, rec.Plan, 0
	for most := 4000; !s.over() && time.Now().Before(until) && most > 100; {
		p := s.aimed(fewer(plan, rng))
		c := sim.Config{Seed: rng.Uint64() >> 32, Plan: &p, Effects: 50 + rng.IntN(most), Scene: s.o.Scene, Instant: rec.Breach.Law != sim.LawDrains}
		s.runs++
		x := sim.Guarded(c)
		if x.Breach == nil || x.Breach.Law != rec.Breach.Law || Kind(x.Breach) != kind || lines > 0 && x.Lines >= lines {
			continue
		}
		best, plan, lines, most = c, p, x.Lines, max(100, min(most, c.Effects))
		if lines < 400 {
			break
		}
	}
	if lines == 0 {
		return rec
	}
	x := sim.Recorded(best).Record
	x.Planted = rec.Planted
	if s.o.Log != nil {
		fmt.Fprintf(s.o.Log, "%6d runs, another that is shorter: %s\n", s.runs, Counts(x))
	}
	return x
}

// fewer draws a plan of some of a plan's kinds, which strike more often.
func fewer(p faults.Plan, rng *rand.Rand) faults.Plan {
	for _, k := range faults.All() {
		switch rng.IntN(6) {
		case 0:
			p.Rate[k] = 0
		case 1:
			p.Rate[k] = min(faults.Million/2, p.Rate[k]*4)
		case 2:
			p.Rate[k] = (p.Rate[k] + 1) / 2
		}
	}
	return p
}

// aimed is a plan that is told, two times in three, to strike where the record's run was
// struck, the later the likelier; half of those strike nowhere else.
func (s *search) aimed(p faults.Plan) faults.Plan {
	if len(s.aims) == 0 || s.rng.IntN(3) == 0 {
		return p
	}
	if s.rng.IntN(2) == 0 {
		p.Rate = faults.Plan{}.Rate
	}
	p.At = faults.Plan{}.At
	for i := range 1 + s.rng.IntN(len(p.At)) {
		back := s.rng.IntN(1 + s.rng.IntN(len(s.aims)))
		a := s.aims[len(s.aims)-1-back]
		if a.Every = a.Kind != faults.None && s.rng.IntN(4) == 0; i == 0 || a != p.At[0] {
			p.CutAt(a)
		}
	}
	return p
}
