package faults

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestChiSquare(t *testing.T) {
	for _, c := range []struct{ p, degrees, want float64 }{
		{0.975, 2, 7.378}, {0.025, 6, 1.237}, {0.975, 8, 17.535}, {0.025, 20, 9.591}, {0.975, 40, 59.342},
	} {
		if got := chiSquare(c.p, c.degrees); math.Abs(got-c.want) > 0.05*c.want {
			t.Errorf("quantile %v of %v degrees: %v, want %v", c.p, c.degrees, got, c.want)
		}
	}
}

func TestHunt(t *testing.T) {
	var h Hunt
	h.add(10, true, time.Second)
	h.add(20, false, time.Second)
	h.missed(2000, 3*time.Second)
	h.add(10, false, time.Second)
	if h.Tries != 4 || h.Kills != 1 || h.Other != 2 || len(h.Runs) != 4 || h.Runs[0] != 10 || h.Runs[2] != 2000 {
		t.Errorf("%+v", h)
	}
	mean, low, high := h.interval()
	if mean != 2040 || low >= mean || high <= mean {
		t.Errorf("mean %v [%v, %v]", mean, low, high)
	}
	if s := h.String(); !strings.HasPrefix(s, "1/4 (2 by another law) 2040 [") {
		t.Error(s)
	}
}
