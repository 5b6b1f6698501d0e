package script

import (
	"fmt"
	"strconv"
	"strings"

	"nova/core"
	"nova/core/law"
	"nova/core/serve"
	"nova/sim/world"
)

// streamOf is a stream that the script has created.
type streamOf struct {
	id    uint64
	at    string // its address: bucket/name
	acked uint64 // records acknowledged: [0, acked)
	gone  bool   // it was deleted
}

func (st *streamOf) String() string { return fmt.Sprintf("%s (#%d)", st.at, st.id) }

// chunk is what a client submitted: a blob of its own.
type chunk struct {
	blob   uint64
	stream *streamOf
	id     uint64
	count  uint32
	crc    uint32
	len    int64
	acked  bool
	first  uint64
}

// ask is a request to a star that is not answered yet.
type ask struct {
	verb   serve.Verb
	stream *streamOf
	chunks []*chunk
}

// stream finds a stream by its address, the newest that had it, or by #id.
func (s *Script) stream(at string) (*streamOf, error) {
	if n, ok := strings.CutPrefix(at, "#"); ok {
		id, err := strconv.ParseUint(n, 10, 64)
		for _, st := range s.streams {
			if err == nil && st.id == id {
				return st, nil
			}
		}
	}
	for i := len(s.streams) - 1; i >= 0; i-- {
		if s.streams[i].at == at {
			return s.streams[i], nil
		}
	}
	return nil, fmt.Errorf("no stream %s", at)
}

// root adapts a function to a root machine.
type root func(t core.Turn) bool

// Step steps it.
func (r root) Step(t core.Turn) bool { return r(t) }

// star starts a star.
func (s *Script) star(name string, class core.Class, rs []*rule) error {
	p, err := s.start(name, s.skew, func(e *core.Env) core.Machine {
		m := &serve.Star{Name: name, Class: class}
		return root(func(t core.Turn) bool { return m.Step(t, e) })
	})
	if err != nil {
		return err
	}
	p.gave = func(val string) { s.answered(p, val) }
	s.run(rs, p)
	s.report(p, rs)
	return nil
}

// request sends a star a request, and lets it do what it can.
func (s *Script) request(name string, r serve.Request, a *ask, rs []*rule) error {
	p, err := s.ask(name, r, a)
	if err != nil {
		return err
	}
	s.run(rs, p)
	s.report(p, rs)
	return nil
}

// ask puts a request before a star that runs.
func (s *Script) ask(name string, r serve.Request, a *ask) (*proc, error) {
	p := s.procs[name]
	if p == nil || p.ended {
		return nil, fmt.Errorf("star %s does not run", name)
	}
	s.asked++
	r.ID, a.verb = s.asked, r.Verb
	s.asks[r.ID] = a
	p.queue = append(p.queue, r.Encode())
	return p, nil
}

// append sends a star one slot's records: pairs of an address and "3x40", dated so
// far ahead.
func (s *Script) append(name string, what []string, dated core.Ms, rs []*rule) error {
	r, a, err := s.slot(what)
	if err != nil {
		return err
	}
	for i := range r.Chunks {
		r.Chunks[i].Oldest += dated
		r.Chunks[i].Newest += dated
	}
	return s.request(name, r, a, rs)
}

// slot is a request for one slot's records.
func (s *Script) slot(what []string) (serve.Request, *ask, error) {
	r, a := serve.Request{Verb: serve.VerbAppend}, &ask{}
	if len(what) == 0 || len(what)%2 != 0 {
		return r, a, fmt.Errorf("append what?")
	}
	for i := 0; i < len(what); i += 2 {
		st, err := s.stream(what[i])
		if err != nil {
			return r, a, err
		}
		var count uint32
		var size int64
		if _, err := fmt.Sscanf(what[i+1], "%dx%d", &count, &size); err != nil {
			return r, a, fmt.Errorf("%q is not records x bytes: %w", what[i+1], err)
		}
		c := &chunk{blob: uint64(len(s.blobs) + 1), stream: st, id: st.id, count: count, len: size}
		c.crc = world.BlobCRC(c.blob, 0, size)
		s.blobs = append(s.blobs, c)
		a.chunks = append(a.chunks, c)
		r.Chunks = append(r.Chunks, serve.AppendChunk{Stream: st.id, Count: count, CRC: c.crc, Len: size, Blob: c.blob, Oldest: s.now, Newest: s.now})
	}
	return r, a, nil
}

