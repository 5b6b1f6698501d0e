package duty

import (
	"math"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
	"nova/core/protocol"
)

// Teardown reclaims what a deleted stream left (specification, duties:
// Teardown). The first walk runs once the settle machinery is past the stream's
// slots; the final walk, a quiesce later, takes what a late deposit put there,
// and the tombstone.
type Teardown struct {
	step   teardownStep
	call   core.Call
	stream core.Mark // the tombstone as it was read: every kill compares it
	bucket string
	from   uint64 // gather: the next page of rows
	owed   []owed // chains that the stream's rows name, each with the last slot; immutable
	at     int    // the chain under way
	after  string // its last marker taken
	gated  bool
	gate   []core.Row // a page of the markers that gate; immutable
	ripen  core.Group[core.Call]
	walk   protocol.Walk
	why    string
}

// owed is how far a stream reaches on a chain.
type owed struct {
	star  string
	epoch uint64
	last  uint64 // slot
}

type teardownStep uint8

const (
	teardownStream teardownStep = iota
	teardownGather
	teardownGate
	teardownRipen
	teardownRearm
	teardownWalk
	teardownFinish
	teardownResolve
)

// Reason says why the duty ended Broken, for the operator.
func (d *Teardown) Reason() string { return d.why }

// Step runs the duty for a marker of due/teardown, of either form.
func (d *Teardown) Step(t core.Turn, e *core.Env, due *Due) core.Verdict {
	for {
		switch d.step {
		case teardownStream: // The tombstone stands until the final walk has purged it.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Stream(due.Stream)) })
			if !ok {
				return core.Working
			}
			if v := d.judge(r, due); v != core.Working {
				return v
			}
		case teardownGather: // 1. How far the stream reaches on which chains.
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				from, end := keys.RefRange(due.Stream, d.from)
				return core.Scan(from, end, e.Dials.ScanPage)
			})
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			if !d.gather(r) {
				return core.Broken
			}
		case teardownGate: // A batch marker at or below the last slot gates the walk.
			if d.at >= len(d.owed) {
				if d.step = teardownWalk; d.gated {
					d.step = teardownRearm
				}
				continue
			}
			r, ok := d.call.AwaitFunc(t, func() core.Op { return d.owes(e) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			d.gate, d.step = r.Rows, teardownRipen
			if d.after = ""; r.More {
				d.after = r.Rows[len(r.Rows)-1].Key
			}
		case teardownRipen: // It ripens now: the next pass resolves it, not the one after the age cap.
			d.gated = d.gated || len(d.gate) > 0
			if !d.ripen.Run(t, len(d.gate), e.Dials.DrainWidth, func(i int, c *core.Call, t core.Turn) bool {
				return ripen(c, t, d.gate[i])
			}) {
				return core.Working
			}
			d.ripen, d.gate, d.step = core.Group[core.Call]{}, nil, teardownGate
			if d.after == "" {
				d.at++
			}
		case teardownRearm: // Gated: nothing was armed and nothing killed; come back.
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				return due.Resolve(core.Put(keys.DueTeardown(due.Shard, t.Now+e.Dials.GateRetry, due.Stream, due.Final), rearmed(due)))
			})
			if ok && r.Outcome == core.OK {
				t.Note(core.NoteTeardownGated, 1)
			}
			return settledBy(r, ok)
		case teardownWalk: // 2. Retire every row.
			of := protocol.Retire{Bucket: d.bucket, ID: due.Stream, Stream: d.stream, Below: math.MaxUint64}
			v := d.walk.Step(t, e, &of)
			if v == core.Working {
				return v
			}
			t.Note(core.NoteTeardownWalked, int64(d.walk.Retired))
			d.why, d.walk = d.walk.Why, protocol.Walk{}
			if v != core.Done {
				return v
			}
			d.step = teardownFinish
		case teardownFinish: // 3 and 4. Purge what served it live, and arm the final walk; or, final, purge the tombstone.
			if due.Final && !d.call.Sent() && t.Now < due.At { // a clock that was ahead took it for quiet, and is right again
				return core.Again
			}
			r, ok := d.call.AwaitFunc(t, func() core.Op { return d.finish(t.Now, e, due) })
			if ok && r.Outcome == core.OK && due.Final {
				t.Note(core.NoteTeardownFinal, 1)
			}
			return settledBy(r, ok)
		case teardownResolve: // Another final walk has purged everything.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return due.Resolve() })
			return settledBy(r, ok)
		}
	}
}

// judge looks at the tombstone; Working goes on.
func (d *Teardown) judge(r *core.Reply, due *Due) core.Verdict {
	switch r.Outcome {
	case core.Absent:
		d.step = teardownResolve
		return core.Working
	case core.OK:
	default:
		return core.Again
	}
	s, err := format.DecodeStream(r.Val)
	switch {
	case err != nil:
		d.why = undecoded(keys.Stream(due.Stream), err)
		return core.Broken
	case !s.Deleted:
		d.why = "the stream is not deleted: it is not taken apart"
		return core.Broken
	}
	d.stream, d.bucket, d.step = core.Mark{Key: keys.Stream(due.Stream), Rev: r.Rev}, s.Bucket, teardownGather
	return core.Working
}

// gather folds one page of rows into owed; it reports whether every row decodes.
func (d *Teardown) gather(r *core.Reply) bool {
	for i := range r.Rows {
		h, err := plan.Hold(r.Rows[i])
		if err != nil {
			d.why = err.Error() + ": restore it"
			return false
		}
		d.from = h.End
		if h.Kind == format.SpanRow {
			d.owed = reach(d.owed, owed{h.Star, h.Epoch, h.Spans[len(h.Spans)-1].Slot})
		}
	}
	if !r.More {
		d.step = teardownGate
	}
	return true
}

// reach raises a chain's last slot. The slice is replaced, never changed.
func reach(chains []owed, o owed) []owed {
	for i := range chains {
		if c := &chains[i]; c.star == o.star && c.epoch == o.epoch {
			if o.last <= c.last {
				return chains
			}
			raised := append([]owed(nil), chains...)
			raised[i].last = o.last
			return raised
		}
	}
	return append(chains[:len(chains):len(chains)], o)
}

// owes scans the batch markers of the chain under way, up to the last slot.
func (d *Teardown) owes(e *core.Env) core.Op {
	c := &d.owed[d.at]
	shard := keys.ShardOfChain(c.star, c.epoch, e.Dials.Shards)
	from, _ := keys.DenormChain(shard, c.star, c.epoch)
	if d.after != "" {
		from = d.after + "\x00"
	}
	return core.Scan(from, keys.DueDenorm(shard, c.star, c.epoch, c.last)+"\x00", e.Dials.ScanPage)
}

// rearmed is the value of the next marker: the deletion time travels.
func rearmed(due *Due) string {
	m, _ := format.DecodeTeardownMark(due.Row.Val)
	m.Attempts = 0
	return m.Encode()
}

// finish ends a walk. The watermark, the producer handle and the last-writer
// record served the stream live; the final walk takes the tombstone too, and an
// id is never given out again.
func (d *Teardown) finish(now core.Ms, e *core.Env, due *Due) core.Op {
	ws := []core.Write{core.If(d.stream), core.Del(keys.Trim(due.Stream)), core.Del(keys.Producer(due.Stream)), core.Del(keys.Writer(due.Stream))}
	if due.Final {
		return due.Resolve(append(ws, core.Del(d.stream.Key))...)
	}
	return due.Resolve(append(ws, core.Put(keys.DueTeardown(due.Shard, now+e.Dials.Quiesce, due.Stream, true), rearmed(due)))...)
}
