package main

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// Whatever order they are done in, seeds are ended in their own; no more run side by
// side than may; and after an end that is enough, nothing is ended and little begun.
func TestAbreast(t *testing.T) {
	for _, most := range []int{-1, 1, 3} {
		var now, peak, begun atomic.Int64
		var ended []uint64
		abreast(most, 10, 60, func(seed uint64) func() bool {
			begun.Add(1)
			peak.Store(max(peak.Load(), now.Add(1)))
			time.Sleep(time.Duration((seed*7)%5) * time.Millisecond)
			now.Add(-1)
			return func() bool {
				ended = append(ended, seed)
				return seed < 30
			}
		})
		want := []uint64{}
		for seed := uint64(10); seed <= 30; seed++ {
			want = append(want, seed)
		}
		if !slices.Equal(ended, want) {
			t.Errorf("%d abreast: ended %v", most, ended)
		}
		if peak.Load() > int64(max(most, 1)) || begun.Load() > 21+6*int64(max(most, 1)) {
			t.Errorf("%d abreast: %d ran side by side, %d were begun", most, peak.Load(), begun.Load())
		}
	}
}
