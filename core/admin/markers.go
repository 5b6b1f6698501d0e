package admin

import (
	"nova/core"
	"nova/core/keys"
)

// markerWalk resolves what stands of a star in the queues of settle and
// trim-check, and what of it is parked, once every chain of the star is through:
// those markers have nothing left to do, whenever they would ripen. It reads the
// queues whole, page by page; they hold about one marker a chain.
//
// A duty that works on a marker meanwhile may put it back at a later time, never
// at an earlier one: the queues are in the order of time, so a walk that goes on
// only from what it has resolved meets it there.
type markerWalk struct {
	call  core.Call
	queue uint8 // of markerQueues; beyond them, what is parked
	shard int
	after string
	last  string // of the page
	more  bool
	found []core.Row // the star's, of the page; immutable
	drops core.Group[core.Call]
	lost  bool // one of them changed under us
	tries uint8

	why Reason // Again: why, and of what
	bad string
}

var markerQueues = [...]keys.Queue{keys.Settle, keys.TrimCheck}

// markerTries bounds how often one page is read again because its markers moved.
const markerTries = 8

// step walks. Done: nothing of the star stands there any more.
func (w *markerWalk) step(t core.Turn, e *core.Env, star string, rep *Report) core.Verdict {
	for {
		if w.found == nil {
			r, ok := w.call.AwaitFunc(t, func() core.Op { return w.scan(e) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return w.stop(Unanswered, w.name())
			}
			w.found, w.last, w.more, w.lost = theStars(star, r.Rows), "", r.More, false
			if n := len(r.Rows); n > 0 {
				w.last = r.Rows[n-1].Key
			}
		}
		if !w.drops.Run(t, len(w.found), e.Dials.DrainWidth, func(i int, c *core.Call, t core.Turn) bool {
			return w.drop(t, c, w.found[i], rep)
		}) {
			return core.Working
		}
		w.drops = core.Group[core.Call]{}
		switch {
		case w.bad != "":
			return w.stop(Unanswered, w.bad)
		case w.lost:
			if w.tries++; w.tries == markerTries {
				return w.stop(Overtaken, w.found[0].Key)
			}
		case w.more && w.last != "":
			w.after, w.tries = w.last, 0
		case !w.on(e):
			*w = markerWalk{}
			return core.Done
		}
		w.found = nil
	}
}

func (w *markerWalk) stop(why Reason, key string) core.Verdict {
	*w = markerWalk{why: why, bad: key}
	return core.Again
}

// drop resolves one marker as it was read.
func (w *markerWalk) drop(t core.Turn, c *core.Call, row core.Row, rep *Report) bool {
	r, ok := c.AwaitFunc(t, func() core.Op { return core.Txn(core.If(row.Mark), core.Del(row.Key)) })
	switch {
	case !ok:
		return false
	case r.Outcome == core.OK:
		rep.Resolved++
		t.Note(core.NoteMarkerMoot, 1)
	case r.Outcome == core.Conflict:
		w.lost = true
	default:
		w.bad = row.Key
	}
	return true
}

// on goes on to the next shard, the next queue, or what is parked; false: that
// was all.
func (w *markerWalk) on(e *core.Env) bool {
	w.after, w.tries = "", 0
	if w.shard++; w.shard >= e.Dials.Shards || int(w.queue) == len(markerQueues) {
		w.queue, w.shard = w.queue+1, 0
	}
	return int(w.queue) <= len(markerQueues)
}

func (w *markerWalk) scan(e *core.Env) core.Op {
	from, end := keys.ParkRange()
	if int(w.queue) < len(markerQueues) {
		from, end = keys.DueAll(markerQueues[w.queue], w.shard)
	}
	if w.after != "" {
		from = w.after + "\x00"
	}
	return core.Scan(from, end, e.Dials.ScanPage)
}

// name is the range at hand, for a report.
func (w *markerWalk) name() string {
	if int(w.queue) == len(markerQueues) {
		from, _ := keys.ParkRange()
		return from
	}
	from, _ := keys.DueAll(markerQueues[w.queue], w.shard)
	return from
}

// theStars is the rows that are markers of the star's chains, parked or not.
// Never nil.
func theStars(star string, rows []core.Row) []core.Row {
	found := make([]core.Row, 0, len(rows))
	for i := range rows {
		key := rows[i].Key
		if _, marker, err := keys.ParsePark(key); err == nil {
			key = marker
		}
		d, err := keys.ParseDue(key)
		if err != nil {
			continue // foreign: the drains report it
		}
		switch d.Queue {
		case keys.Settle, keys.TrimCheck, keys.Denorm:
			if d.Star == star {
				found = append(found, rows[i])
			}
		}
	}
	return found
}
