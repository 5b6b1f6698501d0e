package exec

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Budget bounds a rate: of bytes, or of requests. One of requests also learns:
// when a store asks for fewer (503 SlowDown), it settles near what the store
// takes, and grows back slowly (C31). A nil Budget bounds nothing.
type Budget struct {
	lim  *rate.Limiter
	max  rate.Limit
	turn gate // the one who waits for the limiter: the others feel a new limit at once

	mu      sync.Mutex
	changed time.Time // of the last change of the limit
	cut     time.Time // of the last that lowered it
	window  time.Time // begin of the count
	count   int       // requests since then that the store took
	rate    float64   // requests a second of the last whole window
}

const (
	budgetWindow = 500 * time.Millisecond // over which the rate is measured
	budgetCut    = 0.8                    // a store that asks for less gets this share of what it got
	budgetGrow   = 1.05                   // and after a quiet window this much more …
	budgetLeap   = 1.3                    // … or this, when it has been quiet for long
	budgetLong   = 2 * time.Second
	budgetLeast  = 1 // a second
)

// NewBudget makes a budget of so many a second, in bursts of at most burst; 0 a
// second is no bound until a store asks for one.
func NewBudget(perSecond float64, burst int) *Budget {
	l := rate.Limit(perSecond)
	if perSecond <= 0 {
		l = rate.Inf
	}
	return &Budget{lim: rate.NewLimiter(l, max(1, burst)), max: l, turn: make(gate, 1), window: time.Now()}
}

// Wait takes n from the budget, as soon as it has them. Its error is that of ctx.
func (b *Budget) Wait(ctx context.Context, n int64) error {
	if b == nil {
		return ctx.Err()
	}
	if b.lim.Limit() == rate.Inf {
		return ctx.Err()
	}
	if err := b.turn.enter(ctx); err != nil {
		return err
	}
	defer b.turn.leave()
	for n > 0 {
		k := min(n, int64(b.lim.Burst()))
		if err := b.lim.WaitN(ctx, int(k)); err == nil {
			n -= k
		} else if ctx.Err() != nil {
			return ctx.Err()
		} else if k <= int64(b.lim.Burst()) { // else the burst was cut meanwhile
			return err // the wait would outlast ctx's deadline
		}
	}
	return ctx.Err()
}

// Rate is what the budget allows a second just now, +Inf for no bound.
func (b *Budget) Rate() float64 { return float64(b.lim.Limit()) }

// learn takes note of how a request ended.
func (b *Budget) learn(err error) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if !isThrottled(err) {
		b.count++
	}
	elapsed := now.Sub(b.window)
	seen := max(b.rate, float64(b.count)/max(elapsed, budgetWindow/5).Seconds())
	if elapsed >= budgetWindow {
		b.rate = float64(b.count) / elapsed.Seconds()
		b.window, b.count = now, 0
	}
	limit := b.lim.Limit()
	quiet := now.Sub(b.changed) >= budgetWindow
	switch {
	case isThrottled(err) && quiet: // else: a request that was under way already
		b.set(max(min(limit, rate.Limit(seen))*budgetCut, budgetLeast), now)
		b.cut = now
	case err == nil && limit < b.max && quiet:
		grow := rate.Limit(budgetGrow)
		if now.Sub(b.cut) > budgetLong {
			grow = budgetLeap
		}
		b.set(min(limit*grow, b.max), now)
	}
}

func (b *Budget) set(l rate.Limit, now time.Time) {
	b.lim.SetLimit(l)
	b.changed = now
	// A burst that was meant for a high rate would outrun a low one.
	if l < b.max && float64(b.lim.Burst()) > float64(l)/4 {
		b.lim.SetBurst(max(1, int(l/4)))
	}
}
