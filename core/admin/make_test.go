package admin

import (
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/law"
	"nova/core/serve"
	"nova/sim/world"
)

// serving is a star that runs, and the client that uses it.
type serving struct {
	r    *rig
	p    *rigProc
	ids  uint64
	blob uint64
}

func (r *rig) star(name string) *serving {
	s := &serving{r: r, blob: uint64(r.starts) << 20}
	s.p = r.start(name, func(p *rigProc) func(core.Turn) bool {
		m := &serve.Star{Name: name}
		return func(t core.Turn) bool { return m.Step(t, &p.env) }
	})
	return s
}

func (s *serving) ask(q serve.Request) serve.Answer {
	s.r.t.Helper()
	s.ids++
	q.ID = s.ids
	s.p.queue = append(s.p.queue, q.Encode())
	find := func() *serve.Answer {
		for i := range s.p.answers {
			if s.p.answers[i].ID == q.ID {
				return &s.p.answers[i]
			}
		}
		return nil
	}
	s.r.until(fmt.Sprintf("an answer to %+v", q), func() bool { return find() != nil })
	return *find()
}

func (s *serving) open(id uint64) {
	s.r.t.Helper()
	if a := s.ask(serve.Request{Verb: serve.VerbOpen, Stream: id}); a.Outcome != serve.Opened {
		s.r.fail("open stream %d: %+v", id, a)
	}
}

// append gives a slot with one chunk of each stream.
func (s *serving) append(ids ...uint64) {
	s.r.t.Helper()
	q := serve.Request{Verb: serve.VerbAppend}
	for _, id := range ids {
		s.blob++
		q.Chunks = append(q.Chunks, serve.AppendChunk{Stream: id, Count: 2, CRC: world.BlobCRC(s.blob, 0, 30), Len: 30, Blob: s.blob, Oldest: s.r.now, Newest: s.r.now})
	}
	a := s.ask(q)
	if a.Outcome != serve.Acked {
		s.r.fail("append: %+v", a)
	}
	for i, k := range a.Acks {
		if k.Reason != serve.None {
			s.r.fail("append: %+v", a)
		}
		ack := law.Ack{Stream: ids[i], First: k.First, Count: 2, CRC: q.Chunks[i].CRC}
		s.r.acks = append(s.r.acks, ack)
		s.r.judge.Apply(law.Change{Kind: law.Acknowledged, Ack: ack})
	}
	s.r.changed("an acknowledgement")
}

func (s *serving) close() {
	s.r.t.Helper()
	if a := s.ask(serve.Request{Verb: serve.VerbClose}); a.Outcome != serve.Closed {
		s.r.fail("close: %+v", a)
	}
	s.r.until("the star ends", func() bool { return s.p.done })
}

func (r *rig) create(name string) uint64 {
	r.t.Helper()
	var c serve.Create
	p := r.start("client", func(p *rigProc) func(core.Turn) bool {
		return func(t core.Turn) bool {
			return c.Step(t, &p.env, serve.Spec{Bucket: "b", Name: name}) != core.Working
		}
	})
	r.until("create "+name, func() bool { return p.done })
	return c.ID
}

// drained is a cluster with one star, s1, of two epochs: the first was left by a
// crash, the second was closed. Two streams, a few slots on each, nothing settled.
func drained(r *rig) (a, b uint64) {
	a, b = r.create("a"), r.create("b")
	s := r.star("s1")
	s.open(a)
	s.open(b)
	s.append(a, b)
	s.append(a)
	s.append(b)
	s.p.leave()
	s = r.star("s1")
	s.open(a)
	s.append(a)
	s.append(a)
	s.close()
	return a, b
}

// content is the bytes of a stream, as the rows say; the laws have compared them
// with what was acknowledged.
func (r *rig) content(id uint64) (n uint64, spans int) {
	from, end := keys.RefRange(id, 0)
	r.w.Meta.Range(from, end, func(row core.Row) bool {
		x, err := format.DecodeRow(row.Val)
		if err != nil {
			r.fail("%s: %v", row.Key, err)
		}
		n += x.End - x.First
		spans += len(x.Spans)
		return true
	})
	return n, spans
}
