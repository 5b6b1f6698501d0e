package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
	"nova/core/protocol"
)

// Retention enforces a stream's age policy: it raises the trim watermark past
// every record that is older, and reclaims what lies wholly below (specification,
// duties: Retention). Its marker sustains itself: what re-arms it resolves it
// (gap 22).
//
// The watermark is written straight to the metastore, by compare. A star that
// leads the stream reads it there.
type Retention struct {
	step      retentionStep
	call      core.Call
	stream    core.Mark // the descriptor as it was read; every write compares it
	bucket    string
	maxAge    core.Ms
	policy    uint32
	cutoff    core.Ms
	mark      core.Mark // the watermark's row
	watermark uint64
	from      uint64    // the next page of rows
	straddler plan.Held // the catalog row whose entry straddles the cutoff
	entry     int
	point     uint64
	walk      protocol.Walk
	rest      plan.Held // the first row that survived
	why       string
}

type retentionStep uint8

const (
	retentionStream retentionStep = iota
	retentionMark
	retentionRows
	retentionFooter
	retentionTrim
	retentionWalk
	retentionShed
	retentionRearm
	retentionResolve
)

// Reason says why the duty ended Broken, for the operator.
func (d *Retention) Reason() string { return d.why }

// Step runs the duty for a marker of due/retention.
func (d *Retention) Step(t core.Turn, e *core.Env, due *Due) core.Verdict {
	for {
		switch d.step {
		case retentionStream: // 1. A torn-down stream or a lifted policy resolves the marker; so does a policy that was set since: it has its own.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Stream(due.Stream)) })
			if !ok {
				return core.Working
			}
			if v := d.judge(r, t.Now, due); v != core.Working {
				return v
			}
		case retentionMark:
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Trim(due.Stream)) })
			if !ok {
				return core.Working
			}
			if v := d.readMark(r, due); v != core.Working {
				return v
			}
		case retentionRows: // 2. Which sequence number is the first that has not expired.
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
			if !d.reach(r) {
				return core.Broken
			}
		case retentionFooter: // Inside an entry: at a chunk's boundary, and its footer knows those.
			entry := &d.straddler.Entries[d.entry]
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				o := core.Obj{Store: e.Stores.Home(entry.Class), Key: plan.ObjectOf(d.bucket, due.Stream, entry).Key()}
				return core.ReadRange(o, entry.Footer.Off, entry.Footer.Len)
			})
			if !ok {
				return core.Working
			}
			if v := d.boundary(r, due.Stream, entry); v != core.Working {
				return v
			}
			d.straddler, d.step = plan.Held{}, retentionTrim
		case retentionTrim: // 3. Raise the watermark, if the point is above it.
			if d.point <= d.watermark {
				d.step = retentionWalk
				continue
			}
			if !d.call.Sent() && d.cutoff > t.Now-d.maxAge { // the clock that took these records for old is right again
				return core.Again
			}
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				return core.Txn(core.If(d.stream), core.If(d.mark), core.Put(d.mark.Key, format.EncodeNumber(d.point)))
			})
			if !ok {
				return core.Working
			}
			switch r.Outcome {
			case core.OK:
				t.Note(core.NoteRetentionTrimmed, 1)
			case core.NoSpace: // what lies below the watermark that stands can go all the same
				d.point = d.watermark
			default:
				return core.Again
			}
			d.step = retentionWalk
		case retentionWalk: // 4. Retire what lies wholly below the point, in every pass.
			of := protocol.Retire{Bucket: d.bucket, ID: due.Stream, Stream: d.stream, Below: d.point}
			v := d.walk.Step(t, e, &of)
			if v == core.Working {
				return v
			}
			d.rest, d.why = d.walk.Rest, d.walk.Why
			d.walk = protocol.Walk{}
			if v != core.Done {
				return v
			}
			d.step = retentionShed
		case retentionShed: // The straddling catalog row sheds what is covered, and nothing else.
			shed, ws := d.shed(t.Now, e, due)
			if ws == nil {
				d.step = retentionRearm
				continue
			}
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Txn(ws...) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			d.rest.Row, d.rest.Rev, d.step = shed, r.Rev, retentionRearm
		case retentionRearm: // 5. The next expiry, and this marker with it.
			if !d.call.Sent() && t.Now < due.At { // it ran early, by a clock that was ahead
				return core.Again
			}
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				return due.Resolve(core.If(d.stream), core.Put(keys.DueRetention(due.Shard, d.next(t.Now), due.Stream), format.RetentionMark{Policy: d.policy}.Encode()))
			})
			if ok && r.Outcome == core.OK {
				t.Note(core.NoteRetentionRearmed, 1)
			}
			return settledBy(r, ok)
		case retentionResolve:
			r, ok := d.call.AwaitFunc(t, func() core.Op { return due.Resolve() })
			return settledBy(r, ok)
		}
	}
}

