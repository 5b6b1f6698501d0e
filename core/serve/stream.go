package serve

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// descriptor reads a stream's descriptor for the verbs. Done means that the row
// is there, decodes, and is no tombstone; otherwise reason says what it is.
func descriptor(re *core.Reply, id uint64) (row core.Row, s format.Stream, reason Reason, v core.Verdict) {
	row = re.Row(keys.Stream(id))
	switch re.Outcome {
	case core.OK:
	case core.Absent:
		return row, s, NoStream, core.Done
	default:
		return row, s, Undecided, core.Again
	}
	s, err := format.DecodeStream(re.Val)
	switch {
	case err != nil:
		return row, s, Damaged, core.Done
	case s.Deleted:
		return row, s, Deleted, core.Done
	}
	return row, s, None, core.Done
}

// SetPolicy changes a stream's age policy, and arms retention in the same
// transaction if the stream has a ref already; the absorb that writes its first
// does it otherwise. 0 lifts it: the standing marker resolves itself.
//
// Done: Reason says how. Again: nothing definite.
type SetPolicy struct {
	step  verbStep
	call  core.Call
	tries uint8
	row   core.Row
	desc  format.Stream
	clock core.Write // arms retention; or holds that there is no ref yet

	Reason Reason
}

type verbStep uint8

const (
	verbRead verbStep = iota
	verbName
	verbWriter
	verbMark
	verbWrite
	verbDone
)

// Step sets the policy.
func (p *SetPolicy) Step(t core.Turn, e *core.Env, id uint64, maxAge core.Ms) core.Verdict {
	for {
		switch p.step {
		case verbRead:
			if !policyFits(e, maxAge) {
				return p.end(BadPolicy)
			}
			re, ok := p.call.Await(t, core.Get(keys.Stream(id)))
			if !ok {
				return core.Working
			}
			row, desc, reason, v := descriptor(re, id)
			switch {
			case v == core.Again:
				return core.Again
			case reason != None:
				return p.end(reason)
			case desc.MaxAge == maxAge:
				return p.end(None) // its clock runs already
			}
			// The clock of the policy before, wherever it stands, is superseded: two would
			// tick for ever.
			desc.MaxAge, desc.Policy = maxAge, desc.Policy+1
			p.row, p.desc, p.step = row, desc, verbWriter
		case verbWriter: // Is there a ref yet?
			re, ok := p.call.Await(t, core.Get(keys.Writer(id)))
			if !ok {
				return core.Working
			}
			there, definite := re.Found()
			if !definite {
				return core.Again
			}
			w := format.Writer{}
			if there {
				var err error
				if w, err = format.DecodeWriter(re.Val); err != nil {
					return p.end(Damaged)
				}
			}
			p.clock, p.step = core.If(re.Row(keys.Writer(id)).Mark), verbWrite
			if w.End > 0 {
				key := keys.DueRetention(keys.ShardOfStream(id, e.Dials.Shards), t.Now+maxAge, id)
				p.clock = core.Put(key, format.RetentionMark{Policy: p.desc.Policy}.Encode())
			}
		case verbWrite:
			re, ok := p.call.AwaitFunc(t, func() core.Op {
				ws := []core.Write{core.If(p.row.Mark), core.Put(p.row.Key, p.desc.Encode())}
				if maxAge > 0 {
					ws = append(ws, p.clock)
				}
				return core.Txn(ws...)
			})
			if !ok {
				return core.Working
			}
			if re.Outcome == core.OK {
				return p.end(None)
			}
			if p.tries++; p.tries == verbTries || !retriable(re.Outcome) {
				return core.Again
			}
			p.step = verbRead
		default:
			return core.Done
		}
	}
}

func (p *SetPolicy) end(r Reason) core.Verdict {
	*p = SetPolicy{step: verbDone, Reason: r}
	return core.Done
}

// retriable reports whether reading again can tell what a transaction did.
func retriable(o core.Outcome) bool { return o == core.Conflict || o == core.Unknown }

// Delete deletes a stream: its descriptor becomes the tombstone, its address is
// free, and a teardown is due, in one transaction (C19, C44).
//
// Done: Reason is None (it was deleted by this call), Deleted (it was before, or
// by an attempt whose reply was lost), NoStream or Damaged. Again: nothing
// definite.
type Delete struct {
	step  verbStep
	call  core.Call
	tries uint8
	row   core.Row
	desc  format.Stream
	name  core.Row

	Reason Reason
}

