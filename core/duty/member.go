package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
	"nova/core/protocol"
)

// memberJob is what an era wants of one stream.
type memberJob struct {
	star    string
	epoch   uint64
	id      uint64
	until   uint64             // after the stream's last record in the batch
	trigger int64              // a window of fewer bytes is residue; 0: take everything
	latest  core.Ms            // from then on it stops once the batch is covered
	lease   core.Mark          // the chain's
	batch   []format.Inventory // the batch's slots
}

// member settles one stream's whole transit window on one chain: spans of every
// batch of its standing run, output by output, each under the rewrite commit
// protocol (specification, duties: Settle rewrite, step 3).
type member struct {
	step      memberStep
	call      core.Call
	stream    core.Mark
	bucket    string
	watermark uint64
	from      uint64      // the next page begins at the row that ends there or above
	before    plan.Held   // the catalog row right before rows
	rows      []plan.Held // of the chain, from the first that stands; immutable
	bytes     int64       // of rows
	chunks    int
	whole     bool // rows reach to the end of what stands
	window    plan.Window
	rewrite   protocol.Rewrite
	moved     bool   // an output is committed: the trigger was met
	seen      uint64 // where the chain's rows ended when first seen whole: a live writer adds more
	stop      uint64 // the row that begins here names a slot that is gone; with gone
	gone      string // the slot's object key; "": none is
	noFill    bool   // the tail object is gone: what is settled starts a new one
	tries     uint8

	covered uint64         // no row of the chain that ends at or below it stands
	residue bool           // the trigger was not met
	fault   protocol.Fault // Broken: why
}

type memberStep uint8

const (
	memberStream memberStep = iota
	memberMark
	memberRows
	memberChoose
	memberRetire
	memberSettle
)

// memberTries bounds how often a lost compare is derived anew at once.
const memberTries = 2

// Step settles the window. Done: covered says how far, or residue that it was too
// small; Again and Broken: what is committed stays committed.
func (m *member) Step(t core.Turn, e *core.Env, j *memberJob, w *warming) core.Verdict {
	for {
		switch m.step {
		case memberStream: // The descriptor, read before the rows: every commit compares it.
			r, ok := m.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Stream(j.id)) })
			if !ok {
				return core.Working
			}
			if v := m.describe(t, r, j); v != core.Working {
				return v
			}
		case memberMark:
			r, ok := m.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Trim(j.id)) })
			if !ok {
				return core.Working
			}
			if v := m.readMark(r); v != core.Working {
				return v
			}
		case memberRows: // The rows: the catalog's last, and the chain's from its first.
			r, ok := m.call.AwaitFunc(t, func() core.Op {
				from, end := keys.RefRange(j.id, m.from)
				if n := len(m.rows); n > 0 {
					from, end = keys.RefRange(j.id, m.rows[n-1].End)
				}
				return core.Scan(from, end, e.Dials.ScanPage)
			})
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			if !m.take(r, e, j) {
				return core.Broken
			}
		case memberChoose: // The window of the next output.
			v, done := m.choose(t, e, j)
			if done {
				return v
			}
			if m.step == memberSettle {
				w.want(e, &m.window.Output)
			}
		case memberRetire: // Wholly below the watermark: nothing of it is copied.
			r, ok := m.call.AwaitFunc(t, func() core.Op { return core.Txn(plan.RetireWrites(m.stream, j.lease, m.window.Rows)...) })
			if !ok {
				return core.Working
			}
			switch {
			case r.Outcome == core.OK:
				t.Note(core.NoteMemberTrimmed, 1)
				m.covered = max(m.covered, m.window.Rows[len(m.window.Rows)-1].End)
				m.again()
			case r.Outcome == core.Conflict && m.tries < memberTries:
				m.tries++
				m.again()
			default:
				return core.Again
			}
		case memberSettle: // Publish, commit, resolve the intent.
			v := m.rewrite.Step(t, e, &m.window.Output, j.lease)
			if v == core.Working {
				return v
			}
			if v, done := m.settled(t, v, j); done {
				return v
			}
		}
	}
}

// again derives the next window from what stands now.
func (m *member) again() {
	*m = member{moved: m.moved, seen: m.seen, stop: m.stop, gone: m.gone, noFill: m.noFill, tries: m.tries, covered: m.covered}
	if m.covered > 0 { // the catalog row that was put last is the next window's Before
		m.from = m.covered - 1
	}
}

func (m *member) describe(t core.Turn, r *core.Reply, j *memberJob) core.Verdict {
	present, definite := r.Found()
	if !definite {
		return core.Again
	}
	if !present || tombstone(r.Val) { // its spans belong to teardown
		t.Note(core.NoteMemberTombstoned, 1)
		m.covered = ^uint64(0)
		return core.Done
	}
	s, err := format.DecodeStream(r.Val)
	if err != nil {
		return core.Broken
	}
	m.stream, m.bucket, m.step = core.Mark{Key: keys.Stream(j.id), Rev: r.Rev}, s.Bucket, memberMark
	return core.Working
}

func (m *member) readMark(r *core.Reply) core.Verdict {
	present, definite := r.Found()
	if !definite {
		return core.Again
	}
	if present {
		n, err := format.DecodeNumber(r.Val)
		if err != nil {
			return core.Broken
		}
		m.watermark = n
	}
	m.step = memberRows
	return core.Working
}

