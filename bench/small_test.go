//go:build unix

package bench

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"nova/core"
	"nova/sim"
	"nova/sim/world"
)

// The world "small": a whole cluster (sim.Nova: up to three stars, three auditors
// and six streams, as the seed draws) for 4,000 effects under the faults of its
// seed, and then until everything has drained.
const smallEffects = 4000

// smallSeeds are the runs that are measured, always the same. What a seed draws
// changes with the simulator: compare figures of one commit only.
var smallSeeds = []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

func small(seed uint64) sim.Config {
	return sim.Config{Seed: seed, Effects: smallEffects, Scene: sim.Nova}
}

// BenchmarkSmall is the world "small" with every law checked after each effect,
// beside the bare application of the operations that landed in it, in the same
// order, to a fresh model. Each loop runs both over all seeds.
//
//	effects/cpu-s   simulated effects, scheduler, machines and laws included
//	unjudged/cpu-s  the same without laws
//	bare-ops/cpu-s  operations applied to the model
//	judged/bare     CPU time of the first over that of the last, for the same runs
//	slowest/cpu-s   judged effects of the seed that has the fewest
func BenchmarkSmall(b *testing.B) {
	tapes := make([]tape, len(smallSeeds))
	for i, seed := range smallSeeds {
		tapes[i] = record(b, seed)
	}
	var judged, unjudged, bare []time.Duration
	var effects, ops int64
	var slowest []float64
	for b.Loop() {
		effects, ops = 0, 0
		worst := math.Inf(1)
		judged = append(judged, took(func() {
			for _, seed := range smallSeeds {
				var n int64
				d := took(func() { n = run(b, small(seed)).Count.Effects })
				effects, worst = effects+n, min(worst, rate(n, d))
			}
		}))
		slowest = append(slowest, worst)
		unjudged = append(unjudged, took(func() {
			for _, seed := range smallSeeds {
				c := small(seed)
				c.NoLaws = true
				run(b, c)
			}
		}))
		bare = append(bare, took(func() {
			for i := range tapes {
				tapes[i].play()
				ops += int64(len(tapes[i].ops))
			}
		}))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rate(effects, median(judged)), "effects/cpu-s")
	b.ReportMetric(median(slowest), "slowest/cpu-s")
	b.ReportMetric(rate(effects, median(unjudged)), "unjudged/cpu-s")
	b.ReportMetric(rate(ops, median(bare)), "bare-ops/cpu-s")
	b.ReportMetric(median(judged).Seconds()/median(bare).Seconds(), "judged/bare")
}

func run(b *testing.B, c sim.Config) *sim.Report {
	b.Helper()
	r := sim.Run(c)
	if r.Breach != nil {
		b.Fatalf("seed %d: %v", c.Seed, r.Breach)
	}
	return r
}

func took(f func()) time.Duration {
	begin := cpu()
	f()
	return cpu() - begin
}

func rate(n int64, d time.Duration) float64 { return float64(n) / d.Seconds() }

func median[T ~int64 | ~float64](xs []T) T {
	s := slices.Clone(xs)
	slices.Sort(s)
	return s[len(s)/2]
}

// tape is what landed in a run, and all that the model needs to make it again.
type tape struct {
	dials    core.Dials
	dialect  world.Dialect
	stores   []core.Store
	sessions []string
	ops      []landed
	outcomes []core.Outcome
}

type landed struct {
	op core.Op
	at world.When
}

// record runs a seed and keeps the operations that landed. What was answered by
// a store that was down, or by a metastore without space, did not land; that a
// session ended is a transaction that deletes its rows.
func record(b *testing.B, seed uint64) (t tape) {
	b.Helper()
	c := small(seed)
	c.NoLaws = true
	sessions := map[string]bool{}
	c.Scene = func(s *sim.Sim) {
		sim.Nova(s)
		t.dials, t.dialect = s.Dials, s.W.Dialect
		for _, bucket := range s.W.Buckets() {
			t.stores = append(t.stores, bucket.Name)
		}
		s.Laws = &ends{&t}
		s.W.Landed = func(op *core.Op, at world.When, o core.Outcome) {
			if o == core.Unknown || o == core.NoSpace {
				return
			}
			if !s.W.Meta.Alive(at.Session) {
				at.Session = "" // one that the model never begins
			} else if !sessions[at.Session] {
				sessions[at.Session] = true
				t.sessions = append(t.sessions, at.Session)
			}
			t.add(op, at, o)
		}
	}
	run(b, c)
	if got := t.play(); !slices.Equal(got, t.outcomes) {
		i := 0
		for got[i] == t.outcomes[i] {
			i++
		}
		b.Fatalf("seed %d: the model answers operation %d of %d (%s) with %s, and %s was recorded", seed, i, len(t.ops), t.ops[i].op, got[i], t.outcomes[i])
	}
	return t
}

func (t *tape) add(op *core.Op, at world.When, o core.Outcome) {
	t.ops = append(t.ops, landed{*op, at})
	t.outcomes = append(t.outcomes, o)
}

// play applies the operations to a fresh model.
func (t *tape) play() []core.Outcome {
	w := world.New(world.LimitsOf(&t.dials), t.dialect, slices.Clone(t.stores)...)
	for _, s := range t.sessions {
		w.Meta.Grant(s, 1<<62)
	}
	got := make([]core.Outcome, len(t.ops))
	for i := range t.ops {
		got[i] = w.Apply(&t.ops[i].op, t.ops[i].at).Outcome
		w.Changes = w.Changes[:0]
	}
	return got
}

// ends records what time alone changes: rows that go with their session.
type ends struct{ t *tape }

// Changed adds a transaction for what no operation did.
func (e *ends) Changed(s *sim.Sim, op *core.Op, cs []world.Change) {
	if op != nil {
		return
	}
	for len(cs) > 0 { // one for each session: a revision each
		n := 1
		for n < len(cs) && cs[n].Rev == cs[0].Rev {
			n++
		}
		var ws []core.Write
		for i := range cs[:n] {
			if cs[i].Kind != world.RowDel {
				panic(fmt.Sprintf("bench: nobody's operation has made %s", cs[i]))
			}
			ws = append(ws, core.Del(cs[i].Key))
		}
		txn := core.Txn(ws...)
		e.t.add(&txn, world.When{Now: s.Now()}, core.OK)
		cs = cs[n:]
	}
}

// Acked and Still judge nothing.
func (*ends) Acked(*sim.Sim, *sim.Chunk) {}
func (*ends) Still(bool)                 {}
