package exec

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"nova/core"
)

// gate bounds what is abreast.
type gate chan struct{}

func (g gate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gate) leave() { <-g }

type gates struct{ scans, txns, reads, writes, copies, deletes, fetches gate }

func newGates(w Widths) gates {
	return gates{scans: make(gate, w.Scans), txns: make(gate, w.Txns), reads: make(gate, w.Reads), writes: make(gate, w.Writes),
		copies: make(gate, w.Copies), deletes: make(gate, w.Deletes), fetches: make(gate, w.Fetches)}
}

// unknown is the reply to what was not answered. Nothing is claimed of an effect
// whose context ended before it was sent either: nobody will read the reply.
var unknown = core.Reply{Outcome: core.Unknown}

// perform does what is not gathered, and says how many chunk bytes passed.
func (d *Driver) perform(ctx context.Context, op *core.Op) (core.Reply, int64) {
	switch op.Kind {
	case core.KScan:
		return d.read(ctx, op, d.gates.scans, d.metaTime(), nil, func(ctx context.Context) (core.Reply, error) {
			return d.o.Meta.Scan(ctx, op.Key, op.End, int(op.Num))
		}), 0
	case core.KTxn:
		return d.txn(ctx, op), 0
	case core.KReadRange:
		return d.readRange(ctx, op), 0
	case core.KStat, core.KReadTail, core.KList, core.KListUploads, core.KAbort:
		return d.readStore(ctx, op), 0
	case core.KCreate, core.KUploadPart:
		return d.send(ctx, op)
	case core.KCopyPart:
		if s, ok := d.o.Stores[op.Store]; ok && len(op.Body) == 1 && !s.Copies(op.Body[0].From.Store) {
			data := *op
			data.Kind = core.KUploadPart
			return d.send(ctx, &data)
		}
		r := d.mutate(ctx, op)
		if r.Val == SourceAbsent {
			d.forgetSources(op.Body)
		}
		return r, 0
	case core.KCreateUpload, core.KComplete:
		return d.mutate(ctx, op), 0
	case core.KWait:
		return d.wait(ctx, op.Until), 0
	case core.KTake:
		return d.Queue(op.Key).take(ctx), 0
	case core.KGive:
		d.Queue(op.Key).give(op.Val)
		return core.Reply{}, 0
	case core.KFetch:
		return d.fetch(ctx, op)
	case core.KStage:
		d.stage(op)
		return core.Reply{}, 0
	}
	d.log.warn("an operation that no driver knows", op, core.Reply{Outcome: core.Refused}, nil)
	return core.Reply{Outcome: core.Refused}, 0
}

// service is how long a mutation of a store may be on its way.
func (d *Driver) service() time.Duration { return time.Duration(d.o.Dials.Service) * time.Millisecond }

// slowest is the rate, in bytes a second, below which a fetch is given up: a store
// that is slower than this is as good as away.
const slowest = 1 << 20

// fetchTime bounds a fetch of n bytes: what a request may take at all, and the
// bytes at the slowest rate that is waited for. A fetch is a read, so nothing but
// its caller waits for its end.
func (d *Driver) fetchTime(n int64) time.Duration {
	return d.service() + time.Duration(max(n, 0)/slowest)*time.Second + time.Duration(max(n, 0)%slowest)*time.Second/slowest
}

// readTime and metaTime bound one try of a small request.
func (d *Driver) readTime() time.Duration { return min(d.service(), 15*time.Second) }
func (d *Driver) metaTime() time.Duration { return min(d.service(), 10*time.Second) }

// noStore answers an operation that names a store which the process has not.
func (d *Driver) noStore(op *core.Op) core.Reply {
	r := core.Reply{Outcome: core.Refused}
	d.log.warn("the process has no such store: is it in its configuration?", op, r, nil)
	return r
}

// read performs what may be sent again, until it has a definite answer or has
// been sent often enough.
func (d *Driver) read(ctx context.Context, op *core.Op, g gate, within time.Duration, b *Budget, try func(context.Context) (core.Reply, error)) core.Reply {
	if g.enter(ctx) != nil {
		return unknown
	}
	defer g.leave()
	reply := unknown
	err := d.retry(ctx, b, within, func(ctx context.Context) (bool, error) {
		var err error
		reply, err = try(ctx)
		return reply.Outcome != core.Unknown, err
	})
	d.log.reply(op, reply, err)
	return reply
}

