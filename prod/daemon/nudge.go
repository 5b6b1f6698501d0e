package daemon

import (
	"context"
	"sync"
	"time"

	"nova/core"
	"nova/core/keys"
)

// nudger wakes an auditor's drains when a marker is armed that ripens before they
// would look again. It is a hint and nothing depends on it: a drain that misses
// one polls. However much is written, drains are woken at most once per gap.
type nudger struct {
	poke    func()
	gap     time.Duration // between two pokes, at least
	horizon core.Ms       // what ripens later than this is found by polling in time
	grace   core.Ms       // from an intent's birth to its judgement
	now     func() core.Ms
	wake    chan struct{}

	mu   sync.Mutex
	next core.Ms // when to poke; 0: nothing is known of
	more int     // pokes that follow it, a gap apart
}

// leastGap is between two pokes whatever the dials.
const leastGap = 50 * time.Millisecond

func newNudger(d *core.Dials, poke func()) *nudger {
	gap := max(time.Duration(d.PollEvery)*time.Millisecond/10, leastGap)
	return &nudger{poke: poke, gap: gap, horizon: d.PollEvery, grace: d.OrphanGrace, now: Now, wake: make(chan struct{}, 1)}
}

// ripens is when the marker of a row that was written is ripe, if it leads a drain
// to one.
func (n *nudger) ripens(key string) (core.Ms, bool) {
	d, err := keys.ParseDue(key)
	switch {
	case err != nil || d.Queue.Scheduled() != d.Sched: // not a marker's; or its schedule row says when
		return 0, false
	case d.Queue == keys.GC:
		return n.now(), true
	case d.Queue == keys.Orphan:
		return d.At + n.grace, true
	}
	return d.At, true
}

// wrote is told of a row that was written; "" means that some may have been missed.
func (n *nudger) wrote(key string) {
	at, now := core.Ms(0), n.now()
	if key != "" {
		var ok bool
		if at, ok = n.ripens(key); !ok || at > now+n.horizon {
			return
		}
	}
	at = max(at, now, 1)
	n.mu.Lock()
	if n.next == 0 || at < n.next {
		n.next = at
	}
	// A drain that is at work when it is poked does not hear it: once more.
	n.more = 1
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// run pokes until ctx ends.
func (n *nudger) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	last := time.Time{}
	for {
		n.mu.Lock()
		wait := time.Hour
		if n.next != 0 {
			wait = max(time.Duration(n.next-n.now())*time.Millisecond, n.gap-time.Since(last), 0)
		}
		due := wait == 0
		if due {
			if n.next = 0; n.more > 0 {
				n.more, n.next = n.more-1, n.now()
			}
		}
		n.mu.Unlock()
		if due {
			last = time.Now()
			n.poke()
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-n.wake:
		case <-ctx.Done():
			return
		}
	}
}

// watch nudges an auditor by what is written to its queues, until ctx ends.
func (a *Auditor) watch(ctx context.Context) {
	n := newNudger(&a.host.env.Dials, a.host.driver.Nudge)
	var all sync.WaitGroup
	all.Go(func() { n.run(ctx) })
	for _, of := range []string{"due/", "sched/"} {
		all.Go(func() { a.host.meta.Watch(ctx, of, keys.PrefixEnd(of), n.wrote) })
	}
	all.Wait()
}
