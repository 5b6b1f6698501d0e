package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
)

// Due is a marker as its drain found it: what a duty is given at every step.
// The embedded key is that of due/, parsed.
type Due struct {
	keys.Due
	Row   core.Row // the marker as it was read: what a resolve compares
	Sched core.Row // denorm and orphan: the schedule row that led to it; its Due.At is the marker's
}

// Resolve is the transaction that resolves the marker as it was read, and with
// it whatever else must become true in the same instant: compares and writes.
// One of them may put the marker's own key; then the put alone replaces it.
func (d *Due) Resolve(with ...core.Write) core.Op {
	ws := make([]core.Write, 0, len(with)+3)
	ws = append(ws, core.If(d.Row.Mark))
	ws = appendDel(ws, d.Row.Key, with)
	if d.Sched.Key != "" {
		// An intent is moved on by its schedule row alone (its own revision is its
		// incarnation): without this compare, an auditor that read both rows before
		// another moved the schedule would leave the moved row behind, with no intent.
		if d.Queue == keys.Orphan {
			ws = append(ws, core.If(d.Sched.Mark))
		}
		ws = appendDel(ws, d.Sched.Key, with)
	}
	return core.Txn(append(ws, with...)...)
}

// appendDel deletes a key unless one of the writes puts it.
func appendDel(ws []core.Write, key string, with []core.Write) []core.Write {
	for i := range with {
		if w := &with[i]; w.At.Key == key && w.Verb != core.VIf {
			return ws
		}
	}
	return append(ws, core.Del(key))
}

// Run is one duty: it steps the duty's machine for one marker.
type Run[M any] func(m *M, t core.Turn, e *core.Env, due *Due) core.Verdict

// Drain empties one queue for ever: it scans what is ripe on the shards that
// this process holds, runs one duty a marker, DrainWidth abreast, moves what
// failed out of the way, and waits for the next ripe time (docs/protocols.md,
// section 8). A pass costs O(ripe): every scan ends at the time up to which the
// drain would wait.
type Drain[M any] struct {
	step   drainStep
	call   core.Call
	live   []string // auditors that are registered, in order; from the last pass that could read them
	now    core.Ms  // when the pass began: what is armed during it is the next pass's
	wake   core.Ms  // when the next pass begins
	looked core.Ms  // when the far end of the queue was last looked at
	far    farAhead
	shard  int
	after  string // the last key taken of the shard: what fails is behind us
	page   []Due  // ripe; the markers of one chain side by side
	lanes  []int  // where each lane's markers begin in page
	jobs   core.Group[job[M]]
	level  level
}

type drainStep uint8

const (
	drainBegin drainStep = iota
	drainPlace
	drainScan
	drainRun
	drainFar
	drainWait
)

// Step drains for ever.
func (d *Drain[M]) Step(t core.Turn, e *core.Env, q keys.Queue, run Run[M]) {
	for {
		switch d.step {
		default: // 1 to 3. One pass.
			if !d.Pass(t, e, q, run) {
				return
			}
			d.step = drainFar
		case drainFar: // 4. Once in a while, date anew what no clock that is right can have dated.
			if !d.lookFar(t, e, q) {
				return
			}
			d.step = drainWait
		case drainWait: // 5. Nothing is ripe: wait for the next ripe time.
			// A clock that was ahead as the pass began, and is right again, must not make it
			// sleep for as long as it was ahead.
			if _, ok := d.call.Await(t, core.Wait(min(d.wake, t.Now+e.Dials.PollEvery))); !ok {
				return
			}
			d.step = drainBegin
		}
	}
}

// Pass scans the queue once, from its beginning to now, and runs what is ripe. It
// reports whether the pass is over; the next call begins another.
func (d *Drain[M]) Pass(t core.Turn, e *core.Env, q keys.Queue, run Run[M]) bool {
	for {
		switch d.step {
		case drainBegin:
			d.now, d.wake = t.Now, t.Now+e.Dials.PollEvery
			d.shard, d.after, d.step = 0, "", drainPlace
		case drainPlace: // 1. Which shards are held. Without an answer: those that were.
			r, ok := d.call.AwaitFunc(t, auditors)
			if !ok {
				return false
			}
			if r.Outcome == core.OK {
				d.live = registered(r.Rows)
			}
			d.step = drainScan
		case drainScan: // 2. A page of ripe rows, across the shards held.
			if !d.scan(t, e, q) {
				return false
			}
			d.page, d.lanes = lanes(q, d.page)
			d.step = drainRun
		case drainRun: // 3. One duty a marker, abreast; what fails moves out of the way.
			if !d.jobs.Run(t, len(d.lanes), width(e, q), func(i int, j *job[M], t core.Turn) bool {
				return j.step(t, e, q, d.lane(i), run, &d.level)
			}) {
				return false
			}
			d.jobs, d.page, d.lanes = core.Group[job[M]]{}, nil, nil
			d.step = drainScan
			if d.shard >= e.Dials.Shards {
				t.NoteOf(core.NoteBacklog, int64(d.level.ripe), q.String())
				t.NoteOf(core.NoteOldest, int64(d.level.oldest), q.String())
				d.step, d.level = drainBegin, level{}
				return true
			}
		default:
			panic("duty: a pass inside a drain's wait")
		}
	}
}