// answered takes a star's answer.
func (s *Script) answered(p *proc, val string) {
	ans, err := serve.DecodeAnswer(val)
	a := s.asks[ans.ID]
	if err != nil || a == nil {
		s.fail("%s gives an answer to nothing that it was asked: %q, %w", p.name, val, err)
		return
	}
	delete(s.asks, ans.ID)
	switch ans.Outcome {
	case serve.Opened:
		s.printf("%s: leads %s from %d", p.name, a.stream, ans.Next)
		if ans.Next < a.stream.acked {
			s.fail("%s opens %s at %d, and [0, %d) was acknowledged", p.name, a.stream, ans.Next, a.stream.acked)
		}
	case serve.Acked:
		for i, k := range ans.Acks {
			if c := a.chunks[i]; k.Reason != serve.None {
				s.printf("%s: %s is refused: %s", p.name, c.stream, k.Reason)
			} else {
				s.acknowledged(p, c, k.First)
			}
		}
	case serve.Failed:
		s.printf("%s: refused: %s", p.name, ans.Reason)
	case serve.Closed:
		s.printf("%s: closed", p.name)
	}
}

// acknowledged notes what a client was told is safe.
func (s *Script) acknowledged(p *proc, c *chunk, first uint64) {
	end := first + uint64(c.count)
	s.printf("%s: acknowledges %s [%d, %d)", p.name, c.stream, first, end)
	if first < c.stream.acked {
		s.fail("%s gives out [%d, %d) of %s, and [0, %d) was acknowledged", p.name, first, end, c.stream, c.stream.acked)
	}
	c.acked, c.first, c.stream.acked = true, first, end
	ch := law.Change{Kind: law.Acknowledged, Ack: law.Ack{Stream: c.id, First: first, Count: c.count, CRC: c.crc}}
	s.history = append(s.history, happened{s.now, ch})
	s.judge.Apply(ch)
	s.verdict()
}

// verb runs one request of a client that is a process of its own.
func (s *Script) verb(name string, rs []*rule, step func(t core.Turn, e *core.Env) core.Verdict, say func() string) error {
	p, err := s.start(name, s.skew, func(e *core.Env) core.Machine {
		return root(func(t core.Turn) bool {
			v := step(t, e)
			if v == core.Again {
				s.printf("%s: nothing definite", name)
			}
			return v != core.Working
		})
	})
	if err != nil {
		return err
	}
	p.done = say
	s.run(rs, p)
	s.report(p, rs)
	return nil
}

func (s *Script) create(at string, class core.Class, age core.Ms, rs []*rule) error {
	bucket, name, ok := strings.Cut(at, "/")
	if !ok {
		return fmt.Errorf("%q is not bucket/name", at)
	}
	var m serve.Create
	spec := serve.Spec{Bucket: bucket, Name: name, Class: class, MaxAge: age}
	return s.verb("client", rs, func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, spec) }, func() string {
		if m.Reason != serve.None {
			return m.Reason.String()
		}
		st := &streamOf{id: m.ID, at: at}
		s.streams = append(s.streams, st)
		return st.String() + " is created"
	})
}

func (s *Script) delete(at string, rs []*rule) error {
	st, err := s.stream(at)
	if err != nil {
		return err
	}
	var m serve.Delete
	return s.verb("client", rs, func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, st.id) }, func() string {
		if m.Reason != serve.None {
			return m.Reason.String()
		}
		st.gone = true
		return st.String() + " is deleted"
	})
}

func (s *Script) trim(at string, to uint64, rs []*rule) error {
	st, err := s.stream(at)
	if err != nil {
		return err
	}
	var m serve.Trim
	return s.verb("client", rs, func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, st.id, to) }, func() string {
		if m.Reason != serve.None {
			return fmt.Sprintf("%s: %d", m.Reason, m.Mark)
		}
		return fmt.Sprintf("%s is trimmed to %d", st, m.Mark)
	})
}

func (s *Script) policy(at string, age core.Ms, rs []*rule) error {
	st, err := s.stream(at)
	if err != nil {
		return err
	}
	var m serve.SetPolicy
	return s.verb("client", rs, func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, st.id, age) }, func() string {
		if m.Reason != serve.None {
			return m.Reason.String()
		}
		return fmt.Sprintf("%s keeps its records for %s", st, span(age))
	})
}

func (s *Script) open(star string, st *streamOf, rs []*rule) error {
	return s.request(star, serve.Request{Verb: serve.VerbOpen, Stream: st.id}, &ask{stream: st}, rs)
}

func (s *Script) close(star string, rs []*rule) error {
	return s.request(star, serve.Request{Verb: serve.VerbClose}, &ask{}, rs)
}
