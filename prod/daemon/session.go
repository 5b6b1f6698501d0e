package daemon

import (
	"context"
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/serve"
	"nova/core/transcript"
	"nova/prod/exec"
)

// stepper makes a function a root machine.
type stepper func(core.Turn) bool

// Step calls the function.
func (s stepper) Step(t core.Turn) bool { return s(t) }

// Session runs the verbs of a stream's life and reads streams, one call at a time
// or many abreast. It leads nothing and holds no lease.
type Session struct {
	host  *host
	c     *Cluster
	sinks *sinks
}

// NewSession makes a session.
func (c *Cluster) NewSession(tally *Tally) (*Session, error) {
	s := &Session{c: c, sinks: &sinks{got: map[int][]byte{}}}
	var err error
	if s.host, err = c.newHost("session", tally, c.Log, func(o *exec.Options) { o.Sinks = s.sinks }); err != nil {
		return nil, fmt.Errorf("make a session: %w", err)
	}
	return s, nil
}

// Close ends the session. No call may be running.
func (s *Session) Close(ctx context.Context) error { return s.host.leave(ctx) }

// verbTries is how often a verb that ended with nothing definite is run again.
const verbTries = 5

// run runs a machine until it ends with something definite. fresh makes m, a pointer
// to it, anew for each try; b says what it is.
func (s *Session) run(ctx context.Context, doing string, b transcript.Begin, m any, fresh func() func(core.Turn, *core.Env) core.Verdict) error {
	for try := 1; ; try++ {
		v := core.Working
		step := fresh()
		err := s.c.run(ctx, s.host, b, m, func(t core.Turn) bool {
			v = step(t, &s.host.env)
			return v != core.Working
		})
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w: %w", doing, ErrUndecided, err)
		case v == core.Done:
			return nil
		case v == core.Broken:
			return fmt.Errorf("%s: %w: see the log, and nova verify", doing, reasonError(serve.Damaged))
		case try == verbTries:
			return fmt.Errorf("%s: %w: does etcd answer?", doing, ErrUndecided)
		}
		s.rest(ctx)
	}
}

// Create makes a stream and returns its id. When the address is taken the error
// has the reason serve.NameTaken, and the id is whose it is.
func (s *Session) Create(ctx context.Context, spec serve.Spec) (id uint64, err error) {
	var m serve.Create
	err = s.run(ctx, fmt.Sprintf("create stream %s/%s", spec.Bucket, spec.Name), transcript.Begin{Role: transcript.Create, Spec: spec}, &m, func() func(core.Turn, *core.Env) core.Verdict {
		m = serve.Create{}
		return func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, spec) }
	})
	if err == nil {
		err = reasonError(m.Reason)
	}
	return m.ID, err
}

// Delete deletes a stream; one that is deleted already is no error.
func (s *Session) Delete(ctx context.Context, id uint64) error {
	var m serve.Delete
	err := s.run(ctx, fmt.Sprintf("delete stream %d", id), transcript.Begin{Role: transcript.Delete, Stream: id}, &m, func() func(core.Turn, *core.Env) core.Verdict {
		m = serve.Delete{}
		return func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, id) }
	})
	if err == nil && m.Reason != serve.Deleted {
		err = reasonError(m.Reason)
	}
	return err
}

// Trim raises a stream's watermark and returns it. Records that are acknowledged
// and not yet absorbed cannot be trimmed (serve.BeyondEnd): the watermark that is
// returned then is how far it could be.
func (s *Session) Trim(ctx context.Context, id, to uint64) (mark uint64, err error) {
	var m serve.Trim
	err = s.run(ctx, fmt.Sprintf("trim stream %d", id), transcript.Begin{Role: transcript.Trim, Stream: id, From: to}, &m, func() func(core.Turn, *core.Env) core.Verdict {
		m = serve.Trim{}
		return func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, id, to) }
	})
	if err == nil {
		err = reasonError(m.Reason)
	}
	return m.Mark, err
}

