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
