package serve

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
)

// Extent is consecutive records of a stream as bytes of one object.
type Extent struct {
	First uint64
	Count uint64
	At    []core.Obj // replicas: any of them has the bytes; immutable
	Off   int64
	Len   int64
	CRC   uint32 // CRC-32C of the bytes
	Lost  bool   // the range is truly lost: reading it is an error that names it
}

// End is the sequence number after the extent's last.
func (x *Extent) End() uint64 { return x.First + x.Count }

// ReadPlan finds where a stream's records lie. A plan may be used until Until:
// half the read grace from before its rows were read, so that no object of it is
// deleted while it is in use. Records that are acknowledged but not absorbed yet
// are not in it: it ends at Next.
//
// Done: Reason None and Extents hold whole chunks that cover [from, Next), of
// which the first may begin before from; or Reason says why not, and Mark is the
// watermark where it is Trimmed. Again: nothing definite.
type ReadPlan struct {
	step   planStep
	call   core.Call
	tries  uint8
	desc   format.Stream
	at     uint64 // covered from the start up to here
	parts  []planPart
	found  core.Results[planFooter]
	reads  core.Group[core.Call]
	hole   bool
	broken Reason

	Extents []Extent // immutable
	Next    uint64
	Mark    uint64
	Until   core.Ms
	Reason  Reason
}

type planStep uint8

const (
	planStream planStep = iota
	planMark
	planRows
	planFooters
	planExpand
	planDone
)

// planPart is an extent, or an entry whose object's footer must say.
type planPart struct {
	x     Extent
	entry format.Entry
	whole bool // x is it
}

type planFooter struct {
	footer  format.Footer
	outcome core.Outcome
}

// planParts bounds the entries and spans of one plan.
const planParts = 1024

// planTries bounds how often a plan is made anew because what it found was
// superseded while it was being made.
const planTries = 4

// Step plans a read of at most limit records, from a sequence number on, to whole
// chunks.
func (p *ReadPlan) Step(t core.Turn, e *core.Env, id, from, limit uint64) core.Verdict {
	for {
		switch p.step {
		case planStream: // 1. The descriptor.
			re, ok := p.call.Await(t, core.Get(keys.Stream(id)))
			if !ok {
				return core.Working
			}
			_, desc, reason, v := descriptor(re, id)
			switch {
			case v == core.Again:
				return p.again()
			case reason != None:
				return p.end(reason)
			}
			p.desc, p.step = desc, planMark
		case planMark: // 2. The watermark: reads below it fail at once.
			re, ok := p.call.Await(t, core.Get(keys.Trim(id)))
			if !ok {
				return core.Working
			}
			there, definite := re.Found()
			if !definite {
				return p.again()
			}
			if there {
				n, err := format.DecodeNumber(re.Val)
				if err != nil {
					return p.end(Damaged)
				}
				p.Mark = n
			}
			switch {
			case from < p.Mark:
				return p.end(Trimmed)
			case p.hole: // not explained by a trim or a deletion
				return p.end(p.broken)
			}
			p.at, p.Until, p.step = from, t.Now+e.Dials.PlanTTL, planRows
		case planRows: // 3. The rows, from the one that covers from.
			re, ok := p.call.AwaitFunc(t, func() core.Op {
				start, end := keys.RefRange(id, p.at)
				return core.Scan(start, end, e.Dials.ScanPage)
			})
			if !ok {
				return core.Working
			}
			if re.Outcome != core.OK {
				return p.again()
			}
			reason := p.take(e, re.Rows, id, from, limit)
			switch {
			case reason != None:
				p.look(reason)
			case re.More && len(re.Rows) > 0 && !p.full(from, limit):
			default:
				p.step = planFooters
			}
		case planFooters: // 4. The footers of settled objects: which chunk lies where.
			n := len(p.parts)
			if p.found.Len() != n {
				p.found.Make(n)
			}
			if !p.reads.Run(t, n, e.Dials.FootersAbreast, func(i int, m *core.Call, t core.Turn) bool {
				w := &p.parts[i]
				if w.whole {
					return true
				}
				re, ok := m.AwaitFunc(t, func() core.Op {
					obj := core.Obj{Store: e.Stores.Home(w.entry.Class), Key: plan.ObjectOf(p.desc.Bucket, id, &w.entry).Key()}
					return core.ReadRange(obj, w.entry.Footer.Off, w.entry.Footer.Len)
				})
				if ok {
					f := planFooter{outcome: re.Outcome}
					if re.Outcome == core.OK {
						var err error
						if f.footer, err = format.DecodeFooter(re.Val); err != nil {
							f.outcome = core.Damaged
						}
					}
					p.found.Set(i, f)
				}
				return ok
			}) {
				return core.Working
			}
			p.reads, p.step = core.Group[core.Call]{}, planExpand
		case planExpand:
			xs, next, reason := p.expand(e, id, from, limit)
			switch reason {
			case None:
				*p = ReadPlan{step: planDone, Extents: xs, Next: next, Mark: p.Mark, Until: p.Until}
			case Undecided:
				return p.again()
			default:
				p.look(reason)
			}
		case planDone:
			return core.Done
		}
	}
}

