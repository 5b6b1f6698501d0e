package sim_test

import (
	"testing"

	"nova/core"
	"nova/faults"
	"nova/sim"
)

// TestDamagedAnswers: a read that is struck is told that its bytes are damaged, or is
// given bytes of which one is another, or fewer of them; and it lands all the same. What
// is not struck is answered as it landed.
func TestDamagedAnswers(t *testing.T) {
	plan, err := faults.Parse("damaged-tip=300000")
	if err != nil {
		t.Fatal(err)
	}
	var said, other, short, sound int
	for seed := range uint64(12) {
		landed, struck := map[string]core.Reply{}, map[string]bool{}
		watch := func(e *sim.Event) {
			if e.Op == nil || e.Op.Kind != core.KReadRange && e.Op.Kind != core.KReadTail {
				return
			}
			at := e.Proc + " " + e.Path
			switch e.What {
			case "land":
				landed[at] = *e.Reply
			case "FAULT":
				struck[at] = true
			case "reply":
				was, fell := landed[at]
				switch is := *e.Reply; {
				case !struck[at]:
					sound++
					if !fell || is.Val != was.Val || is.Outcome != was.Outcome {
						t.Errorf("seed %d, %s %s: answered %s %q, not struck, and landed as %s %q", seed, at, e.Op, is.Outcome, is.Val, was.Outcome, was.Val)
					}
				case is.Outcome == core.Damaged:
					said++
				case is.Outcome == core.OK && len(is.Val) < len(was.Val):
					short++
				case is.Outcome == core.OK && othersIn(is.Val, was.Val) == 1:
					other++
				case !fell || is.Outcome != was.Outcome || is.Outcome == core.OK:
					t.Errorf("seed %d, %s %s: struck, and answered %s %q; it landed as %s %q", seed, at, e.Op, is.Outcome, is.Val, was.Outcome, was.Val)
				}
				delete(landed, at)
				delete(struck, at)
			}
		}
		if r := sim.Run(sim.Config{Seed: seed, Scene: sim.Nova, Plan: &plan, Watch: watch}); r.Breach != nil {
			t.Errorf("seed %d: %v", seed, r.Breach)
		}
	}
	if said < 100 || other < 30 || short < 30 || sound < 300 {
		t.Errorf("%d were told, %d had another byte, %d were short, %d were sound: too few of some", said, other, short, sound)
	}
	t.Logf("%d told, %d another byte, %d short, %d sound", said, other, short, sound)
}

// othersIn counts the bytes that differ in strings of one length; -1: of two.
func othersIn(a, b string) (n int) {
	if len(a) != len(b) {
		return -1
	}
	for i := range len(a) {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}