// take folds a page into before and rows. It reports false where a row does not
// decode: what is behind it is not touched.
func (m *member) take(r *core.Reply, e *core.Env, j *memberJob) bool {
	rows := m.rows[:len(m.rows):len(m.rows)]
	for i := range r.Rows {
		h, err := plan.Hold(r.Rows[i])
		if err != nil {
			return false
		}
		mine := h.Kind == format.SpanRow && h.Star == j.star && h.Epoch == j.epoch
		switch {
		case mine && (m.gone == "" || h.First < m.stop):
			rows = append(rows, h)
			m.chunks += len(h.Spans)
			for k := range h.Spans {
				m.bytes += h.Spans[k].Chunk.Len
			}
			if m.bytes <= e.Dials.OutputCap && m.chunks <= e.Dials.OutputChunks {
				continue
			}
		case mine: // at the row whose source is gone
		case len(rows) == 0:
			m.from = h.End
			if m.before = (plan.Held{}); h.Kind == format.CatalogRow {
				m.before = h
			}
			continue
		}
		m.rows, m.step = rows, memberChoose // the window ends here, at the latest
		return true
	}
	if m.rows = rows; !r.More {
		m.whole, m.step = true, memberChoose
	}
	return true
}

// choose decides what to do with the rows; done, with a verdict, where nothing is.
func (m *member) choose(t core.Turn, e *core.Env, j *memberJob) (v core.Verdict, done bool) {
	trigger := j.trigger
	if m.moved {
		trigger = 0
	}
	if m.noFill {
		m.before = plan.Held{}
	}
	w, err := plan.Choose(&e.Dials, &e.Stores, &plan.Choice{
		Bucket: m.bucket, ID: j.id, Stream: m.stream, Watermark: m.watermark, Before: m.before, Rows: m.rows, Trigger: trigger,
	})
	if err != nil {
		return core.Broken, true
	}
	if n := len(m.rows); m.whole && m.seen == 0 && n > 0 {
		m.seen = m.rows[n-1].End
	}
	m.rows = nil
	switch w.Act {
	case plan.ActNone:
		if m.gone != "" && m.covered < j.until {
			return m.blocked(j), true
		}
		m.covered = max(m.covered, j.until)
		return core.Done, true
	case plan.ActResidue:
		t.Note(core.NoteResidue, 1)
		m.residue = true
		return core.Done, true
	case plan.ActRetire:
		m.window, m.step = w, memberRetire
	case plan.ActSettle:
		m.window, m.step = w, memberSettle
	}
	return core.Working, false
}

// settled takes the verdict of one output; done, with the member's, where it is
// the last.
func (m *member) settled(t core.Turn, v core.Verdict, j *memberJob) (core.Verdict, bool) {
	o, du := &m.window.Output, &m.rewrite.Durable
	if v == core.Broken {
		return m.broken(t, o, j)
	}
	if v == core.Again && m.tries < memberTries { // derived anew at once: it may have been deleted meanwhile
		m.tries++
		m.again()
		return core.Working, false
	}
	if v != core.Done {
		return v, true
	}
	spans, bytes := 0, int64(0)
	for i := range o.Claims {
		if c := &o.Claims[i]; c.Row < du.Rows {
			spans++
			if c.Source >= 0 {
				bytes += c.Chunk.Len
			}
		}
	}
	t.Note(core.NoteSettleOutput, 1)
	t.Note(core.NoteSettleSpans, int64(spans))
	t.Note(core.NoteSettleBytes, bytes)
	if du.Rows > 0 {
		m.covered = max(m.covered, o.Rows[du.Rows-1].End)
	} else if m.tries++; m.tries > memberTries {
		return core.Again, true
	}
	m.moved = true
	if m.covered >= j.until && (m.seen != 0 && m.covered >= m.seen || t.Now >= j.latest) {
		return core.Done, true
	}
	m.again()
	return core.Working, false
}

// broken takes an output that cannot be made. Where the tail object is gone, it is
// reported and left as it is named (its store may be the wrong one), and a new one
// is begun. Where a slot is gone, the rows before the first that names it can still
// be settled; then the batch that the slot belongs to decides.
func (m *member) broken(t core.Turn, o *plan.Output, j *memberJob) (core.Verdict, bool) {
	m.fault = m.rewrite.Fault
	switch {
	case m.fault != protocol.SourceGone:
		return core.Broken, true
	case o.Revise && m.rewrite.Source == 0:
		t.NoteOf(core.NoteLost, int64(o.Base().Count), o.BaseKey().Key())
		m.noFill = true
		m.again()
		return core.Working, false
	}
	for i := range o.Claims {
		if c := &o.Claims[i]; c.Source == m.rewrite.Source {
			m.stop, m.gone = o.Rows[c.Row].First, o.Sources[c.Source].At[0].Key
			m.again()
			return core.Working, false
		}
	}
	return core.Broken, true
}

// blocked is the verdict of a member whose next row names a slot that is gone:
// definite, if the slot is of this batch; otherwise its own batch's marker must
// come first.
func (m *member) blocked(j *memberJob) core.Verdict {
	m.fault = protocol.SourceGone
	_, _, slot, err := keys.ParseSlot(m.gone)
	for i := range j.batch {
		if err == nil && j.batch[i].Slot == slot {
			return core.Broken
		}
	}
	return core.Again
}
