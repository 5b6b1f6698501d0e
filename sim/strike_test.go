package sim

import "testing"

// A time below a bound is often just below it, and never at it.
func TestWithin(t *testing.T) {
	s := &Sim{tape: NewTape(1)}
	for _, bound := range []int{1, 2, 100, 1100} {
		edge, low := 0, 0
		for range 3000 {
			x := int(s.within(bound))
			if x < 0 || x >= bound {
				t.Fatalf("%d within %d", x, bound)
			}
			if x >= bound-1-bound/16 {
				edge++
			}
			if x < bound/2 {
				low++
			}
		}
		if bound >= 100 && (edge < 900 || low < 700) {
			t.Errorf("of 3000 within %d, %d are at its edge and %d in its lower half", bound, edge, low)
		}
	}
	s.tape = ReplayTape(nil) // the dull choice is no time at all
	if x := s.within(1100); x != 0 {
		t.Errorf("nothing drawn is %d", x)
	}
}