func (p *ReadPlan) again() core.Verdict {
	*p = ReadPlan{}
	return core.Again
}

func (p *ReadPlan) end(r Reason) core.Verdict {
	*p = ReadPlan{step: planDone, Reason: r, Mark: p.Mark}
	return core.Done
}

// look begins the plan anew: what did not fit may have been rewritten, trimmed or
// deleted in between. The last time, it says what did not fit.
func (p *ReadPlan) look(reason Reason) {
	tries := p.tries + 1
	*p = ReadPlan{tries: tries, hole: tries >= planTries, broken: reason}
}

func (p *ReadPlan) full(from, limit uint64) bool {
	return len(p.parts) >= planParts || p.at-from >= limit
}

// take gathers the parts of a page of rows.
func (p *ReadPlan) take(e *core.Env, rows []core.Row, id, from, limit uint64) Reason {
	n := len(p.parts)
	p.parts = p.parts[:n:n]
	for _, r := range rows {
		if p.at-from >= limit || len(p.parts) >= planParts {
			return None
		}
		row, err := plan.Hold(r)
		switch {
		case err != nil:
			return Damaged
		case row.First > p.at:
			return Missing
		}
		for i := range row.Spans {
			s := &row.Spans[i]
			if s.Chunk.End() <= p.at || p.at-from >= limit {
				continue
			}
			at := make([]core.Obj, len(row.Stores))
			for k, store := range row.Stores {
				at[k] = core.Obj{Store: store, Key: keys.Slot(row.Star, row.Epoch, s.Slot)}
			}
			p.parts = append(p.parts, planPart{whole: true, x: Extent{
				First: s.Chunk.First, Count: uint64(s.Chunk.Count), At: at,
				Off: s.Chunk.Off, Len: s.Chunk.Len, CRC: s.Chunk.CRC,
			}})
			p.at = s.Chunk.End()
		}
		for _, w := range row.Entries {
			if w.End() <= p.at || p.at-from >= limit {
				continue
			}
			p.parts = append(p.parts, planPart{entry: w, whole: w.Lost, x: Extent{First: w.First, Count: w.Count, Lost: w.Lost}})
			p.at = w.End()
		}
	}
	return None
}

// expand makes extents of the parts, in order and without a gap.
func (p *ReadPlan) expand(e *core.Env, id, from, limit uint64) (xs []Extent, next uint64, reason Reason) {
	next = from
	for i := range p.parts {
		w := &p.parts[i]
		if next-from >= limit {
			break
		}
		if w.whole {
			if w.x.First > next {
				return nil, 0, Missing
			}
			xs, next = append(xs, w.x), w.x.End()
			continue
		}
		f := p.found.At(i)
		switch f.outcome {
		case core.OK:
		case core.Absent, core.OutOfRange:
			return nil, 0, Missing
		case core.Damaged:
			return nil, 0, Damaged
		default:
			return nil, 0, Undecided
		}
		at := []core.Obj{{Store: e.Stores.Home(w.entry.Class), Key: plan.ObjectOf(p.desc.Bucket, id, &w.entry).Key()}}
		for k := range f.footer.Len() {
			c := f.footer.At(k)
			if c.Stream != id || c.End() <= next || next-from >= limit {
				continue
			}
			if c.First > next {
				return nil, 0, Damaged
			}
			xs = append(xs, Extent{First: c.First, Count: uint64(c.Count), At: at, Off: c.Off, Len: c.Len, CRC: c.CRC})
			next = c.End()
		}
		if next < w.entry.End() && next-from < limit {
			return nil, 0, Damaged // the footer holds less than the entry says
		}
	}
	return xs, next, None
}
