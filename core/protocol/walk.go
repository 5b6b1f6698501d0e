package protocol

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
)

// Retire says which rows a Walk retires.
type Retire struct {
	Bucket string    // the stream's namespace: its objects' keys carry it
	ID     uint64    // the stream
	Stream core.Mark // its descriptor or tombstone, as it was read: every kill compares it
	Below  uint64    // rows that end at or below this sequence number go
}

// Walk retires the rows of one stream that lie wholly below a point, page by
// page: the kill that teardown and retention share. The reap-check of every
// object that a row names is armed in the very transaction in which the row goes
// (Dials.EntriesPerRow sees to it that they fit): a walk that armed first and was
// then paused would kill after its reap-checks had met live spans and stood down.
// Refs into chain slots just go: the slots' batch marker watches them.
//
// Every row is compared as it was read. An entry that a GC moved to another
// object in between would take that object down with it, unwatched.
//
// Done: no row stands wholly below the point, and Rest is the first that stands
// (Rev 0: none). Again: nothing definite, or a race was lost, or the metastore is
// out of space and rows that name objects had to stay. Broken: a row does not
// decode; nothing from it on was touched.
type Walk struct {
	step    walkStep
	call    core.Call
	from    uint64      // the page begins at the row that ends here or above
	rows    []plan.Held // of the page, wholly below the point; immutable
	broken  bool        // the row after them does not decode
	noSpace bool        // puts are refused: only rows that name no object can go

	Rest    plan.Held
	Retired int    // rows
	Why     string // Broken: which row, for the operator
}

type walkStep uint8

const (
	walkScan walkStep = iota
	walkKill
)

// walkWrites is how many writes one transaction of a walk has at most: a row and
// the reap-checks of all that it names, and what else fits.
const walkWrites = core.MaxEntriesPerRow + 1

// Step walks.
func (w *Walk) Step(t core.Turn, e *core.Env, of *Retire) core.Verdict {
	for {
		switch w.step {
		case walkScan: // The next page, from the front: what was retired is gone.
			r, ok := w.call.AwaitFunc(t, func() core.Op {
				from, end := keys.RefRange(of.ID, w.from)
				return core.Scan(from, end, e.Dials.ScanPage)
			})
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			w.take(r, of.Below)
			if len(w.rows) == 0 {
				return w.verdict()
			}
			w.step = walkKill
		case walkKill:
			n, ws := w.kill(of, t.Now, &e.Dials)
			if n == 0 { // out of space, and none of these rows can go
				w.skip()
				continue
			}
			r, ok := w.call.AwaitFunc(t, func() core.Op { return core.Txn(ws...) })
			if !ok {
				return core.Working
			}
			switch {
			case r.Outcome == core.NoSpace && !w.noSpace:
				w.noSpace = true
			case r.Outcome != core.OK:
				return core.Again
			default:
				w.killed(n)
			}
		}
	}
}

// take keeps the page's rows that lie wholly below the point.
func (w *Walk) take(r *core.Reply, below uint64) {
	w.rows, w.Rest = nil, plan.Held{}
	for i := range r.Rows {
		h, err := plan.Hold(r.Rows[i])
		if err != nil {
			w.broken, w.Why = true, err.Error()+": restore it"
			return
		}
		if h.End > below {
			w.Rest = h
			return
		}
		w.rows = append(w.rows, h)
	}
}

func (w *Walk) verdict() core.Verdict {
	switch {
	case w.broken:
		return core.Broken
	case w.from > 0: // some rows had to stay
		return core.Again
	}
	return core.Done
}

// arms are the reap-checks of a row's objects.
func arms(row *plan.Held, of *Retire, now core.Ms, d *core.Dials) (ws []core.Write) {
	for i := range row.Entries {
		if e := &row.Entries[i]; !e.Lost {
			ws = append(ws, plan.ArmReap(d, plan.ObjectOf(of.Bucket, of.ID, e).Key(), e, now))
		}
	}
	return ws
}

// kill is one transaction over the first n rows: each goes, and what it names is
// armed.
func (w *Walk) kill(of *Retire, now core.Ms, d *core.Dials) (n int, ws []core.Write) {
	ifs, thens := []core.Write{core.If(of.Stream)}, []core.Write(nil)
	for i := range w.rows {
		row := &w.rows[i]
		if w.noSpace && row.Kind != format.SpanRow {
			break
		}
		arms := arms(row, of, now, d)
		if len(thens)+len(arms)+1 > walkWrites && n > 0 {
			break
		}
		ifs = append(ifs, core.If(row.Mark))
		thens = append(append(thens, arms...), core.Del(row.Key))
		n++
	}
	return n, append(ifs, thens...)
}

// killed goes on behind the rows that went.
func (w *Walk) killed(n int) {
	w.Retired += n
	w.rows = w.rows[n:]
	if len(w.rows) == 0 {
		w.step = walkScan
	}
}

// skip leaves rows that cannot go without a put, and goes on behind them.
func (w *Walk) skip() {
	for len(w.rows) > 0 && w.rows[0].Kind != format.SpanRow {
		w.from, w.rows = w.rows[0].End, w.rows[1:]
	}
	if w.step = walkKill; len(w.rows) == 0 {
		w.step = walkScan
	}
}
