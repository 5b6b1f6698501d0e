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

// want adds the sources of an output that the process will read bytes of, as far
// as they are new. A run of chunks that is as long as a part is copied inside the
// store: staging its slot would move all of it for nothing.
func (w *warming) want(e *core.Env, o *plan.Output) {
	for i := 0; i < len(o.Claims); {
		first, n, size := &o.Claims[i], 1, o.Claims[i].Chunk.Len
		for i+n < len(o.Claims) && o.Claims[i+n].Source == first.Source && o.Claims[i+n].Chunk.Off == first.Chunk.Off+size {
			size += o.Claims[i+n].Chunk.Len
			n++
		}
		i += n
		if first.Source < 0 {
			continue
		}
		if s := &o.Sources[first.Source]; size < e.Dials.PartMin || s.At[0].Store != o.Home {
			w.add(e, s)
		}
	}
}

func (w *warming) add(e *core.Env, s *plan.Source) {
	at, ok := slices.BinarySearch(w.known, s.At[0].Key)
	n := s.Footer.Off + s.Footer.Len + format.TrailerSize
	if ok || w.bytes+n > e.Dials.WarmSet {
		return
	}
	w.known = slices.Insert(slices.Clone(w.known), at, s.At[0].Key)
	w.bytes += n
	w.queue = append(w.queue[:len(w.queue):len(w.queue)], stageable{s.At[0], n})
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
