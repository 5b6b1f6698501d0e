package sim_test

import (
	"flag"
	"testing"

	"nova/faults"
	"nova/sim"
)

// The command that repeats a run has all that it was given: its flags are TestSeed's.
func TestAgain(t *testing.T) {
	at, err := faults.ParseAim("put-before-commit")
	if err != nil {
		t.Fatal(err)
	}
	late := faults.Plan{}
	late.Rate[faults.Late] = 7
	for want, c := range map[string]sim.Config{
		"-effects 60":          {},
		"-effects 60 -instant": {Instant: true},
		`-plan "late=7 at=put-before-commit" -effects 60`: {At: at, Plan: &late},
		`-plan "none" -effects 60 -instant`:               {Instant: true, Plan: &faults.Plan{}},
	} {
		c.Seed, c.Effects, c.Scene = 3, 60, sim.Nova
		if got := sim.Run(c).Again(); got != "go test ./sim -run TestSeed -seed 3 -v "+want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	for _, name := range []string{"seed", "plan", "effects", "instant"} {
		if flag.Lookup(name) == nil {
			t.Errorf("TestSeed has no flag -%s", name)
		}
	}
}
