package admin

import (
	"slices"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// intentWalk looks for live write intents of the star's own outputs: those that a
// rewrite of one of its chains announced. An output's epoch is that of its first
// chunk, so revision 0 at an epoch of the star is one of them; later revisions are
// made of settled objects, for as long as those live, and say nothing about the
// star. Nothing is lost if such an intent outlives the chain's record; but while
// it stands, somebody may still believe that he is rewriting the chain.
//
// No new one comes: all batch markers are resolved. The orphan duty judges those
// that stand, one orphan grace after their birth.
type intentWalk struct {
	call   core.Call
	shard  int
	after  string
	more   bool
	read   bool
	page   []liveIntent // immutable
	epochs []uint64     // that the page names; immutable
	looks  core.Group[core.Call]
	ours   core.Results[bool]
	bad    string // Again: what gave no definite answer
}

type liveIntent struct {
	key   string
	epoch uint64
	birth core.Ms
}

// step reports every such intent. Done: all shards were looked at.
func (w *intentWalk) step(t core.Turn, e *core.Env, star string, rep *Report) core.Verdict {
	for {
		if !w.read {
			from, end := keys.DueAll(keys.Orphan, w.shard)
			r, ok := w.call.AwaitFunc(t, func() core.Op {
				if w.after != "" {
					from = w.after + "\x00"
				}
				return core.Scan(from, end, e.Dials.ScanPage)
			})
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return w.stop(from)
			}
			w.take(r)
		}
		if !w.looks.Run(t, len(w.epochs), e.Dials.DrainWidth, func(i int, c *core.Call, t core.Turn) bool {
			return w.look(t, c, star, i)
		}) {
			return core.Working
		}
		w.looks = core.Group[core.Call]{}
		if w.bad != "" {
			return w.stop(w.bad)
		}
		for _, x := range w.page {
			if i, _ := slices.BinarySearch(w.epochs, x.epoch); *w.ours.At(i) {
				rep.block(Blocker{Reason: LiveIntent, Key: x.key, Until: x.birth + e.Dials.OrphanGrace})
			}
		}
		if w.read = false; w.more {
			continue
		}
		if w.after, w.shard = "", w.shard+1; w.shard >= e.Dials.Shards {
			*w = intentWalk{}
			return core.Done
		}
	}
}

func (w *intentWalk) stop(bad string) core.Verdict {
	*w = intentWalk{bad: bad}
	return core.Again
}

func (w *intentWalk) take(r *core.Reply) {
	w.page, w.epochs, w.more, w.read = nil, nil, r.More && len(r.Rows) > 0, true
	for i := range r.Rows {
		w.after = r.Rows[i].Key
		d, err := keys.ParseDue(r.Rows[i].Key)
		if err != nil {
			continue
		}
		at, err := keys.ParseSettled(d.Object)
		if err != nil || at.HasInc || at.Revision != 0 {
			continue
		}
		x, _ := format.DecodeIntent(r.Rows[i].Val) // damaged: its birth is not known, and it stands
		w.page = append(w.page, liveIntent{r.Rows[i].Key, at.Epoch, x.Birth})
		w.epochs = append(w.epochs, at.Epoch)
	}
	slices.Sort(w.epochs)
	w.epochs = slices.Compact(w.epochs)
	w.ours.Make(len(w.epochs))
}

// look asks whether an epoch is one of the star's.
func (w *intentWalk) look(t core.Turn, c *core.Call, star string, i int) bool {
	key := keys.ChainConst(star, w.epochs[i])
	r, ok := c.Await(t, core.Get(key))
	if !ok {
		return false
	}
	present, definite := r.Found()
	if !definite {
		w.bad = key
	}
	w.ours.Set(i, present)
	return true
}
