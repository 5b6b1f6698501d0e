package sim_test

import (
	"encoding/binary"
	"flag"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"nova/core"
	"nova/faults"
	"nova/sim"
)

var randomRuns = flag.Int("random", 12, "fault plans and workloads that TestRandomPlans draws (make soak: more)")

// TestRandomPlans draws what no seed draws: any plan of faults, any size of run, and
// a tape of which rapid knows every choice: who stands, what clients ask for, what
// moves; and shrinks what breaks a law. What goes beyond the tape is dull. Every run
// comes to its end, drains, and breaks no law.
func TestRandomPlans(t *testing.T) {
	runs := *randomRuns
	if err := flag.Set("rapid.checks", strconv.Itoa(runs)); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		// The kinds that are on, each at any rate up to what lets work be done.
		p := faults.Plan{}
		for _, k := range faults.All() {
			if rapid.Bool().Draw(t, k.String()+" on") {
				p.Rate[k] = rapid.Uint32Range(1, most(k)).Draw(t, k.String())
			}
		}
		c := sim.Config{
			Choices: append([]uint32{}, rapid.SliceOfN(rapid.Uint32(), rapid.IntRange(0, 2000).Draw(t, "least"), 4000).Draw(t, "tape")...),
			Plan:    &p,
			Effects: rapid.IntRange(1, 1500).Draw(t, "effects"),
			Scene:   sim.Nova,
		}
		if r := sim.Run(c); r.Breach != nil {
			t.Fatalf("plan %q, effects %d: %v", p, c.Effects, r.Breach)
		}
	})
}

// most is the rate of a kind at which work still gets done.
func most(k faults.Kind) uint32 {
	d := faults.Plan{}
	for seed := range uint64(64) {
		if p := faults.Draw(seed); p.Rate[k] > d.Rate[k] {
			d.Rate[k] = p.Rate[k]
		}
	}
	return max(1, d.Rate[k])
}

// FuzzTape: any bytes are the choices of a run, and every run comes to its end
// without a breach, in a bounded number of effects, the same one each time.
func FuzzTape(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	for seed := range uint64(3) {
		var b []byte
		for _, c := range sim.Run(sim.Config{Seed: seed, Effects: 150, Scene: sim.Nova}).Choices {
			b = binary.AppendUvarint(b, uint64(c))
		}
		f.Add(b[:min(len(b), 1000)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		choices := []uint32{}
		for len(b) > 0 && len(choices) < 20_000 {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				v, n = uint64(b[0]), 1
			}
			choices, b = append(choices, uint32(v)), b[n:]
		}
		plan := faults.Draw(uint64(len(choices)))
		const effects = 600
		run := func() *sim.Report {
			return sim.Guarded(sim.Config{Choices: choices, Plan: &plan, Effects: effects, Scene: sim.Nova})
		}
		r := run()
		if r.Breach != nil {
			t.Fatalf("plan %q: %v", plan, r.Breach)
		}
		// Faults stop after so many; then there is the work that is left, and the clocks
		// of those who look for more, for as long as the run may take to drain.
		if r.Count.Effects > 400*effects || r.Virtual > 2*core.Ms(600_000) {
			t.Errorf("%d effects in %d ms", r.Count.Effects, r.Virtual)
		}
		if again := run(); again.Sum != r.Sum {
			t.Errorf("the same tape is two runs: %016x and %016x", r.Sum, again.Sum)
		}
	})
}
