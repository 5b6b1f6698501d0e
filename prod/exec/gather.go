package exec

import (
	"context"
	"sync"
	"time"

	"nova/core"
)

// gathered is one effect on its way into a larger request.
type gathered struct {
	ctx    context.Context
	key    string
	answer func(core.Reply, int64)
}

// live splits off the effects whose machine is gone: they are not sent.
func live(all []gathered) []gathered {
	keep := all[:0]
	for _, g := range all {
		if g.ctx.Err() != nil {
			g.answer(unknown, 0)
			continue
		}
		keep = append(keep, g)
	}
	return keep
}

// getGather makes one transaction of point reads: of all that one turn asks for,
// and of what comes while the transactions that may be abreast are in flight.
type getGather struct {
	d       *Driver
	mu      sync.Mutex
	waiting []gathered
	flying  int
}

func (g *getGather) add(one gathered) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, one)
	if len(g.waiting) >= core.TxnOps {
		g.launch()
	}
}

// flush sends what is waiting as soon as it may. The driver calls it at the end
// of a turn.
func (g *getGather) flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.waiting) > 0 && g.flying < g.d.o.Widths.Gets {
		g.launch()
	}
}

// launch sends one batch unless enough are in flight. g.mu is held.
func (g *getGather) launch() {
	if g.flying >= g.d.o.Widths.Gets {
		return
	}
	n := min(len(g.waiting), core.TxnOps)
	batch := append([]gathered(nil), g.waiting[:n]...)
	g.waiting = append(g.waiting[:0], g.waiting[n:]...)
	g.flying++
	g.d.wg.Go(func() {
		g.send(live(batch))
		g.mu.Lock()
		g.flying--
		g.mu.Unlock()
		g.flush()
	})
}

func (g *getGather) send(batch []gathered) {
	if len(batch) == 0 {
		return
	}
	keys := make([]string, len(batch))
	for i := range batch {
		keys[i] = batch[i].key
	}
	replies := make([]core.Reply, len(keys))
	for i := range replies {
		replies[i] = unknown
	}
	err := g.d.retry(g.d.ctx, nil, g.d.metaTime(), func(ctx context.Context) (bool, error) {
		r, err := g.d.o.Meta.Get(ctx, keys)
		if len(r) != len(keys) {
			return false, err
		}
		replies = r
		for i := range r {
			if r[i].Outcome == core.Unknown {
				return false, err
			}
		}
		return true, err
	})
	for i := range batch {
		op := core.Get(batch[i].key)
		g.d.log.reply(&op, replies[i], err)
		batch[i].answer(replies[i], 0)
	}
}

// deleteGather makes multi-deletes for one store: full ones at once, smaller
// ones after a short delay.
type deleteGather struct {
	d     *Driver
	name  core.Store
	store ObjectStore

	mu      sync.Mutex
	waiting []gathered
	timer   *time.Timer
}

func (g *deleteGather) add(one gathered) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, one)
	switch {
	case len(g.waiting) >= g.d.o.Dials.DeleteBatch:
		g.launch()
	case len(g.waiting) == 1:
		g.timer = time.AfterFunc(g.d.o.DeleteDelay, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.launch()
		})
	}
}

// launch sends what is waiting. g.mu is held.
func (g *deleteGather) launch() {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	batch := g.waiting
	g.waiting = nil
	if len(batch) == 0 {
		return
	}
	g.d.wg.Go(func() { g.send(batch) })
}

// drop answers what is waiting without sending it.
func (g *deleteGather) drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	answerAll(g.waiting, unknown)
	g.waiting = nil
}

// send deletes a batch and sends again what was not answered definitely: a
// delete names what never returns, so it may be repeated. Each key is answered
// on its own, as soon as it can be (C39).
func (g *deleteGather) send(batch []gathered) {
	if g.d.gates.deletes.enter(g.d.ctx) != nil {
		answerAll(batch, unknown)
		return
	}
	defer g.d.gates.deletes.leave()
	left := live(batch)
	err := g.d.retry(g.d.ctx, g.d.o.Requests, g.d.service(), func(ctx context.Context) (bool, error) {
		if left = live(left); len(left) == 0 {
			return true, nil
		}
		keys := make([]string, len(left))
		for i := range left {
			keys[i] = left[i].key
		}
		replies, err := g.store.Delete(ctx, keys)
		open := left[:0]
		for i, one := range left {
			if i >= len(replies) || replies[i].Outcome == core.Unknown {
				open = append(open, one)
				continue
			}
			g.d.o.Cache.forget(core.Obj{Store: g.name, Key: one.key})
			g.log(one, replies[i], err)
			one.answer(replies[i], 0)
		}
		left = open
		return len(left) == 0, err
	})
	for _, one := range left {
		g.log(one, unknown, err)
	}
	answerAll(left, unknown)
}

func (g *deleteGather) log(one gathered, r core.Reply, err error) {
	op := core.Delete(core.Obj{Store: g.name, Key: one.key})
	g.d.log.reply(&op, r, err)
}

func answerAll(batch []gathered, r core.Reply) {
	for _, one := range batch {
		one.answer(r, 0)
	}
}
