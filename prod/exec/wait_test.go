package exec

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"nova/core"
)

// TestAWaitOutlivesNoClock: a wait that began by a clock ten years ahead is over when it
// was to be over by that clock, though the clock is right again (finding F14).
func TestAWaitOutlivesNoClock(t *testing.T) {
	const tenYears = core.Ms(10 * 365 * 86_400_000)
	var ahead atomic.Int64
	ahead.Store(int64(tenYears))
	began := make(chan struct{})
	var once atomic.Bool
	f := newBench(t, func(o *Options) {
		o.Now = func() core.Ms {
			if ahead.Load() > 0 && once.Load() {
				select {
				case <-began:
				default:
					close(began)
				}
			}
			return core.Ms(time.Now().UnixMilli() + ahead.Load())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	until := f.o.Now() + 300
	once.Store(true)
	got := make(chan core.Reply, 1)
	go func() { got <- f.wait(ctx, until) }()
	<-began // the wait has looked at the clock
	time.Sleep(20 * time.Millisecond)
	ahead.Store(0)
	if r := <-got; r.Outcome != core.OK {
		t.Errorf("the wait ended %s", r.Outcome)
	}
}
