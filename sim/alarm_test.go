package sim_test

import (
	"testing"

	"nova/faults"
	"nova/sim"
)

// TestFalseAlarms runs seeds that broke law 8 by the simulator's own doing: a late
// registration, and a transaction on its way as the faults stopped, were taken for work
// after the work was done; and a request that a wrong clock had dated was on its way
// for hours.
func TestFalseAlarms(t *testing.T) {
	const jumps = "at=protocol.Settlement.readHead:get@settle=every-jump at=serve.lane.stepPut/putSend:create@star=every-late lease-lost=4000"
	for _, run := range []struct {
		seed uint64
		plan string // none: the seed's own
	}{{18498, ""}, {29239, ""}, {690, jumps}} {
		c := sim.Config{Seed: run.seed, Scene: sim.Nova}
		if run.plan != "" {
			p, err := faults.Parse(run.plan)
			if err != nil {
				t.Fatal(err)
			}
			c.Plan = &p
		}
		if r := sim.Run(c); r.Breach != nil || r.Count.Effects < 1000 {
			t.Errorf("seed %d, %d effects: %v", run.seed, r.Count.Effects, r.Breach)
		}
	}
}