// Step deletes the stream.
func (d *Delete) Step(t core.Turn, e *core.Env, id uint64) core.Verdict {
	for {
		switch d.step {
		case verbRead:
			re, ok := d.call.Await(t, core.Get(keys.Stream(id)))
			if !ok {
				return core.Working
			}
			row, desc, reason, v := descriptor(re, id)
			switch {
			case v == core.Again:
				return core.Again
			case reason != None:
				return d.end(reason)
			}
			d.row, d.desc, d.step = row, desc, verbName
		case verbName:
			re, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Name(d.desc.Bucket, d.desc.Name)) })
			if !ok {
				return core.Working
			}
			if _, definite := re.Found(); !definite {
				return core.Again
			}
			d.name, d.step = re.Row(keys.Name(d.desc.Bucket, d.desc.Name)), verbWrite
		case verbWrite:
			re, ok := d.call.AwaitFunc(t, func() core.Op {
				s := d.desc
				s.Deleted, s.DeletedAt = true, t.Now
				marker := keys.DueTeardown(keys.ShardOfStream(id, e.Dials.Shards), t.Now, id, false)
				ws := []core.Write{
					core.If(d.row.Mark), core.If(d.name.Mark),
					core.Put(d.row.Key, s.Encode()),
					core.Put(marker, format.TeardownMark{DeletedAt: t.Now}.Encode()),
				}
				if n, err := format.DecodeNumber(d.name.Val); err == nil && n == id { // never another stream's address
					ws = append(ws, core.Del(d.name.Key))
				}
				return core.Txn(ws...)
			})
			if !ok {
				return core.Working
			}
			if re.Outcome == core.OK {
				return d.end(None)
			}
			if d.tries++; d.tries == verbTries || !retriable(re.Outcome) {
				return core.Again
			}
			d.step = verbRead
		default:
			return core.Done
		}
	}
}

func (d *Delete) end(r Reason) core.Verdict {
	*d = Delete{step: verbDone, Reason: r}
	return core.Done
}

// Trim raises a stream's watermark: records below it are gone at once for every
// reader. It moves nothing else and arms nothing.
//
// Done: Reason is None and Mark is the watermark, which may be higher already; or
// BeyondEnd and Mark is the end of what is absorbed: what was acknowledged since
// can be trimmed once it is absorbed. Again: nothing definite.
type Trim struct {
	step  verbStep
	call  core.Call
	tries uint8
	row   core.Row
	mark  core.Row

	Mark   uint64
	Reason Reason
}

// Step raises the watermark to a sequence number.
func (m *Trim) Step(t core.Turn, _ *core.Env, id, to uint64) core.Verdict {
	for {
		switch m.step {
		case verbRead:
			re, ok := m.call.Await(t, core.Get(keys.Stream(id)))
			if !ok {
				return core.Working
			}
			row, _, reason, v := descriptor(re, id)
			switch {
			case v == core.Again:
				return core.Again
			case reason != None:
				return m.end(reason, 0)
			}
			m.row, m.step = row, verbWriter
		case verbWriter:
			re, ok := m.call.Await(t, core.Get(keys.Writer(id)))
			if !ok {
				return core.Working
			}
			end := uint64(0)
			if there, definite := re.Found(); !definite {
				return core.Again
			} else if there {
				w, err := format.DecodeWriter(re.Val)
				if err != nil {
					return m.end(Damaged, 0)
				}
				end = w.End
			}
			if to > end {
				return m.end(BeyondEnd, end)
			}
			m.step = verbMark
		case verbMark:
			re, ok := m.call.Await(t, core.Get(keys.Trim(id)))
			if !ok {
				return core.Working
			}
			if _, definite := re.Found(); !definite {
				return core.Again
			}
			m.mark = re.Row(keys.Trim(id))
			if m.mark.Rev != 0 {
				n, err := format.DecodeNumber(m.mark.Val)
				if err != nil {
					return m.end(Damaged, 0)
				}
				if n >= to {
					return m.end(None, n)
				}
			}
			m.step = verbWrite
		case verbWrite:
			re, ok := m.call.AwaitFunc(t, func() core.Op {
				return core.Txn(core.If(m.row.Mark), core.If(m.mark.Mark), core.Put(m.mark.Key, format.EncodeNumber(to)))
			})
			if !ok {
				return core.Working
			}
			if re.Outcome == core.OK {
				return m.end(None, to)
			}
			if m.tries++; m.tries == verbTries || !retriable(re.Outcome) {
				return core.Again
			}
			m.step = verbRead
		default:
			return core.Done
		}
	}
}

func (m *Trim) end(r Reason, at uint64) core.Verdict {
	*m = Trim{step: verbDone, Mark: at, Reason: r}
	return core.Done
}
