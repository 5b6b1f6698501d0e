package exec

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"nova/core"
)

// Driver performs effects. It may run several machines, one Run for each; they
// share its queues, its gathering and its bounds.
type Driver struct {
	o    Options
	ctx  context.Context // ends with Close
	stop context.CancelFunc
	wg   sync.WaitGroup

	gets    *getGather
	deletes map[core.Store]*deleteGather
	gates   gates
	log     *limitedLog

	mu     sync.Mutex
	queues map[string]*Queue
	nudge  chan struct{} // closed and replaced by every Nudge
}

// ErrMachine is wrapped by Run's error when the machine broke a contract of the
// engine. It has been dropped, as if it had crashed.
var ErrMachine = errors.New("the machine broke its contract")

// New makes a driver. Close it once no Run and no Do is left.
func New(o Options) (*Driver, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	d := &Driver{o: o, queues: map[string]*Queue{}, nudge: make(chan struct{}), log: newLimitedLog(o.Log)}
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.gates = newGates(o.Widths)
	d.gets = &getGather{d: d}
	d.deletes = make(map[core.Store]*deleteGather, len(o.Stores))
	for name, s := range o.Stores {
		d.deletes[name] = &deleteGather{d: d, name: name, store: s}
	}
	return d, nil
}

// Run makes a driver, runs one machine and closes the driver; see Driver.Run.
func Run(ctx context.Context, m core.Machine, o Options) error {
	d, err := New(o)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Run(ctx, m)
}

// Close drops what is still gathered or on its way and waits for it to end. Run
// and Do must have returned.
func (d *Driver) Close() {
	d.stop()
	for _, g := range d.deletes {
		g.drop()
	}
	d.wg.Wait()
}

// run is one machine on its way.
type run struct {
	d       *Driver
	w       Witness // or nil
	ctx     context.Context
	x       core.Exchange
	m       core.Machine
	done    bool
	pending map[core.Path]core.Kind
	events  chan core.Event
}

// Run drives a machine until it is done (nil), it breaks its contract
// (ErrMachine), or ctx ends (its error). When it returns, nothing of the machine
// is in flight but what a server may still be at, and reads and deletes that were
// gathered into requests with those of others.
func (d *Driver) Run(ctx context.Context, m core.Machine) error {
	return d.RunBefore(ctx, m, nil)
}

// RunBefore is Run before a witness, or without one (nil).
func (d *Driver) RunBefore(ctx context.Context, m core.Machine, w Witness) (err error) {
	if w != nil {
		defer func() { w.Over(err) }()
	}
	ctx, cancel := context.WithCancel(ctx)
	var effects sync.WaitGroup
	defer effects.Wait()
	defer cancel()
	r := &run{d: d, w: w, ctx: ctx, m: m, pending: map[core.Path]core.Kind{}, events: make(chan core.Event, 64)}
	r.x.Now = d.o.Now()
	if err := r.turn(r.x.Start(), true, &effects); err != nil {
		return err
	}
	for !r.done {
		select {
		case <-ctx.Done():
			return fmt.Errorf("run the machine: dropped with %d effects in flight: %w", len(r.pending), context.Cause(ctx))
		case ev := <-r.events:
			delete(r.pending, ev.At)
			r.x.Now = d.o.Now()
			if err := r.turn(r.x.Deliver(ev.At, ev.Reply), false, &effects); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn steps the machine once and starts what it asked for.
func (r *run) turn(t core.Turn, first bool, effects *sync.WaitGroup) error {
	r.step(t, first)
	for _, n := range r.x.Notes {
		if r.d.o.OnNote != nil {
			r.d.o.OnNote(n)
		}
	}
	if !r.x.Consumed() {
		return fmt.Errorf("%w: the reply at %s found no call: a branch was dropped in flight", ErrMachine, r.x.Ev.At)
	}
	for _, e := range r.x.Out {
		if k, ok := r.pending[e.At]; ok {
			return fmt.Errorf("%w: %s and %s are both in flight at %s", ErrMachine, k, e.Op.Kind, e.At)
		}
		r.pending[e.At] = e.Op.Kind
		r.d.start(r.ctx, e.Op, effects, func(reply core.Reply) {
			select {
			case r.events <- core.Event{At: e.At, Reply: reply}:
			case <-r.ctx.Done():
			}
		})
	}
	r.d.gets.flush()
	switch {
	case r.done && len(r.pending) > 0:
		return fmt.Errorf("%w: it finished with %d effects in flight", ErrMachine, len(r.pending))
	case !r.done && len(r.pending) == 0:
		return fmt.Errorf("%w: it waits for nothing", ErrMachine)
	}
	return nil
}

// step steps the machine before the witness.
func (r *run) step(t core.Turn, first bool) {
	if r.w == nil {
		r.done = r.m.Step(t)
		return
	}
	over := false
	defer func() {
		if over {
			return
		}
		why := recover()
		r.w.Fell(&r.x, first, why)
		panic(why)
	}()
	r.done = r.m.Step(t)
	over = true
	r.w.Turn(&r.x, first, r.done)
}

// Do performs one operation and waits for its reply, or until ctx ends (Unknown):
// the machines' way of doing things, for code that is no machine (clients, verify,
// the conformance suite).
func (d *Driver) Do(ctx context.Context, op core.Op) core.Reply {
	done := make(chan core.Reply, 1)
	d.start(ctx, op, new(sync.WaitGroup), func(r core.Reply) { done <- r })
	d.gets.flush()
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
		return unknown
	}
}

// start performs op beside everything else and calls answer exactly once, from
// another goroutine. What is not gathered runs in wg and ends soon after ctx.
func (d *Driver) start(ctx context.Context, op core.Op, wg *sync.WaitGroup, answer func(core.Reply)) {
	began := time.Now()
	finish := func(r core.Reply, bytes int64) {
		if d.o.OnOp != nil {
			d.o.OnOp(Done{Kind: op.Kind, Store: op.Store, Outcome: r.Outcome, Took: time.Since(began), Bytes: bytes})
		}
		answer(r)
	}
	switch op.Kind {
	case core.KGet:
		d.gets.add(gathered{ctx: ctx, key: op.Key, answer: finish})
	case core.KDelete:
		if g, ok := d.deletes[op.Store]; ok {
			g.add(gathered{ctx: ctx, key: op.Key, answer: finish})
			return
		}
		wg.Go(func() { finish(d.noStore(&op), 0) })
	default:
		wg.Go(func() { finish(d.perform(ctx, &op)) })
	}
}

// Nudge wakes every Wait that is in flight: something may be due sooner than
// their machines knew.
func (d *Driver) Nudge() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.nudge)
	d.nudge = make(chan struct{})
}
