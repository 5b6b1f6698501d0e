package duty

import (
	"fmt"
	"slices"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
	"nova/core/protocol"
)

// losing writes off slots of one chain that are gone for good: every row of a
// live stream that names one of them is split, and says which records are lost
// (gap 21). A slot that is gone has no footer to say which streams it held, so
// the sweep reads every ref there is, page by page: it runs once, for a batch
// whose slots a definite answer from every replica has called absent as often as
// it takes to park it.
//
// Done: no row of a live stream names one of the slots. Again: nothing definite,
// or a race was lost; what was split stays split.
type losing struct {
	step  losingStep
	call  core.Call
	last  uint64      // the last stream id given out
	from  uint64      // the first of the ids under way
	after string      // the last row read of them
	hits  []plan.Held // of the page: rows that name a slot that is gone; immutable
	k     int         // the one under way
	id    uint64
	desc  core.Mark // its stream's descriptor
}

type losingStep uint8

const (
	losingCount losingStep = iota
	losingPage
	losingStream
	losingSplit
)

// A page of the sweep reads the rows of so many ids, at most so many rows at a
// time: a range read costs what the range holds.
const (
	losingIDs  = 64
	losingRows = 256
)

func (d *losing) Step(t core.Turn, e *core.Env, c *protocol.Chain, gone []uint64, lease core.Mark) core.Verdict {
	for {
		switch d.step {
		case losingCount: // No stream that is made from now on has a row that names these slots.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.CounterStream) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			n, err := format.DecodeNumber(r.Val)
			if err != nil {
				return core.Broken
			}
			d.last, d.step = n, losingPage
		case losingPage:
			if d.from > d.last {
				return core.Done
			}
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				from, end := keys.Ref(d.from, 0), keys.Ref(d.from+losingIDs, 0)
				if d.after != "" {
					from = d.after + "\x00"
				}
				return core.Scan(from, end, losingRows)
			})
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			d.take(r, c, gone)
			d.k, d.step = 0, losingStream
		case losingStream: // The rows of a deleted stream are its teardown's.
			if d.k >= len(d.hits) {
				d.step = losingPage
				continue
			}
			id, _, err := keys.ParseRef(d.hits[d.k].Key)
			if err != nil {
				return core.Broken
			}
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Stream(id)) })
			if !ok {
				return core.Working
			}
			present, definite := r.Found()
			if !definite {
				return core.Again
			}
			d.id, d.desc = id, r.Row(keys.Stream(id)).Mark
			if d.step = losingSplit; !present || tombstone(r.Val) {
				d.k, d.step = d.k+1, losingStream
			}
		case losingSplit: // One transaction: a row that reads as lost where it is, and as before where it is not.
			parts, _ := plan.Lose(&d.hits[d.k].Row, lostIn(gone))
			r, ok := d.call.AwaitFunc(t, func() core.Op { return d.split(parts, lease) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			for i := range parts {
				if p := &parts[i]; p.Kind == format.CatalogRow {
					t.NoteOf(core.NoteLost, int64(p.End-p.First), fmt.Sprintf("%s: records %d to %d", keys.Stream(d.id), p.First, p.End-1))
				}
			}
			d.k, d.step = d.k+1, losingStream
		}
	}
}

func (d *losing) take(r *core.Reply, c *protocol.Chain, gone []uint64) {
	d.hits = nil
	for i := range r.Rows {
		d.after = r.Rows[i].Key
		h, err := plan.Hold(r.Rows[i])
		if err != nil || h.Kind != format.SpanRow || h.Star != c.Star || h.Epoch != c.Epoch {
			continue // what does not decode keeps its marker standing where its stream is judged
		}
		if _, n := plan.Lose(&h.Row, lostIn(gone)); n > 0 {
			d.hits = append(d.hits, h)
		}
	}
	if !r.More {
		d.from, d.after = d.from+losingIDs, ""
	}
}

func (d *losing) split(parts []format.Row, lease core.Mark) core.Op {
	ws := []core.Write{core.If(d.desc), core.If(lease), core.If(d.hits[d.k].Mark)}
	for i := range parts {
		ws = append(ws, core.Put(keys.Ref(d.id, parts[i].End-1), parts[i].Encode()))
	}
	return core.Txn(ws...)
}

func lostIn(gone []uint64) func(uint64) bool {
	return func(slot uint64) bool {
		_, ok := slices.BinarySearch(gone, slot)
		return ok
	}
}

// tombstone reports whether a descriptor says that its stream is deleted. One
// that does not decode says nothing of the kind.
func tombstone(val string) bool {
	s, err := format.DecodeStream(val)
	return err == nil && s.Deleted
}
