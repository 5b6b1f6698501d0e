package explore

import "testing"

// TestSpread: law 4 allows in a small world what its actors' clocks are apart.
func TestSpread(t *testing.T) {
	w := reapTwo()
	if w.spread() != 0 {
		t.Errorf("%d ms, of clocks that agree", w.spread())
	}
	w.Actors[0].Skew, w.Actors[1].Skew = -20, 30
	if w.spread() != 50 {
		t.Errorf("%d ms, want 50", w.spread())
	}
}
