package duty

import (
	"slices"

	"nova/core"
	"nova/core/format"
	"nova/core/plan"
)

// warming stages the slots that the members of one batch read, beside their
// walk: each slot once, and at most WarmSet bytes (specification, duties: Settle
// rewrite, step 2). It is a hint: no step waits for what it stages.
type warming struct {
	known []string    // object keys wanted so far, ascending; immutable
	bytes int64       // of them
	queue []stageable // wanted, not sent yet; immutable
	batch []stageable // under way; immutable
	sends core.Group[core.Call]
}

type stageable struct {
	at  core.Obj
	len int64
}

// want adds the sources of an output, as far as they are new.
func (w *warming) want(e *core.Env, sources []plan.Source) {
	queue, known := w.queue[:len(w.queue):len(w.queue)], w.known
	for i := range sources {
		s := &sources[i]
		at, ok := slices.BinarySearch(known, s.At[0].Key)
		if ok {
			continue
		}
		n := s.Footer.Off + s.Footer.Len + format.TrailerSize
		if w.bytes+n > e.Dials.WarmSet {
			continue
		}
		known = slices.Insert(slices.Clone(known), at, s.At[0].Key)
		w.bytes += n
		queue = append(queue, stageable{s.At[0], n})
	}
	w.queue, w.known = queue, known
}

// step reports whether nothing is under way.
func (w *warming) step(t core.Turn, e *core.Env) bool {
	for {
		if len(w.batch) == 0 {
			if len(w.queue) == 0 {
				return true
			}
			w.batch, w.queue = w.queue, nil
		}
		if !w.sends.Run(t, len(w.batch), e.Dials.MemberWidth, func(i int, c *core.Call, t core.Turn) bool {
			_, ok := c.AwaitFunc(t, func() core.Op { return core.Stage(w.batch[i].at, w.batch[i].len) })
			return ok
		}) {
			return false
		}
		w.sends, w.batch = core.Group[core.Call]{}, nil
	}
}