// judge looks at the descriptor; Working goes on.
func (d *Retention) judge(r *core.Reply, now core.Ms, due *Due) core.Verdict {
	if r.Outcome == core.Absent {
		d.step = retentionResolve
		return core.Working
	}
	if r.Outcome != core.OK {
		return core.Again
	}
	s, err := format.DecodeStream(r.Val)
	if err != nil {
		d.why = undecoded(keys.Stream(due.Stream), err)
		return core.Broken
	}
	m, err := format.DecodeRetentionMark(due.Row.Val)
	if err != nil {
		d.why = err.Error()
		return core.Broken
	}
	if s.Deleted || s.MaxAge == 0 || m.Policy != s.Policy {
		d.step = retentionResolve
		return core.Working
	}
	d.stream, d.bucket, d.maxAge = core.Mark{Key: keys.Stream(due.Stream), Rev: r.Rev}, s.Bucket, s.MaxAge
	d.policy = s.Policy
	d.cutoff, d.step = now-s.MaxAge, retentionMark
	return core.Working
}

func (d *Retention) readMark(r *core.Reply, due *Due) core.Verdict {
	if _, definite := r.Found(); !definite {
		return core.Again
	}
	d.mark = r.Row(keys.Trim(due.Stream)).Mark
	if d.mark.Rev != 0 {
		n, err := format.DecodeNumber(r.Val)
		if err != nil {
			d.why = undecoded(keys.Trim(due.Stream), err)
			return core.Broken
		}
		d.watermark = n
	}
	d.step = retentionRows
	return core.Working
}

// reach moves the point over one page of rows; it reports whether every row that
// it looked at decodes.
func (d *Retention) reach(r *core.Reply) bool {
	for i := range r.Rows {
		h, err := plan.Hold(r.Rows[i])
		if err != nil {
			d.why = err.Error() + ": restore it"
			return false
		}
		x := plan.Expire(&h.Row, d.cutoff)
		d.point, d.from = max(d.point, x.Point), h.End
		if x.Whole {
			continue
		}
		d.step = retentionTrim
		if x.Straddles {
			d.straddler, d.entry, d.step = h, x.Entry, retentionFooter
		}
		return true
	}
	if !r.More {
		d.step = retentionTrim
	}
	return true
}

// boundary moves the point into the straddling entry. A footer that is damaged or
// gone leaves it at the entry's first: the whole entry goes when all of it is old.
func (d *Retention) boundary(r *core.Reply, stream uint64, entry *format.Entry) core.Verdict {
	switch r.Outcome {
	case core.OK:
		if f, err := format.DecodeFooter(r.Val); err == nil {
			d.point = max(d.point, plan.Boundary(f, stream, max(entry.First, entry.LiveFrom), d.cutoff))
		}
	case core.Absent, core.Damaged, core.OutOfRange:
	default:
		return core.Again
	}
	return core.Working
}

// shed is the transaction by which the row that straddles the point loses what is
// below it, and what it loses is armed; nil if it loses nothing.
func (d *Retention) shed(now core.Ms, e *core.Env, due *Due) (format.Row, []core.Write) {
	if d.rest.Rev == 0 || d.rest.Kind != format.CatalogRow {
		return d.rest.Row, nil
	}
	kept, below := plan.Shed(&d.rest.Row, d.point)
	if len(below) == 0 {
		return d.rest.Row, nil
	}
	ws := []core.Write{core.If(d.stream), core.If(d.rest.Mark), core.Put(d.rest.Key, kept.Encode())}
	for i := range below {
		if b := &below[i]; !b.Lost {
			ws = append(ws, plan.ArmReap(&e.Dials, plan.ObjectOf(d.bucket, due.Stream, b).Key(), b, now))
		}
	}
	return kept, ws
}

// next is when the duty comes back: when the first of what survived expires, or
// one policy from now where nothing is covered by a ref.
func (d *Retention) next(now core.Ms) core.Ms {
	if d.rest.Rev == 0 {
		return now + d.maxAge
	}
	return max(plan.NextExpiry(&d.rest.Row, d.maxAge), now+1)
}
