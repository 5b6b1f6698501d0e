package admin

import (
	"nova/core"
	"nova/core/keys"
)

// sweep deletes what stands under a star's chain prefix, store by store, page by
// page: the one sanctioned listing of a bucket, over a keyspace that is finite and
// dead. What is no slot of the star is foreign: it is counted and named, and left
// alone (C24).
type sweep struct {
	call    core.Call
	store   int
	after   string
	read    bool
	more    bool
	page    []string // keys to delete; immutable
	deletes core.Group[core.Call]

	unsure string // a store of which something may still stand, or ""
}

// step sweeps. It reports whether every store was gone through; unsure then says
// whether to come again.
func (w *sweep) step(t core.Turn, e *core.Env, star string, stores []core.Store, rep *Report) bool {
	for w.store < len(stores) {
		store := stores[w.store]
		if !w.read {
			r, ok := w.call.AwaitFunc(t, func() core.Op {
				return core.List(store, keys.StarPrefix(star), w.after, e.Dials.DeleteBatch)
			})
			if !ok {
				return false
			}
			if r.Outcome != core.OK { // the others do not wait for it
				w.unsure = string(store)
				w.next()
				continue
			}
			w.take(star, store, r, rep)
		}
		if !w.deletes.Run(t, len(w.page), e.Dials.DeleteBatch, func(i int, c *core.Call, t core.Turn) bool {
			return w.drop(t, c, core.Obj{Store: store, Key: w.page[i]}, rep)
		}) {
			return false
		}
		w.deletes, w.page, w.read = core.Group[core.Call]{}, nil, false
		if !w.more {
			w.next()
		}
	}
	return true
}

func (w *sweep) next() { *w = sweep{store: w.store + 1, unsure: w.unsure} }

func (w *sweep) take(star string, store core.Store, r *core.Reply, rep *Report) {
	w.page, w.read, w.more = make([]string, 0, len(r.Items)), true, r.More && len(r.Items) > 0
	for i := range r.Items {
		key := r.Items[i].Key
		w.after = max(w.after, key)
		if of, _, _, err := keys.ParseSlot(key); err != nil || of != star {
			rep.foreign(core.Obj{Store: store, Key: key})
			continue
		}
		w.page = append(w.page, key)
	}
}

func (w *sweep) drop(t core.Turn, c *core.Call, o core.Obj, rep *Report) bool {
	r, ok := c.Await(t, core.Delete(o))
	switch {
	case !ok:
		return false
	case r.Outcome == core.OK || r.Outcome == core.Absent:
		rep.Swept++
		t.Note(core.NotePrefixSwept, 1)
	default:
		w.unsure = string(o.Store)
	}
	return true
}
