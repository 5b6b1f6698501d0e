package daemon

import (
	"context"
	"testing"

	"nova/core"
)

// G11: while the clocks disagree nothing is sent that condemns; and it is found
// out by itself when they agree again, though nothing else would be sent.
func TestTheClockIsAskedFor(t *testing.T) {
	ahead, known, asked := core.Ms(0), false, 0
	h := &honest{skew: func() (core.Ms, bool) { return ahead, known }, most: 100}
	h.ask = func(context.Context) { asked++ }
	if h.refuses(t.Context(), "deletes", 1) == nil || asked != 1 {
		t.Errorf("a clock that nobody knows: asked %d times", asked)
	}
	if h.refuses(t.Context(), "deletes", 1) == nil || asked != 1 {
		t.Errorf("at once again: asked %d times", asked)
	}
	h.asked.Store(-int64(askEvery))
	h.ask = func(context.Context) { asked++; known = true }
	if err := h.refuses(t.Context(), "deletes", 1); err != nil || asked != 2 {
		t.Errorf("the answer agrees: %v, asked %d times", err, asked)
	}
	for _, off := range []core.Ms{101, -101} {
		ahead = off
		h.asked.Store(-int64(askEvery))
		h.ask = func(context.Context) { ahead = 100 }
		if err := h.refuses(t.Context(), "deletes", 1); err != nil {
			t.Errorf("%d ms off, and the answer agrees: %v", off, err)
		}
	}
	ahead, h.ask = 101, nil
	if h.refuses(t.Context(), "deletes", 1) == nil {
		t.Error("a clock that is off is not refused")
	}
}

// The stores answer, and a process whose clock is right may write.
func TestTheStoresShowTheirClock(t *testing.T) {
	c := cluster(t)
	c.askClock(t.Context())
	if _, known := c.s3.Skew(); !known {
		t.Error("the answer shows no clock")
	}
	_, meta := c.byHonestClock(nil)
	if err := meta.(*clockedMeta).refuses(t.Context(), "transactions", 1); err != nil {
		t.Error(err)
	}
}
