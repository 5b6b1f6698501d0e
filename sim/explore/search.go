package explore

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"

	"nova/faults/boundaries"
)

// Options says how to search a world.
type Options struct {
	Whole bool // without partial-order reduction
	Limit int  // states, at most; 0: all there are
}

// Result is what a search found.
type Result struct {
	World    string
	States   int
	Edges    int
	Depth    int
	Procs    int
	Worlds   int
	Ops      int
	Instants int
	Guesses  int  // of footprints, until one held
	Rests    int  // states in which nothing moves any more
	Ends     int  // states in which nothing moves before the horizon, and something after it
	Whole    bool // every state was visited
	Took     time.Duration
	Bytes    uint64   // of the heap, at the end
	Breach   *Breach  // nil: every law holds
	Trace    []string // how it is reached
	Judged   [law10]int64
	Points   []string         // places of the source at which effects were emitted: each was cut in every way, if the world may be cut
	Notes    map[string]int64 // what the machines did, by name: on how many distinct steps
}

func (r *Result) String() string {
	s := fmt.Sprintf("%s: %d states, %d edges, depth %d; %d process states, %d worlds, %d operations, %d instants, %d guesses, %d at rest, %d at the horizon; %.1f CPU s, %.0f k states/CPU s, %.0f bytes a state",
		r.World, r.States, r.Edges, r.Depth, r.Procs, r.Worlds, r.Ops, r.Instants, r.Guesses, r.Rests, r.Ends,
		r.Took.Seconds(), float64(r.States)/r.Took.Seconds()/1000, float64(r.Bytes)/float64(max(r.States, 1)))
	if !r.Whole {
		s += "; NOT EXHAUSTED"
	}
	if r.Breach != nil {
		s += "; BROKEN: " + r.Breach.Error()
	}
	return s
}

// first is the state in which a world begins.
func (x *tables) first() state {
	w := x.of.made.Clone()
	for k := range x.of.Actors {
		if a := &x.of.Actors[k]; a.Leased {
			w.Meta.Grant(session(a, 0), never)
		}
	}
	clock := x.instant(0)
	s := state{w: x.node(x.raw(w), nil), clock: clock, left: x.of.Faults}
	for i := range x.of.flying {
		f := &x.of.flying[i]
		s.ghosts = x.haunt(s.ghosts, ghost{op: x.operation(&f.op, "", x.of.epoch), admitted: x.of.epoch, until: f.until})
	}
	for k := range x.of.Actors {
		s.p[k] = x.start(uint8(k), 0, clock)
	}
	return s
}

// batch is how many states are looked up side by side: their cache misses
// overlap.
const batch = 128

// Search visits every state of a world, breadth first, until a law breaks: by a
// shortest way, which the trace then tells.
func Search(w *World, o Options) *Result {
	r, _ := guessed(w, o)
	return r
}

// guessed searches until a guess of the footprints holds. The tables stay from one
// guess to the next: see again.
func guessed(w *World, o Options) (*Result, *tables) {
	began := cpu()
	x := newTables(w, newPrints(w.horizon))
	var seen set
	for n := 1; ; n++ {
		r := x.search(o, &seen)
		if r != nil {
			r.Guesses, r.Took = n, cpu()-began
			return r, x
		}
		if x.found != nil { // tables that know it would not find it again
			x = newTables(w, x.prints)
		}
		seen.clear()
		x.again()
	}
}

// cpu is how much time of a processor this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// search searches under a guess of the footprints; nil if the guess was wrong, and
// relied on.
func (x *tables) search(o Options, seen *set) *Result {
	r := &Result{World: x.of.Name}
	s := x.first()
	seen.add(s.hash())
	cur, nxt := []state{s}, []state(nil)
	var ms []move
	var found [batch]state
	var sums [batch]uint64
	var known [batch]bool
	n := 0
	flush := func() {
		for j := range n {
			sums[j] = found[j].hash()
		}
		for j := range n { // a first look at each, so that the misses overlap
			known[j] = seen.home(sums[j])
		}
		for j := range n {
			if !known[j] && seen.add(sums[j]) {
				nxt = append(nxt, found[j])
			}
		}
		n = 0
	}
	for len(cur) > 0 && x.found == nil && (o.Limit == 0 || seen.n < o.Limit) {
		for i := range cur {
			ms = x.moves(&cur[i], ms[:0], !o.Whole)
			if x.rests(&cur[i], ms) {
				if x.beyond(&cur[i]) {
					r.Ends++
				} else {
					r.Rests++
					x.judgeRest(cur[i].w)
				}
			}
			for _, m := range ms {
				found[n] = x.do(&cur[i], m, !o.Whole)
				if n++; n == batch {
					flush()
				}
			}
			r.Edges += len(ms)
			if x.found != nil || x.stale {
				break
			}
		}
		if x.stale {
			return nil
		}
		flush()
		cur, nxt = nxt, cur[:0]
		r.Depth++
	}
	r.Whole = len(cur) == 0 && x.found == nil
	r.States = seen.n
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	r.Bytes = mem.HeapSys
	x.sum(r)
	if r.Breach = x.found; r.Breach != nil {
		r.Trace = trace(x.of, o, x.prints, seen.n+batch)
	}
	return r
}

func (x *tables) sum(r *Result) {
	r.Procs, r.Worlds, r.Ops, r.Instants = len(x.procs.all), len(x.raws.all), len(x.ops.all), len(x.times)
	r.Judged = x.judged
	for pc := range x.sites {
		if i := boundaries.At(pc); i >= 0 {
			r.Points = append(r.Points, boundaries.All()[i].Name)
		}
	}
	slices.Sort(r.Points)
	r.Points = slices.Compact(r.Points)
	r.Notes = map[string]int64{}
	for k, n := range x.notes {
		r.Notes[k.String()] = n
	}
}

// rests reports whether nothing moves any more, faults aside.
func (x *tables) rests(s *state, ms []move) bool {
	for _, m := range ms {
		switch m.kind {
		case cut, vanish, unheard, straggle:
		default:
			return false
		}
	}
	return true
}

// trace searches again, keeps how each state was reached, and tells the way to
// the breach.
func trace(w *World, o Options, p *prints, limit int) []string {
	type step struct {
		s    state
		from int32
		via  move
	}
	x := newTables(w, p)
	var seen set
	all := []step{{s: x.first(), from: -1}}
	seen.add(all[0].s.hash())
	tell := func(i int32, last *move) (out []string) {
		if last != nil {
			out = append(out, x.describe(&all[i].s, *last))
		}
		for ; all[i].from >= 0; i = all[i].from {
			out = append(out, x.describe(&all[all[i].from].s, all[i].via))
		}
		for a, b := 0, len(out)-1; a < b; a, b = a+1, b-1 {
			out[a], out[b] = out[b], out[a]
		}
		return out
	}
	var ms []move
	for i := 0; i < len(all) && i < 4*limit; i++ {
		s := all[i].s
		ms = x.moves(&s, ms[:0], !o.Whole)
		if x.rests(&s, ms) {
			if !x.beyond(&s) {
				x.judgeRest(s.w)
			}
			if x.found != nil {
				return tell(int32(i), nil)
			}
		}
		for _, m := range ms {
			n := x.do(&s, m, !o.Whole)
			if x.found != nil {
				return tell(int32(i), &m)
			}
			if seen.add(n.hash()) {
				all = append(all, step{n, int32(i), m})
			}
		}
	}
	return []string{"the breach was not met again"}
}
