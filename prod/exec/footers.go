package exec

import (
	"container/list"
	"context"
	"sync"

	"nova/core"
	"nova/core/format"
)

// footers holds footers that were read. Every member of an era reads those of its
// sources, and these are the same slots for all of them: without it an era of many
// short streams is one of many small reads (specification, duties: Settle rewrite,
// step 3: through the fetch cache).
//
// An object never changes under its key, so a footer stays what it was; that its
// object still stands is what it does not say. Whoever then reads the object's
// bytes finds out, and forgets it, so that the next look is a fresh one. A probe
// that is told what a footer was judges it by its refs, and a delete does not mind
// absence.
type footers struct {
	max int64

	mu   sync.Mutex
	used int64
	all  map[core.Obj]*list.Element
	old  *list.List // of *footer, the least recently used first
}

type footer struct {
	obj   core.Obj
	off   int64
	reply core.Reply
}

// get is the answer to a read of a footer that is held.
func (f *footers) get(op *core.Op) (core.Reply, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.all[op.Obj()]
	if e == nil {
		return core.Reply{}, false
	}
	x := e.Value.(*footer)
	if x.off != op.Off || int64(len(x.reply.Val)) != op.Len {
		return core.Reply{}, false
	}
	f.old.MoveToBack(e)
	return x.reply, true
}

// keep holds what a read brought, if it is a sound footer.
func (f *footers) keep(op *core.Op, r core.Reply) {
	n := int64(len(r.Val))
	if r.Outcome != core.OK || n != op.Len || n > f.max/4 {
		return
	}
	if _, err := format.DecodeFooter(r.Val); err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(op.Obj())
	f.all[op.Obj()] = f.old.PushBack(&footer{op.Obj(), op.Off, r})
	for f.used += n; f.used > f.max; {
		f.drop(f.old.Front().Value.(*footer).obj)
	}
}

func (f *footers) forget(o core.Obj) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(o)
}

// drop gives a footer up. f.mu is held.
func (f *footers) drop(o core.Obj) {
	if e := f.all[o]; e != nil {
		f.used -= int64(len(f.old.Remove(e).(*footer).reply.Val))
		delete(f.all, o)
	}
}

// readRange reads a footer, from the cache if it is there.
func (d *Driver) readRange(ctx context.Context, op *core.Op) core.Reply {
	c := d.o.Cache
	if c == nil {
		return d.readStore(ctx, op)
	}
	if r, ok := c.footers.get(op); ok {
		return r
	}
	r := d.readStore(ctx, op)
	c.footers.keep(op, r)
	return r
}

// forgetSources makes the next read of a body's sources a fresh one: one of them
// was not what its footer said, or not there.
func (d *Driver) forgetSources(body []core.Piece) {
	for i := range body {
		if p := &body[i]; p.Kind == core.Range {
			d.o.Cache.forget(p.From)
			for _, o := range p.Also {
				d.o.Cache.forget(o)
			}
		}
	}
}
