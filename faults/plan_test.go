package faults_test

import (
	"errors"
	"testing"

	"nova/faults"

	"pgregory.net/rapid"
)

func TestPlansPrintAndParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := faults.Draw(rapid.Uint64().Draw(t, "seed"))
		if rapid.Bool().Draw(t, "any") {
			for _, k := range faults.All() {
				p.Rate[k] = rapid.Uint32Range(0, faults.Million).Draw(t, k.String())
			}
		}
		got, err := faults.Parse(p.String())
		if err != nil || got != p {
			t.Fatalf("Parse(%q) = %q, %v", p, got, err)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{"cut", "cut-after=", "cut-after=-1", "late=1000001", "none=5", "late:5"} {
		if p, err := faults.Parse(s); !errors.Is(err, faults.ErrPlan) {
			t.Errorf("Parse(%q) = %q, %v", s, p, err)
		}
	}
	p, err := faults.Parse(" late  cut-after=7 ")
	if err != nil || p.Rate[faults.Late] != faults.Million || p.Rate[faults.CutAfter] != 7 {
		t.Errorf("%q, %v", p, err)
	}
}

func TestSwarm(t *testing.T) {
	var on [faults.Kinds]int
	quiet := 0
	const seeds = 2000
	for seed := range uint64(seeds) {
		p := faults.Draw(seed)
		if p.Quiet() {
			quiet++
		}
		if p != faults.Draw(seed) {
			t.Fatalf("seed %d draws two plans", seed)
		}
		for _, k := range faults.All() {
			if p.Has(k) {
				on[k]++
			}
		}
	}
	for _, k := range faults.All() {
		if on[k] < seeds/5 || on[k] > seeds*4/5 {
			t.Errorf("%s is on in %d of %d plans", k, on[k], seeds)
		}
	}
	if quiet < seeds/40 {
		t.Errorf("%d of %d plans are quiet", quiet, seeds)
	}
	p := faults.Draw(3)
	p.At = faults.Plan{}.At // where it strikes besides is no kind
	if q := p.Without(faults.All()...); !q.Quiet() || q.String() != "none" {
		t.Errorf("%q without everything is %q", p, q)
	}
}