// readStore performs a small request to a store that may be sent again.
func (d *Driver) readStore(ctx context.Context, op *core.Op) core.Reply {
	s, ok := d.o.Stores[op.Store]
	if !ok {
		return d.noStore(op)
	}
	return d.read(ctx, op, d.gates.reads, d.readTime(), d.o.Requests, func(ctx context.Context) (core.Reply, error) {
		return s.Do(ctx, *op, nil)
	})
}

// maxBackoff bounds the pause between two tries.
const maxBackoff = 2 * time.Second

// retry calls try until it says that it is done, or Tries times, with a growing
// pause in between. Each try is charged to the budget, which learns from what
// came back, and has its own time. A try that the store turned away because
// there are too many does not count, for as long as a request may be in service.
// It returns the last error.
func (d *Driver) retry(ctx context.Context, b *Budget, within time.Duration, try func(context.Context) (done bool, err error)) error {
	var err error
	began := time.Now()
	for n, pauses := 0, 0; ; pauses++ {
		if pauses > 0 && pause(ctx, min(d.o.Backoff<<min(pauses-1, 16), maxBackoff)) != nil {
			return err
		}
		if werr := b.Wait(ctx, 1); werr != nil {
			return errors.Join(err, werr)
		}
		var done bool
		tctx, cancel := context.WithTimeout(ctx, within)
		done, err = try(tctx)
		cancel()
		b.learn(err)
		if done || ctx.Err() != nil {
			return err
		}
		if !isThrottled(err) || time.Since(began) > d.service() {
			n++
		}
		if n >= d.o.Tries {
			return err
		}
	}
}

// pause sleeps for about t.
func pause(ctx context.Context, t time.Duration) error {
	timer := time.NewTimer(t/2 + rand.N(t/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// txn sends a transaction, once.
func (d *Driver) txn(ctx context.Context, op *core.Op) core.Reply {
	if d.gates.txns.enter(ctx) != nil {
		return unknown
	}
	defer d.gates.txns.leave()
	ctx, cancel := context.WithTimeout(ctx, d.metaTime())
	defer cancel()
	reply, err := d.o.Meta.Txn(ctx, op.Txn)
	d.log.reply(op, reply, err)
	return reply
}

// mutate sends a mutation of a store that has no body, once, unless its time has
// run out.
func (d *Driver) mutate(ctx context.Context, op *core.Op) core.Reply {
	g := d.gates.writes
	if op.Kind == core.KCopyPart {
		g = d.gates.copies
	}
	if g.enter(ctx) != nil {
		return unknown
	}
	defer g.leave()
	return d.sendOnce(ctx, op, nil)
}

// sendOnce sends a mutation of a store, whatever becomes of it, unless its
// NotAfter has come: what was not sent is Refused.
func (d *Driver) sendOnce(ctx context.Context, op *core.Op, body *Body) core.Reply {
	s, ok := d.o.Stores[op.Store]
	if !ok {
		return d.noStore(op)
	}
	if d.o.Requests.Wait(ctx, 1) != nil {
		return unknown
	}
	if now := d.o.Now(); now >= op.Until {
		r := core.Reply{Outcome: core.Refused}
		d.log.reply(op, r, fmt.Errorf("not sent: it is %d ms past its NotAfter", now-op.Until))
		return r
	}
	ctx, cancel := context.WithTimeout(ctx, d.service())
	defer cancel()
	reply, err := s.Do(ctx, *op, body)
	d.o.Requests.learn(err)
	d.log.reply(op, reply, err)
	return reply
}

// wait sleeps until a time of the process's clock, or a nudge. It looks at the clock now
// and then, since the clock may jump; and it lasts no longer than it was to last by the
// clock as the wait began: a clock that was years ahead then, and is right again, would
// have the process sleep for years. Whoever waits looks at the clock when it wakes, as
// after a nudge.
func (d *Driver) wait(ctx context.Context, until core.Ms) core.Reply {
	d.mu.Lock()
	nudge := d.nudge
	d.mu.Unlock()
	const look = core.Ms(10_000)
	began, most := time.Now(), until-d.o.Now()
	for {
		left := min(until-d.o.Now(), most-core.Ms(time.Since(began).Milliseconds()))
		if left <= 0 {
			return core.Reply{}
		}
		timer := time.NewTimer(time.Duration(min(left, look)) * time.Millisecond)
		select {
		case <-timer.C:
		case <-nudge:
			timer.Stop()
			return core.Reply{}
		case <-ctx.Done():
			timer.Stop()
			return unknown
		}
	}
}
