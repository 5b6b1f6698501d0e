package incident

import (
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/serve"
	"nova/core/transcript"
	"nova/sim"
)

// clients go on where those of production were: they open, append, trim, delete, set
// policies, and plan reads, of the streams that stand. Nobody remembers what they were
// told: what was acknowledged is judged as far as it is in rows.
type clients struct {
	x     *scene
	stars []*actor
	n     uint64 // requests so far
}

// firstID is above every request that production had in flight.
const firstID = 1 << 40

// Act does one thing.
func (c *clients) Act(s *sim.Sim) {
	ids := c.streams()
	if len(ids) == 0 {
		return
	}
	t := s.Tape()
	id := ids[t.Choose(len(ids))]
	c.n++
	switch k := t.Choose(16); {
	case k < 9:
		c.append(s, id)
	case k < 11:
		c.verb(s, transcript.Begin{Role: transcript.ReadPlan, Stream: id, Limit: 1 << 20})
	case k < 13:
		c.verb(s, transcript.Begin{Role: transcript.Trim, Stream: id, From: c.end(id)})
	case k < 14:
		c.verb(s, transcript.Begin{Role: transcript.SetPolicy, Stream: id, MaxAge: core.Ms(t.Choose(2)) * s.Dials.ReadGrace})
	case k < 15:
		c.verb(s, transcript.Begin{Role: transcript.Delete, Stream: id})
	default:
		c.verb(s, transcript.Begin{Role: transcript.Create, Spec: serve.Spec{Bucket: "incident", Name: fmt.Sprint(c.n), Class: core.Class(t.Choose(core.Classes))}})
	}
}

// append asks a star for a stream, and gives it records for it.
func (c *clients) append(s *sim.Sim, id uint64) {
	t := s.Tape()
	if len(c.stars) == 0 {
		return
	}
	p := s.Running(c.stars[t.Choose(len(c.stars))])
	if p == nil {
		return
	}
	p.Push(serve.Queue, serve.Request{Verb: serve.VerbOpen, ID: firstID + 2*c.n, Stream: id}.Encode())
	p.Push(serve.Queue, serve.Request{Verb: serve.VerbAppend, ID: firstID + 2*c.n + 1, Chunks: []serve.AppendChunk{{
		Stream: id, Count: uint32(1 + t.Choose(4)), CRC: uint32(c.n), Len: int64(40 + t.Choose(400)), Blob: c.n, Oldest: s.Now(), Newest: s.Now(),
	}}}.Encode())
}

// verb starts a machine of a client's own.
func (c *clients) verb(s *sim.Sim, b transcript.Begin) {
	b.Env, b.Root = c.x.live[0].begin.Env, firstID+c.n
	s.Start(&actor{begin: b})
}

// streams are those that stand.
func (c *clients) streams() (ids []uint64) {
	from, end := keys.StreamsRange()
	c.x.w.Meta.Range(from, end, func(r core.Row) bool {
		id, err := keys.ParseStream(r.Key)
		st, err2 := format.DecodeStream(r.Val)
		if err == nil && err2 == nil && !st.Deleted {
			ids = append(ids, id)
		}
		return true
	})
	return ids
}

// end is how far a stream is absorbed.
func (c *clients) end(id uint64) uint64 {
	r, _ := c.x.w.Meta.Lookup(keys.Writer(id))
	w, err := format.DecodeWriter(r.Val)
	if err != nil {
		return 0
	}
	return w.End
}

// Stop, Drained and Finish are of runs that end by themselves; this one ends where
// its faults would stop.

// Stop has nothing to do.
func (c *clients) Stop(*sim.Sim) {}

// Drained says that nothing is awaited.
func (c *clients) Drained(*sim.Sim) string { return "" }

// Finish has nothing to do.
func (c *clients) Finish(*sim.Sim) {}
