package explore

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Strategy is a way of choosing among what can happen.
type Strategy uint8

const (
	// Random takes any of the moves that can be made, and a fault now and then.
	Random Strategy = iota
	// PCT gives the processes, the clock and what is on its way priorities, runs the
	// first that can move, and changes a few priorities at points drawn beforehand:
	// a bug that needs d of these is met with a probability that does not depend on
	// how many orders there are.
	PCT
	// Guided takes up what led to something new before, up to some point, and goes
	// on at random from there.
	Guided
	// Exhaustive visits everything.
	Exhaustive

	Strategies
)

var strategyNames = [Strategies]string{"random", "pct", "guided", "exhaustive"}

func (s Strategy) String() string {
	if s < Strategies {
		return strategyNames[s]
	}
	return "strategy?"
}

// ParseStrategy is the strategy of a name.
func ParseStrategy(name string) (Strategy, error) {
	for s := range Strategies {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("strategy %q: it is one of random, pct, guided, exhaustive", name)
}

// WalkOptions bounds the walks of one world.
type WalkOptions struct {
	Strategy Strategy // not Exhaustive
	Seed     uint64
	Runs     int           // walks, at most; 0: until the time is over
	Budget   time.Duration // of processor time; 0: until the runs are through
	Steps    int           // of one walk, at most; 0: 2,000
	Tables   *Warm         // tables to go on with; nil: none
}

// Warm is a world's tables as earlier walks have left them: what was met before
// costs a look.
type Warm struct{ x *tables }

// Warmed makes the tables of a world.
func Warmed(w *World) *Warm { return &Warm{newTables(w, newPrints(w.horizon))} }

// Walked is what walks found.
type Walked struct {
	World   string
	Runs    int
	Effects int64 // deliveries and landings
	Took    time.Duration
	New     int64 // steps and landings that no walk had met before
	Breach  *Breach
	Trace   []string
}

func (r *Walked) String() string {
	s := fmt.Sprintf("%s: %d runs, %d effects, %.2f CPU s, %.0f k effects/CPU s, %d new", r.World, r.Runs, r.Effects,
		r.Took.Seconds(), float64(r.Effects)/max(r.Took.Seconds(), 1e-9)/1000, r.New)
	if r.Breach != nil {
		s += "; BROKEN: " + r.Breach.Error()
	}
	return s
}

// walker makes walks.
type walker struct {
	x      *tables
	o      WalkOptions
	rng    *rand.Rand
	ms     []move
	usual  []move
	faults []move
	way    []step // of the walk under way
	corpus [][]uint16
	prefix []uint16 // guided: what the walk begins with
	choice []uint16

	rank    [MaxActors + 2]int // pct: of the processes, the clock, and what is on its way
	changes []int              // pct: steps at which the first loses its rank
	strikes []int              // pct: steps at which a fault strikes
}

// step is one move of a walk.
type step struct {
	s state
	m move
}

// Walk makes walks until a law breaks, the runs are through or the time is over.
func Walk(w *World, o WalkOptions) *Walked {
	if o.Steps == 0 {
		o.Steps = 2000
	}
	if o.Tables == nil {
		o.Tables = Warmed(w)
	}
	g := &walker{x: o.Tables.x, o: o, rng: rand.New(rand.NewPCG(o.Seed, 0x6e6f7661))}
	r := &Walked{World: w.Name}
	began, before := cpu(), g.x.newSteps
	for (o.Runs == 0 || r.Runs < o.Runs) && (o.Budget == 0 || r.Runs%64 != 0 || cpu()-began < o.Budget) {
		r.Runs++
		r.Effects += g.walk()
		if g.x.found != nil {
			break
		}
	}
	r.Took, r.New = cpu()-began, g.x.newSteps-before
	if r.Breach = g.x.found; r.Breach != nil {
		for i := range g.way {
			r.Trace = append(r.Trace, g.x.describe(&g.way[i].s, g.way[i].m))
		}
	}
	return r
}

// walk is one walk, from the beginning until nothing moves any more.
func (g *walker) walk() (effects int64) {
	x := g.x
	s := x.first()
	g.begin()
	met := x.newSteps
	for n := 0; n < g.o.Steps && x.found == nil; n++ {
		g.ms = x.moves(&s, g.ms[:0], true)
		g.usual, g.faults = g.usual[:0], g.faults[:0]
		for _, m := range g.ms {
			switch m.kind {
			case cut, vanish, unheard, straggle:
				g.faults = append(g.faults, m)
			default:
				g.usual = append(g.usual, m)
			}
		}
		if len(g.usual) == 0 && (len(g.faults) == 0 || g.rng.IntN(4) > 0) {
			if !x.beyond(&s) {
				x.judgeRest(s.w)
			}
			break
		}
		m := g.choose(n)
		if m.kind < cut {
			effects++
		}
		g.way = append(g.way, step{s, m})
		s = x.do(&s, m, true)
	}
	if g.o.Strategy == Guided && x.newSteps > met && len(g.corpus) < 4096 {
		g.corpus = append(g.corpus, append([]uint16(nil), g.choice...))
	}
	return effects
}

// begin draws what a walk is to be.
func (g *walker) begin() {
	g.way, g.choice, g.prefix = g.way[:0], g.choice[:0], nil
	switch g.o.Strategy {
	case PCT:
		for i, r := range g.rng.Perm(len(g.rank)) {
			g.rank[i] = r + 100
		}
		g.changes, g.strikes = g.changes[:0], g.strikes[:0]
		for range g.rng.IntN(4) {
			g.changes = append(g.changes, g.rng.IntN(120))
		}
		left := g.x.of.Faults
		for range g.rng.IntN(int(left.Cuts+left.Lost+left.Late) + 1) {
			g.strikes = append(g.strikes, g.rng.IntN(100))
		}
	case Guided:
		if len(g.corpus) > 0 && g.rng.IntN(8) > 0 {
			old := g.corpus[len(g.corpus)-1-min(g.rng.IntN(len(g.corpus)), g.rng.IntN(len(g.corpus)))]
			g.prefix = old[:g.rng.IntN(len(old)+1)]
		}
	}
}

// choose picks the move of step n.
func (g *walker) choose(n int) move {
	if n < len(g.prefix) && int(g.prefix[n]) < len(g.ms) {
		g.choice = append(g.choice, g.prefix[n])
		return g.ms[g.prefix[n]]
	}
	var m move
	switch {
	case len(g.usual) == 0:
		m = g.faults[g.rng.IntN(len(g.faults))]
	case g.o.Strategy == PCT:
		m = g.pct(n)
	case len(g.faults) > 0 && g.rng.IntN(24) == 0:
		m = g.faults[g.rng.IntN(len(g.faults))]
	default:
		m = g.usual[g.rng.IntN(len(g.usual))]
	}
	if g.o.Strategy == Guided {
		for i := range g.ms {
			if g.ms[i] == m {
				g.choice = append(g.choice, uint16(i))
			}
		}
	}
	return m
}

// pct picks a move of whoever is first, or, where one was drawn for this step, a
// fault of theirs.
func (g *walker) pct(n int) move {
	who := func(m move) int {
		switch m.kind {
		case tick:
			return MaxActors
		case haunt, exorcise:
			return MaxActors + 1
		}
		return int(m.k)
	}
	first := -1
	for _, m := range g.usual {
		if k := who(m); first < 0 || g.rank[k] > g.rank[first] {
			first = k
		}
	}
	for i, at := range g.changes {
		if at == n {
			g.rank[first] = i
		}
	}
	for _, at := range g.strikes {
		if at == n && len(g.faults) > 0 {
			return g.faults[g.rng.IntN(len(g.faults))]
		}
	}
	k := 0
	for _, m := range g.usual {
		if who(m) == first {
			g.usual[k] = m
			k++
		}
	}
	return g.usual[g.rng.IntN(k)]
}
