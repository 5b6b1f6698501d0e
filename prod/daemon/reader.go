package daemon

import (
	"context"
	"fmt"
	"sync"
	"time"

	"nova/core"
	"nova/core/serve"
	"nova/core/transcript"
)

// readWindow is how many bytes of chunks a read has in hand while as many are on
// their way. One chunk may be larger.
const readWindow = 8 << 20

// sinks takes the bytes that the driver fetches for reads; see exec.Sinks.
type sinks struct {
	mu   sync.Mutex
	next int
	got  map[int][]byte
}

// Put takes the bytes of one fetch.
func (s *sinks) Put(sink int, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got[sink] = b
	return nil
}

// reserve is the first of n sinks that nobody else uses.
func (s *sinks) reserve(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next > 1<<30 { // operations carry 32 bits of it
		s.next = 0
	}
	base := s.next
	s.next += n
	return base
}

// take takes n sinks' bytes out.
func (s *sinks) take(base, n int) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([][]byte, n)
	for i := range all {
		all[i] = s.got[base+i]
		delete(s.got, base+i)
	}
	return all
}

// Read calls f for the records of a stream from a sequence number on, in order,
// at most limit of them (0: all), and returns the sequence number after the last.
// It ends with what is absorbed: records that were acknowledged a moment ago may
// not be among them. A record's data does not change after the call.
func (s *Session) Read(ctx context.Context, id, from, limit uint64, f func(Record) error) (next uint64, err error) {
	if limit == 0 {
		limit = 1 << 62
	}
	end := from + limit
	tries := 0
	for next = from; next < end; {
		p, err := s.plan(ctx, id, next, end-next)
		if err != nil {
			return next, err
		}
		if p.Next <= next {
			return next, nil
		}
		at, err := s.follow(ctx, p, next, end, f)
		if tries++; at > next {
			tries = 0
		}
		next = at
		switch r := Reason(err); {
		case err == nil || r == serve.Expired: // a new plan
		case r == serve.Undecided && tries < readTries:
			s.rest(ctx)
		default:
			return next, fmt.Errorf("read stream %d: %w", id, err)
		}
	}
	return next, nil
}

// rest is the pause before something that was not answered is tried again.
func (s *Session) rest(ctx context.Context) {
	select {
	case <-time.After(time.Duration(s.c.Dials.BackoffFirst) * time.Millisecond):
	case <-ctx.Done():
	}
}

// plan plans a read.
func (s *Session) plan(ctx context.Context, id, from, limit uint64) (serve.ReadPlan, error) {
	var m serve.ReadPlan
	doing := fmt.Sprintf("plan a read of stream %d from %d", id, from)
	err := s.run(ctx, doing, transcript.Begin{Role: transcript.ReadPlan, Stream: id, From: from, Limit: limit}, &m, func() func(core.Turn, *core.Env) core.Verdict {
		m = serve.ReadPlan{}
		return func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, id, from, limit) }
	})
	switch {
	case err != nil:
		return m, err
	case m.Reason == serve.Trimmed:
		return m, fmt.Errorf("%s: %w: the stream begins at %d", doing, reasonError(m.Reason), m.Mark)
	case m.Reason != serve.None:
		return m, fmt.Errorf("%s: %w", doing, reasonError(m.Reason))
	}
	return m, nil
}

// fetched is a window of a plan.
type fetched struct {
	extents []serve.Extent
	bytes   [][]byte
	err     error
}

// follow reads what a plan found, a window in hand and one on its way.
func (s *Session) follow(ctx context.Context, p serve.ReadPlan, from, end uint64, f func(Record) error) (next uint64, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	windows := make(chan fetched)
	go func() {
		defer close(windows)
		for rest := p.Extents; len(rest) > 0; {
			n, size := 0, int64(0)
			for n < len(rest) && (n == 0 || size+rest[n].Len <= readWindow) {
				size += rest[n].Len
				n++
			}
			w := s.fetch(ctx, rest[:n], p.Until)
			rest = rest[n:]
			select {
			case windows <- w:
			case <-ctx.Done():
				return
			}
			if w.err != nil {
				return
			}
		}
	}()
	next = from
	for w := range windows {
		if w.err != nil {
			return next, w.err
		}
		for i := range w.extents {
			x := &w.extents[i]
			err := decodeChunk(w.bytes[i], x.First, uint32(x.Count), func(r Record) error {
				if r.Seq < next || r.Seq >= end {
					return nil
				}
				if err := f(r); err != nil {
					return err
				}
				next = r.Seq + 1
				return nil
			})
			if err != nil {
				return next, err
			}
			w.bytes[i] = nil
		}
	}
	return next, ctx.Err()
}

// fetch gets the bytes of some extents.
func (s *Session) fetch(ctx context.Context, extents []serve.Extent, until core.Ms) fetched {
	base := s.sinks.reserve(len(extents))
	var m serve.Fetch
	err := s.c.run(ctx, s.host, transcript.Begin{Role: transcript.Fetch, Extents: extents, Until: until, Sink: base}, &m, func(t core.Turn) bool {
		return m.Step(t, &s.host.env, extents, until, base)
	})
	bytes := s.sinks.take(base, len(extents))
	if err == nil && m.Reason != serve.None {
		x := &extents[m.Failed]
		err = fmt.Errorf("records %d to %d of %s/%s: %w", x.First, x.End()-1, at(x).Store, at(x).Key, reasonError(m.Reason))
	}
	return fetched{extents, bytes, err}
}

// at is where an extent's bytes are, for messages.
func at(x *serve.Extent) core.Obj {
	if len(x.At) == 0 {
		return core.Obj{Store: "no store", Key: "no object"}
	}
	return x.At[0]
}
