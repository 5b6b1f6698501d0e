package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
)

// farAhead looks beyond what a marker of a queue can honestly be ripe at, on the
// shards that are held, and dates what it finds there anew, as if it had been
// armed now (gap 11): armed by a clock that was years ahead, it would not ripen
// for years, and what it watches would stand for as long. One page a shard and
// look; the rest is found by the next.
type farAhead struct {
	step  farStep
	call  core.Call
	shard int
	page  []core.Row // what stands too far ahead; immutable
	at    int
	row   core.Row // denorm and orphan: the marker, read anew
}

type farStep uint8

const (
	farScan farStep = iota
	farNext
	farLoad
	farMove
)

// idle reports whether no look is under way.
func (f *farAhead) idle() bool { return f.step == farScan && f.shard == 0 && !f.call.Sent() }

// look reports whether every shard that is held was looked at.
func (f *farAhead) look(t core.Turn, e *core.Env, q keys.Queue, live []string) bool {
	for {
		switch f.step {
		case farScan:
			if f.shard >= e.Dials.Shards {
				*f = farAhead{}
				return true
			}
			if !holds(live, e.Process, f.shard) {
				f.shard++
				continue
			}
			r, ok := f.call.AwaitFunc(t, func() core.Op { return beyond(t.Now, e, q, f.shard) })
			if !ok {
				return false
			}
			f.page, f.at, f.step = r.Rows, 0, farNext
		case farNext: // By compare: what changed meanwhile is taken as it is, and seen again if it must.
			if f.at >= len(f.page) {
				f.page, f.shard, f.step = nil, f.shard+1, farScan
				continue
			}
			t.NoteOf(core.NoteFarAhead, 1, f.page[f.at].Key)
			if f.step = farMove; q.Scheduled() {
				f.step = farLoad
			}
		case farLoad: // A schedule row only leads to its marker.
			due, err := f.due(q)
			if err != nil {
				f.done() // not ours to move
				continue
			}
			r, ok := f.call.AwaitFunc(t, func() core.Op { return core.Get(due.Key()) })
			if !ok {
				return false
			}
			if _, definite := r.Found(); !definite {
				f.done()
				continue
			}
			f.row, f.step = r.Row(due.Key()), farMove
		case farMove:
			due, err := f.due(q)
			far := err == nil && due.ripe(e) > t.Now+plan.Farthest(&e.Dials, q)
			if !far && !f.call.Sent() { // not ours to move; or the clock has come nearer since
				f.done()
				continue
			}
			if _, ok := f.call.AwaitFunc(t, func() core.Op { return redated(t.Now, e, &due) }); !ok {
				return false
			}
			f.done()
		}
	}
}

func (f *farAhead) done() { f.row, f.at, f.step = core.Row{}, f.at+1, farNext }

// due is the marker at hand.
func (f *farAhead) due(q keys.Queue) (Due, error) {
	row := f.page[f.at]
	k, err := keys.ParseDue(row.Key)
	due := Due{Due: k, Row: row}
	if q.Scheduled() {
		due = Due{Due: k, Row: f.row, Sched: row}
		due.Due.Sched = false
	}
	return due, err
}

// beyond scans what stands further ahead than a marker can honestly be.
func beyond(now core.Ms, e *core.Env, q keys.Queue, shard int) core.Op {
	_, from := keys.RipeRange(q, shard, scheduled(e, q, now+plan.Farthest(&e.Dials, q)))
	_, end := keys.DueAll(q, shard)
	if q.Scheduled() {
		_, end = keys.SchedAll(q, shard)
	}
	return core.Scan(from, end, e.Dials.ScanPage)
}

// redated is the transaction that dates a marker anew. Nothing is cut short by it,
// whichever of the two clocks was wrong: what the time of a marker stands for is
// waited for again. A confirmed reap-check becomes an unconfirmed one, since when
// it was confirmed nobody knows; a batch is born again; every other duty judges
// for itself, by what it reads, whether its time has come.
func redated(now core.Ms, e *core.Env, due *Due) core.Op {
	at, val := now, due.Row.Val
	switch due.Queue {
	case keys.Denorm:
		return reborn(now, e, due)
	case keys.Orphan:
		if due.Row.Rev == 0 {
			return straighten(due)
		}
		ws := []core.Write{core.If(due.Row.Mark), core.If(due.Sched.Mark)}
		return core.Txn(reschedule(ws, due.Sched.Key, keys.SchedOrphan(due.Shard, now, due.Object), due.Sched.Val)...)
	case keys.Reap:
		at = e.Dials.GraceEnd(now)
		if m, err := format.DecodeReapMark(val); err == nil {
			m.Confirmed = false
			val = m.Encode()
		}
	case keys.Teardown:
		if due.Final {
			at += e.Dials.Quiesce
		}
	}
	k := due.Due
	k.At = at
	return core.Txn(core.If(due.Row.Mark), core.Missing(k.Key()), core.Del(due.Row.Key), core.Put(k.Key(), val))
}

// reborn dates a batch marker anew, with its schedule row.
func reborn(now core.Ms, e *core.Env, due *Due) core.Op {
	m, err := format.DecodeBatchMark(due.Row.Val)
	switch {
	case due.Row.Rev != 0 && err != nil: // it runs, and is parked with that reason
		ws := []core.Write{core.If(due.Row.Mark), core.If(due.Sched.Mark)}
		return core.Txn(reschedule(ws, due.Sched.Key, schedule(due, now), "")...)
	case err != nil || m.Parked || m.Ready != due.At:
		return straighten(due)
	}
	m.Birth, m.Ready = now, plan.Ready(&e.Dials, m.Class, now, m.Crossing)
	ws := []core.Write{core.If(due.Row.Mark), core.Put(due.Row.Key, m.Encode())}
	return core.Txn(reschedule(ws, due.Sched.Key, schedule(due, m.Ready), "")...)
}