// scan fills the page; it reports whether the page is full or the shards are
// through.
func (d *Drain[M]) scan(t core.Turn, e *core.Env, q keys.Queue) bool {
	for d.shard < e.Dials.Shards && len(d.page) < pageSize(e, q) {
		if !holds(d.live, e.Process, d.shard) {
			d.shard++
			continue
		}
		r, ok := d.call.AwaitFunc(t, func() core.Op {
			from, end := keys.RipeRange(q, d.shard, scheduled(e, q, d.now+e.Dials.PollEvery))
			if d.after != "" {
				from = d.after + "\x00"
			}
			return core.Scan(from, end, pageSize(e, q))
		})
		if !ok {
			return false
		}
		if r.Outcome != core.OK || !d.take(t, e, q, r.Rows) || !r.More {
			d.shard, d.after = d.shard+1, "" // without an answer: the next pass asks again
		}
	}
	return true
}

// take adds the ripe rows to the page, and reports whether more may follow them.
func (d *Drain[M]) take(t core.Turn, e *core.Env, q keys.Queue, rows []core.Row) bool {
	page := d.page[:len(d.page):len(d.page)]
	defer func() { d.page = page }()
	for i := range rows {
		row := &rows[i]
		d.after = row.Key
		k, err := keys.ParseDue(row.Key)
		if err != nil {
			t.NoteOf(core.NoteForeign, 1, row.Key) // not ours to move
			continue
		}
		if at := readyAt(e, &k, row); at > d.now {
			d.wake = min(d.wake, at)
			if q == keys.GC {
				continue // ordered by size
			}
			return false
		}
		due := Due{Due: k, Row: *row}
		if q.Scheduled() {
			due = Due{Due: k, Sched: *row}
			due.Due.Sched = false
		}
		page = append(page, due)
	}
	return len(rows) > 0
}

func (d *Drain[M]) lane(i int) []Due {
	end := len(d.page)
	if i+1 < len(d.lanes) {
		end = d.lanes[i+1]
	}
	return d.page[d.lanes[i]:end]
}

// lanes puts the markers of one chain side by side, in the order in which they
// were found, and says where each lane begins. One era and one settlement run on
// a chain at a time, so its markers take turns in one lane: the second finds done
// what the first was for. Elsewhere each has its own.
func lanes(q keys.Queue, page []Due) (ordered []Due, begins []int) {
	ordered = make([]Due, 0, len(page))
	taken := make([]bool, len(page))
	for i := range page {
		if taken[i] {
			continue
		}
		begins = append(begins, len(ordered))
		ordered = append(ordered, page[i])
		if q != keys.Denorm && q != keys.Settle {
			continue
		}
		for j := i + 1; j < len(page); j++ {
			if page[j].Epoch == page[i].Epoch && page[j].Star == page[i].Star {
				ordered, taken[j] = append(ordered, page[j]), true
			}
		}
	}
	return ordered, begins
}

// lookFar looks, once in a while, for what is dated too far ahead.
func (d *Drain[M]) lookFar(t core.Turn, e *core.Env, q keys.Queue) bool {
	if q == keys.GC || d.looked != 0 && t.Now >= d.looked && t.Now-d.looked < e.Dials.BackoffMax && d.far.idle() {
		return true
	}
	if !d.far.look(t, e, q, d.live) {
		return false
	}
	d.looked = t.Now
	return true
}

// scheduled is the time that a row ripe at a time carries in its key: orphan's
// schedule is by birth.
func scheduled(e *core.Env, q keys.Queue, at core.Ms) core.Ms {
	if q == keys.Orphan {
		return at - e.Dials.OrphanGrace
	}
	return at
}

// readyAt is when a scanned row is ripe.
func readyAt(e *core.Env, k *keys.Due, row *core.Row) core.Ms {
	switch k.Queue {
	case keys.Orphan:
		return k.At + e.Dials.OrphanGrace
	case keys.GC:
		return gcReady(row.Val)
	}
	return k.At
}

// ripe is when the marker was ripe; a GC marker that never failed has no such
// time.
func (d *Due) ripe(e *core.Env) core.Ms {
	switch d.Queue {
	case keys.GC:
		if at := gcReady(d.Row.Val); at != 0 {
			return at
		}
		return maxMs
	case keys.Orphan:
		return d.At + e.Dials.OrphanGrace
	}
	return d.At
}

const maxMs = core.Ms(1<<63 - 1)

// level is what a pass found: how many markers were ripe, and by how long the
// oldest was overdue.
type level struct {
	ripe   int32
	oldest core.Ms
}

// add counts a marker. One that failed has been moved on since it first ripened:
// by all its pauses, which follow from how often it failed.
func (l *level) add(overdue core.Ms, a format.Attempts, e *core.Env) {
	all, _ := Failures(a)
	overdue = max(overdue, 0)
	for i := range all {
		overdue += plan.Backoff(&e.Dials, format.Attempts(i))
	}
	l.ripe++
	l.oldest = max(l.oldest, overdue)
}

// reapAbreast is how many times DrainWidth reap-checks run abreast: most of one's
// time is a footer read, and their deletes leave in requests of up to DeleteBatch.
const reapAbreast = 8

func width(e *core.Env, q keys.Queue) int {
	switch q {
	case keys.Teardown:
		return e.Dials.TeardownWidth
	case keys.Reap:
		return e.Dials.DrainWidth * reapAbreast
	}
	return e.Dials.DrainWidth
}

func pageSize(e *core.Env, q keys.Queue) int {
	switch q {
	case keys.Teardown:
		return e.Dials.TeardownGroup
	case keys.Reap:
		return max(e.Dials.DeleteBatch, e.Dials.ScanPage)
	}
	return e.Dials.ScanPage
}