// SetPolicy changes a stream's age policy; 0 lifts it.
func (s *Session) SetPolicy(ctx context.Context, id uint64, maxAge core.Ms) error {
	var m serve.SetPolicy
	err := s.run(ctx, fmt.Sprintf("set the policy of stream %d", id), transcript.Begin{Role: transcript.SetPolicy, Stream: id, MaxAge: maxAge}, &m, func() func(core.Turn, *core.Env) core.Verdict {
		m = serve.SetPolicy{}
		return func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, id, maxAge) }
	})
	if err == nil {
		err = reasonError(m.Reason)
	}
	return err
}

// get reads rows at one revision. A row that is absent has Rev 0.
func (s *Session) get(ctx context.Context, ks ...string) ([]core.Row, error) {
	rows := make([]core.Row, len(ks))
	for i, k := range ks {
		r := s.host.driver.Do(ctx, core.Get(k))
		if _, definite := r.Found(); !definite {
			return nil, fmt.Errorf("read row %s: %s: does etcd answer?", k, r.Outcome)
		}
		rows[i] = r.Row(k)
	}
	return rows, nil
}

// Lookup is the id of the stream at an address; serve.NoStream when there is none.
func (s *Session) Lookup(ctx context.Context, bucket, name string) (uint64, error) {
	rows, err := s.get(ctx, keys.Name(bucket, name))
	if err != nil {
		return 0, fmt.Errorf("look stream %s/%s up: %w", bucket, name, err)
	}
	if rows[0].Rev == 0 {
		return 0, reasonError(serve.NoStream)
	}
	id, err := format.DecodeNumber(rows[0].Val)
	if err != nil {
		return 0, fmt.Errorf("look stream %s/%s up: %w", bucket, name, err)
	}
	return id, nil
}

// Info is what is known of one stream.
type Info struct {
	ID     uint64
	Stream format.Stream
	First  uint64 // records below it are gone
	End    uint64 // after the last record that is absorbed
	Star   string // whose chain holds its newest records
}

// Info reads what is known of a stream; serve.NoStream when there is none.
func (s *Session) Info(ctx context.Context, id uint64) (Info, error) {
	rows, err := s.get(ctx, keys.Stream(id), keys.Writer(id), keys.Trim(id))
	if err != nil {
		return Info{}, fmt.Errorf("describe stream %d: %w", id, err)
	}
	if rows[0].Rev == 0 {
		return Info{}, fmt.Errorf("describe stream %d: %w", id, reasonError(serve.NoStream))
	}
	in := Info{ID: id}
	if in.Stream, err = format.DecodeStream(rows[0].Val); err != nil {
		return Info{}, fmt.Errorf("describe stream %d: %w", id, err)
	}
	if rows[1].Rev != 0 {
		w, err := format.DecodeWriter(rows[1].Val)
		if err != nil {
			return Info{}, fmt.Errorf("describe stream %d: %w", id, err)
		}
		in.End, in.Star = w.End, w.Star
	}
	if rows[2].Rev != 0 {
		if in.First, err = format.DecodeNumber(rows[2].Val); err != nil {
			return Info{}, fmt.Errorf("describe stream %d: %w", id, err)
		}
	}
	return in, nil
}

// Streams calls f for every stream of a bucket ("": of all), in order of their
// names.
func (s *Session) Streams(ctx context.Context, bucket string, f func(Info) error) error {
	from, end := keys.NamesRange()
	if bucket != "" {
		from, end = keys.NameRange(bucket)
	}
	_, err := s.c.Rows(ctx, 0, from, end, func(r core.Row) error {
		id, err := format.DecodeNumber(r.Val)
		if err != nil {
			return fmt.Errorf("list streams: row %s: %w", r.Key, err)
		}
		in, err := s.Info(ctx, id)
		if Reason(err) == serve.NoStream {
			return nil // it was deleted just now
		}
		if err != nil {
			return err
		}
		return f(in)
	})
	return err
}

// Unsettled is how many rows of a stream still name slots of a chain.
func (s *Session) Unsettled(ctx context.Context, id uint64) (n int, err error) {
	from, end := keys.RefRange(id, 0)
	_, err = s.c.Rows(ctx, 0, from, end, func(r core.Row) error {
		row, err := format.DecodeRow(r.Val)
		if err != nil {
			return fmt.Errorf("row %s: %w", r.Key, err)
		}
		if row.Kind == format.SpanRow {
			n++
		}
		return nil
	})
	return n, err
}
