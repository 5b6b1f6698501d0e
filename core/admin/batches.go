package admin

import (
	"nova/core"
	"nova/core/duty"
	"nova/core/format"
	"nova/core/keys"
)

// batchWalk reads the batch markers of a star, shard by shard, page by page, and
// ripens them (the force-drain), or reports each as what the star still owes.
type batchWalk struct {
	call   core.Call
	shard  int
	after  string
	page   []core.Row // immutable
	last   string
	more   bool
	ripens core.Group[core.Call]
	lost   bool
	tries  uint8
	bad    string // Again: what gave no definite answer
}

// ripen ripens every batch marker of the star that has not failed: one that has
// comes back by its backoff. Done: all of them are ripe, parked or backing off.
func (w *batchWalk) ripen(t core.Turn, e *core.Env, star string, rep *Report) core.Verdict {
	for {
		if w.page == nil {
			if !w.read(t, e, star) {
				return core.Working
			}
			if w.bad != "" {
				return w.stop(w.bad)
			}
		}
		if !w.ripens.Run(t, len(w.page), e.Dials.DrainWidth, func(i int, c *core.Call, t core.Turn) bool {
			return w.ripenOne(t, c, w.page[i], rep)
		}) {
			return core.Working
		}
		w.ripens = core.Group[core.Call]{}
		switch {
		case w.bad != "":
			return w.stop(w.bad)
		case w.lost && w.tries < markerTries: // it moved: look at it again
			w.tries++
		case w.more && w.last != "":
			w.after, w.tries = w.last, 0
		default:
			if w.shard++; w.shard >= e.Dials.Shards {
				*w = batchWalk{}
				return core.Done
			}
			w.after, w.tries = "", 0
		}
		w.page = nil
	}
}

func (w *batchWalk) stop(bad string) core.Verdict {
	*w = batchWalk{bad: bad}
	return core.Again
}

// owed reports the first page of every shard's batch markers. Done: all shards
// were looked at.
func (w *batchWalk) owed(t core.Turn, e *core.Env, star string, rep *Report) core.Verdict {
	for ; w.shard < e.Dials.Shards; w.shard++ {
		if !w.read(t, e, star) {
			return core.Working
		}
		if w.bad != "" {
			return w.stop(w.bad)
		}
		for i := range w.page {
			b := Blocker{Reason: Owes, Key: w.page[i].Key}
			if m, err := format.DecodeBatchMark(w.page[i].Val); err != nil {
				b.Reason = Damaged
			} else if b.Until = m.Ready; m.Parked {
				b.Reason, b.Until = Parked, 0
			}
			rep.block(b)
		}
	}
	*w = batchWalk{}
	return core.Done
}

func (w *batchWalk) read(t core.Turn, e *core.Env, star string) bool {
	from, end := keys.DenormStar(w.shard, star)
	r, ok := w.call.AwaitFunc(t, func() core.Op {
		if w.after != "" {
			from = w.after + "\x00"
		}
		return core.Scan(from, end, e.Dials.ScanPage)
	})
	if !ok {
		return false
	}
	if r.Outcome != core.OK {
		w.bad = from
		return true
	}
	w.page, w.last, w.more, w.lost = append([]core.Row{}, r.Rows...), "", r.More, false
	if n := len(r.Rows); n > 0 {
		w.last = r.Rows[n-1].Key
	}
	return true
}

func (w *batchWalk) ripenOne(t core.Turn, c *core.Call, row core.Row, rep *Report) bool {
	if m, err := format.DecodeBatchMark(row.Val); !c.Sent() && (err != nil || m.Attempts > 0 || !duty.Unripe(t.Now, row)) {
		return true
	}
	r, ok := c.AwaitFunc(t, func() core.Op { return duty.Ripen(t.Now, row) })
	switch {
	case !ok:
		return false
	case r.Outcome == core.OK:
		rep.Ripened++
		t.Note(core.NoteDenormRipened, 1)
	case r.Outcome == core.Conflict:
		w.lost = true
	default:
		w.bad = row.Key
	}
	return true
}
