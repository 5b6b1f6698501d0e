package shrink_test

import (
	"strconv"
	"testing"

	"nova/core"
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

func TestShrink(t *testing.T) {
	found := 0
	for seed := range uint64(200) {
		c := sim.Config{Seed: seed, Effects: 500, Scene: func(s *sim.Sim) { s.Start(actor{}) }, Instant: true}
		r := sim.Run(c)
		if r.Breach == nil || r.Lines < 40 {
			continue
		}
		found++
		c2, r2 := shrink.Shrink(c, r, 300)
		if r2.Lines >= r.Lines || r2.Lines > 20 {
			t.Errorf("seed %d: %d lines became %d", seed, r.Lines, r2.Lines)
		}
		if again := sim.Run(c2); again.Breach == nil || again.Sum != r2.Sum {
			t.Errorf("seed %d: the shortest run does not repeat", seed)
		}
		if found == 5 {
			return
		}
	}
	t.Errorf("%d breaches to shorten", found)
}
