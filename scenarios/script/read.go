package script

import (
	"fmt"
	"slices"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/serve"
)

// reader is one who made a plan, and may use it for a while.
type reader struct {
	stream *streamOf
	plan   serve.ReadPlan
}

// plan lets a reader make a plan.
func (s *Script) plan(name, at string, from uint64, rs []*rule) error {
	st, err := s.stream(at)
	if err != nil {
		return err
	}
	r := &reader{stream: st}
	return s.verb(name, rs, func(t core.Turn, e *core.Env) core.Verdict { return r.plan.Step(t, e, st.id, from, 1<<20) }, func() string {
		if r.plan.Reason != serve.None {
			return "no plan of " + st.String() + ": " + r.plan.Reason.String()
		}
		s.reads[name] = r
		text := fmt.Sprintf("plans %s, good until %s", st, clock(r.plan.Until))
		for i := range r.plan.Extents {
			x := &r.plan.Extents[i]
			text += fmt.Sprintf("\n    [%d, %d) ", x.First, x.End())
			if x.Lost {
				text += "lost"
			} else {
				text += s.object(x.At[0].Key)
			}
		}
		return text
	})
}

// fetch lets a reader use its plan. What it gets must be what was submitted; that
// something is missing while the plan is good breaks law 4.
func (s *Script) fetch(name string, rs []*rule) error {
	r := s.reads[name]
	if r == nil {
		return fmt.Errorf("%s has no plan", name)
	}
	why, at, err := s.get(name, r, rs)
	if err != nil {
		return err
	}
	switch {
	case why == serve.None:
		s.printf("%s: has the bytes of %d extents", name, len(r.plan.Extents))
		return nil
	case why == serve.Missing && s.now <= r.plan.Until:
		return fmt.Errorf("%s is inside its contract, and [%d, %d) is missing", name, at.First, at.End())
	}
	s.printf("%s: [%d, %d): %s", name, at.First, at.End(), why)
	return nil
}

// get fetches a plan's extents, and compares them with what was submitted.
func (s *Script) get(name string, r *reader, rs []*rule) (why serve.Reason, at serve.Extent, err error) {
	var m serve.Fetch
	p, err := s.start(name, 0, func(e *core.Env) core.Machine {
		return root(func(t core.Turn) bool { return m.Step(t, e, r.plan.Extents, r.plan.Until, 0) })
	})
	if err != nil {
		return 0, at, err
	}
	s.run(rs, p)
	s.report(p, rs)
	if !p.ended || p.cut {
		return 0, at, fmt.Errorf("%s did not end", name)
	}
	if m.Reason != serve.None {
		return m.Reason, r.plan.Extents[m.Failed], nil
	}
	for i := range r.plan.Extents {
		x := &r.plan.Extents[i]
		if c := s.holds(x); c == nil || c.id != r.stream.id || uint64(c.count) != x.Count || c.acked && c.first != x.First {
			return 0, at, fmt.Errorf("%s gets bytes for [%d, %d) of %s that were not submitted for it", name, x.First, x.End(), r.stream)
		}
	}
	return serve.None, at, nil
}

// holds is the chunk whose bytes an extent names, or nil.
func (s *Script) holds(x *serve.Extent) *chunk {
	for _, at := range x.At {
		o := s.W.Bucket(at.Store).Lookup(at.Key)
		if o == nil || x.Off+x.Len > o.Size() {
			continue
		}
		b := o.Body.Slice(x.Off, x.Len)
		if blob, off, n, ok := b.Blob(); ok && off == 0 && blob > 0 && int(blob) <= len(s.blobs) && s.blobs[blob-1].len == n {
			return s.blobs[blob-1]
		}
	}
	return nil
}

// verify reads every live stream from its watermark to its end: everything that
// was acknowledged, once, in order, with its bytes. Nothing that a row says is
// lost counts.
func (s *Script) verify() error {
	silent := s.silent
	for _, st := range s.streams {
		row, ok := s.W.Meta.Lookup(keys.Stream(st.id))
		if d, err := format.DecodeStream(row.Val); !ok || err == nil && d.Deleted {
			s.printf("%s is deleted", st)
			continue
		}
		from := uint64(0)
		if m, ok := s.W.Meta.Lookup(keys.Trim(st.id)); ok {
			from, _ = format.DecodeNumber(m.Val)
		}
		s.silent = true
		err := s.plan("verify", "#"+fmt.Sprint(st.id), from, nil)
		r := s.reads["verify"]
		s.silent = silent
		if err != nil {
			return err
		}
		if r == nil {
			return fmt.Errorf("no plan of %s", st)
		}
		delete(s.reads, "verify")
		if err := s.whole(st, r, from); err != nil {
			return err
		}
	}
	return nil
}

func (s *Script) whole(st *streamOf, r *reader, from uint64) error {
	next, lost := from, ""
	r.plan.Extents = slices.DeleteFunc(slices.Clone(r.plan.Extents), func(x serve.Extent) bool {
		next = x.End()
		if x.Lost {
			lost += fmt.Sprintf(", [%d, %d) is lost", x.First, x.End())
		}
		return x.Lost
	})
	silent := s.silent
	s.silent = true
	why, at, err := s.get("verify", r, nil)
	s.silent = silent
	switch {
	case err != nil:
		return err
	case why != serve.None:
		return fmt.Errorf("%s: [%d, %d): %s", st, at.First, at.End(), why)
	case next < st.acked && !s.onTheWay(st, next):
		return fmt.Errorf("%s reads to %d, and [0, %d) was acknowledged", st, next, st.acked)
	}
	s.printf("%s reads [%d, %d) of %d acknowledged%s", st, from, next, st.acked, lost)
	return nil
}

// onTheWay reports whether a star or a settler still has a chain to absorb: law 3
// says whether what was acknowledged is on it.
func (s *Script) onTheWay(*streamOf, uint64) (open bool) {
	from, end := keys.ChainsRange()
	s.W.Meta.Range(from, end, func(r core.Row) bool {
		if _, _, part, err := keys.ParseChain(r.Key); err == nil && part == keys.PartHead {
			h, err := format.DecodeChainHead(r.Val)
			open = open || err == nil && (h.State == format.ChainOpen || h.State == format.ChainCut && h.Checkpoint < h.Cut)
		}
		return true
	})
	return open
}
