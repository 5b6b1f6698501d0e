package journal

import (
	"context"
	"fmt"
	"sort"
	"time"

	"nova/core"
	"nova/core/transcript"
	"nova/plain"
)

// Process is one machine that is recorded. It is the witness of the driver that
// runs it (exec.Witness): its methods are called by one goroutine.
type Process struct {
	j     *Journal
	begin transcript.Begin
	state any // the machine

	n       uint64 // its turns
	now     core.Ms
	pending map[core.Path]*core.Op
	spare   []*core.Op // to be used again: most machines always have as many in flight
	epoch   uint64     // in which its state stands
	lost    bool       // turns of it were left out since then
	size    int        // of its state when it was last written
	fell    bool
	turn    transcript.Turn
}

// Turn writes a turn down.
func (p *Process) Turn(x *core.Exchange, first, done bool) { p.had(x, first, done, "") }

// fallWithin bounds the writing of the last turn of a machine that panicked.
const fallWithin = 2 * time.Second

// Fell writes down, to the disk, a turn that the machine did not end.
func (p *Process) Fell(x *core.Exchange, first bool, why any) {
	p.fell = true
	p.had(x, first, false, fmt.Sprint("panic: ", why))
	ctx, cancel := context.WithTimeout(context.Background(), fallWithin)
	defer cancel()
	_ = p.j.Flush(ctx) // the process ends, and says why itself
}

// Over writes down how the machine ended.
func (p *Process) Over(err error) {
	if p.fell {
		return
	}
	why := ""
	if err != nil {
		why = err.Error()
	}
	p.j.record(&transcript.Record{Kind: transcript.KEnd, End: transcript.End{Root: p.begin.Root, Why: why}})
}

// had is a turn that is over. Between two turns the machine's state is whole: where
// the journal needs it, it follows the turn.
func (p *Process) had(x *core.Exchange, first, done bool, fell string) {
	p.n++
	p.now = x.Now
	t := &p.turn
	*t = transcript.Turn{Root: p.begin.Root, N: p.n, Now: x.Now, First: first, Out: x.Out, Done: done, Panic: fell}
	if !first {
		t.At = x.Ev.At
		t.Reply = transcript.Blank(core.KReadTail, x.Ev.Reply) // of an effect that nobody knows
		if op, ok := p.pending[t.At]; ok {
			t.Reply = transcript.Blank(op.Kind, x.Ev.Reply)
			p.spare = append(p.spare, op)
			delete(p.pending, t.At)
		}
	}
	for i := range x.Out {
		var op *core.Op
		if n := len(p.spare); n > 0 {
			op, p.spare = p.spare[n-1], p.spare[:n-1]
		} else {
			op = new(core.Op)
		}
		*op = x.Out[i].Op
		p.pending[x.Out[i].At] = op
	}
	epoch := p.j.epoch.Load()
	if !p.j.turn(t) {
		p.lost = true
	} else if (p.lost || epoch != p.epoch) && !done && fell == "" {
		p.stand(epoch)
	}
	t.Out, t.Reply = nil, core.Reply{} // the exchange's
}

// stand writes the machine's state down, if there is room for it.
func (p *Process) stand(epoch uint64) {
	if !p.j.fits(p.size) {
		return
	}
	s := transcript.State{Begin: p.begin, N: p.n, Now: p.now, Shape: plain.Shape(p.state), Bytes: string(plain.Append(nil, p.state))}
	s.Pending = make([]core.Effect, 0, len(p.pending))
	for at, op := range p.pending {
		s.Pending = append(s.Pending, core.Effect{At: at, Op: *op})
	}
	sort.Slice(s.Pending, func(i, k int) bool { return s.Pending[i].At.Less(s.Pending[k].At) })
	b := transcript.Append(nil, &transcript.Record{Kind: transcript.KState, State: s})
	p.size = len(b)
	if len(b) > transcript.MaxRecord || !p.j.take(func(to []byte) []byte { return append(to, b...) }) {
		p.lost = true
		return
	}
	p.epoch, p.lost = epoch, false
}
