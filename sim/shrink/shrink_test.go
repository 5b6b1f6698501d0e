package shrink_test

import (
	"errors"
	"strconv"
	"testing"

	"nova/core"
	"nova/faults"
	"nova/sim"
	"nova/sim/shrink"
)

// sloppy writes an object and its row, and forgets to ask whether the row landed.
type sloppy struct {
	call core.Call
	step uint8
	n    int
}

func (m *sloppy) Step(t core.Turn) bool {
	for {
		key := strconv.Itoa(m.n)
		switch m.step {
		case 0:
			if _, ok := m.call.Await(t, core.Txn(core.Put("row/"+key, ""))); !ok {
				return false
			}
			m.step = 1
		case 1:
			if _, ok := m.call.Await(t, core.Give("done", key)); !ok {
				return false
			}
			m.n++
			m.step = 0
		}
	}
}

type actor struct{}

func (actor) Name() string                  { return "sloppy" }
func (actor) Boot(*sim.Proc) core.Machine   { return &sloppy{} }
func (actor) Gave(p *sim.Proc, _, v string) { check(p.Sim, v) }

func check(s *sim.Sim, v string) {
	if _, ok := s.W.Meta.Lookup("row/" + v); !ok {
		s.Breach(sim.LawAcked, "row %s was promised and is not there", v)
	}
}

// A breach of a lost reply needs one fault and one promise: all else goes.
func TestShrink(t *testing.T) {
	scene := func(s *sim.Sim) { s.Start(actor{}) }
	found := 0
	for seed := range uint64(400) {
		c := sim.Config{Seed: seed, Effects: 500, Scene: scene, Instant: true}
		r := sim.Run(c)
		if r.Breach == nil || r.Lines < 40 {
			continue
		}
		found++
		rec := sim.Recorded(c).Record
		small, r2, runs, err := shrink.Shrink(rec, shrink.Options{Scene: scene, Runs: 600})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if n := shrink.Counts(small); n.Faults > 1 || n.Moves > 2 {
			t.Errorf("seed %d: after %d runs: %s became %s", seed, runs, shrink.Counts(rec), n)
		}
		text, err := sim.DecodeRecord(small.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if again := sim.Replay(text, scene, nil); !again.Identical || !again.Same || again.Report.Sum != r2.Sum {
			t.Errorf("seed %d: what is left does not repeat: %s", seed, again.Says())
		}
		if found == 5 {
			break
		}
	}
	if found < 5 {
		t.Errorf("%d breaches to shorten", found)
	}
	rec := sim.Recorded(sim.Config{Seed: 1, Effects: 50, Scene: scene, Instant: true, Plan: &faults.Plan{}}).Record
	if _, _, _, err := shrink.Shrink(rec, shrink.Options{Scene: scene}); !errors.Is(err, shrink.ErrHolds) {
		t.Errorf("a record without a breach: %v", err)
	}
	rec.Breach = &sim.Breach{Law: sim.LawAcked, What: "it was"}
	if _, _, _, err := shrink.Shrink(rec, shrink.Options{Scene: scene}); !errors.Is(err, shrink.ErrHolds) {
		t.Errorf("a record whose law holds: %v", err)
	}
}

// leftActor says of each row that was promised and is not there that work is left: of
// two kinds, in turn.
type leftActor struct{ actor }

func (leftActor) Gave(p *sim.Proc, _, v string) {
	if _, ok := p.Sim.W.Meta.Lookup("row/" + v); !ok {
		n, _ := strconv.Atoi(v)
		p.Sim.Breach(sim.LawDrains, "%d ms after the faults have stopped, %s: %s stands", n, sim.WorkLeft, [2]string{"a marker", "an intent"}[n%2])
	}
}

// Of law 8, which whatever is left over breaks, less is the same only if the same is
// left.
func TestShrinkKeepsWhatIsLeft(t *testing.T) {
	scene := func(s *sim.Sim) { s.Start(leftActor{}) }
	kinds := map[string]bool{}
	for seed := uint64(0); seed < 400 && len(kinds) < 2; seed++ {
		c := sim.Config{Seed: seed, Effects: 500, Scene: scene, Instant: true}
		if r := sim.Run(c); r.Breach == nil || r.Lines < 60 {
			continue
		}
		rec := sim.Recorded(c).Record
		kind := shrink.Kind(rec.Breach)
		if kinds[kind] {
			continue
		}
		kinds[kind] = true
		small, r, _, err := shrink.Shrink(rec, shrink.Options{Scene: scene, Runs: 300})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if shrink.Kind(small.Breach) != kind || shrink.Kind(r.Breach) != kind {
			t.Errorf("seed %d: %q became %q", seed, kind, small.Breach.What)
		}
		if n := shrink.Counts(small); n.Faults > 1 {
			t.Errorf("seed %d: %s became %s", seed, shrink.Counts(rec), n)
		}
	}
	if len(kinds) < 2 {
		t.Errorf("%d kinds of what is left", len(kinds))
	}
}
