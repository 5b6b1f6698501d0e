package sim_test

import (
	"bytes"
	"strings"
	"testing"

	"nova/sim"
)

// A record repeats its run to the byte: from its tape, and by identity.
func TestRecordRepeats(t *testing.T) {
	for seed := range uint64(8) {
		var logs [2]bytes.Buffer
		a := sim.Run(sim.Config{Seed: seed, Effects: 1500, Scene: sim.Nova, Log: &logs[0], Record: true})
		b := sim.Run(sim.Config{Script: a.Record, Scene: sim.Nova, Log: &logs[1]})
		if a.Sum != b.Sum || logs[0].String() != logs[1].String() || !b.Fit.Exact() {
			t.Errorf("seed %d: by identity it is another run: %s\n%s", seed, b.Fit, differ(logs[0].String(), logs[1].String()))
		}
	}
}

// differ shows where two logs part, with a few lines before.
func differ(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range as {
		if i >= len(bs) || as[i] != bs[i] {
			other := "(the end)"
			if i < len(bs) {
				other = bs[i]
			}
			return strings.Join(as[max(0, i-6):i], "\n") + "\n- " + as[i] + "\n+ " + other
		}
	}
	return "the first is the beginning of the other"
}
