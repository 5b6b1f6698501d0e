// Package shrink looks for the shortest story of a breach.
//
// Cutting pieces out of a run's tape hardly ever leaves the same breach: every
// choice after the cut means something else. Seeds are cheap, though, and short
// runs are cheaper: so it draws other runs, each no longer than the shortest that
// was found so far, with fewer kinds of fault that strike more often, and keeps
// whatever breaks the same law in the same words.
package shrink

import (
	"math/rand/v2"
	"regexp"

	"nova/faults"
	"nova/sim"
)

// Shrink tries so many runs, and returns the shortest that breaks what r breaks,
// with the configuration that repeats it. Run(c) returned r.
func Shrink(c sim.Config, r *sim.Report, tries int) (sim.Config, *sim.Report) {
	plan := r.Plan
	c.Plan, c.Log, c.Choices = &plan, nil, nil
	kind, rng := Kind(r.Breach), rand.New(rand.NewPCG(c.Seed, 0))
	for range tries {
		n := c
		n.Seed = rng.Uint64() >> 32
		p := fewer(plan, rng)
		n.Plan = &p
		// What breaks at the end of a run needs work to be done before it; what
		// breaks at once has to break sooner.
		n.Effects = max(50, int(r.Count.Effects))
		n.Instant = r.Breach.Law != sim.LawDrains
		if !n.Instant {
			n.Effects = 50 + rng.IntN(max(1, min(4000, n.Effects)))
		}
		if x := sim.Run(n); x.Breach != nil && x.Lines < r.Lines && Kind(x.Breach) == kind {
			c, r, plan = n, x, p
		}
	}
	return c, r
}

var numbers = regexp.MustCompile("[0-9a-f]*[0-9][0-9a-f]*")

// Kind is a breach without its numbers: two that differ in nothing else are of one
// kind.
func Kind(b *sim.Breach) string {
	return b.Law.String() + ": " + numbers.ReplaceAllString(b.What, "#")
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
