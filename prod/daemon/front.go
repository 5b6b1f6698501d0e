package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"nova/core"
	"nova/core/serve"
	"nova/prod/client"
)

// Front serves streams over HTTP with the stars of this process: it is the
// Service behind Handler.
type Front struct {
	Session *Session
	// Star is the star of a class, or nil if this process has none. It may change.
	Star func(core.Class) *Star
	// OpenWithin bounds how long an append waits for its stream to be opened; 0 is
	// 15 s, which outlasts the lease of a star that has died.
	OpenWithin time.Duration

	mu    sync.Mutex
	acked map[uint64]uint64 // by stream: where the last append through here ended
}

// absorbWithin bounds how long a read waits for what was appended through this
// front and is not absorbed yet.
const absorbWithin = 5 * time.Second

// ends notes where an append ended.
func (f *Front) ends(id, end uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.acked == nil {
		f.acked = map[uint64]uint64{}
	}
	f.acked[id] = max(f.acked[id], end)
}

// end is what a client of this front may expect to read of a stream.
func (f *Front) end(id uint64) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.acked[id]
}

// own waits until a reader finds what it appended here a moment ago.
func (f *Front) own(ctx context.Context, id, to uint64) error {
	to = min(to, f.end(id))
	for deadline := time.Now().Add(absorbWithin); ; {
		if to == 0 {
			return nil
		}
		in, err := f.Session.Info(ctx, id)
		if err != nil || in.End >= to || time.Now().After(deadline) {
			return err
		}
		f.Session.rest(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// ParseClass is the storage class with this name; "" is standard.
func ParseClass(name string) (core.Class, error) {
	switch name {
	case "", core.Standard.String():
		return core.Standard, nil
	case core.Express.String():
		return core.Express, nil
	}
	return 0, fmt.Errorf("%q is no storage class: choose standard or express", name)
}

func describe(in Info) client.Stream {
	return client.Stream{
		Bucket: in.Stream.Bucket, Name: in.Stream.Name, Class: in.Stream.Class.String(), MaxAgeMs: int64(in.Stream.MaxAge),
		ID: in.ID, BornMs: int64(in.Stream.Born), First: in.First, End: in.End, Star: in.Star,
	}
}

// Create creates a stream.
func (f *Front) Create(ctx context.Context, s client.Stream) (client.Stream, error) {
	class, err := ParseClass(s.Class)
	if err != nil {
		return s, bad("%v", err)
	}
	id, err := f.Session.Create(ctx, serve.Spec{Bucket: s.Bucket, Name: s.Name, Class: class, MaxAge: core.Ms(s.MaxAgeMs)})
	if err != nil {
		return s, wireProblem(err, "create stream %s/%s", s.Bucket, s.Name)
	}
	in, err := f.Session.Info(ctx, id)
	return describe(in), wireProblem(err, "stream %s/%s was created", s.Bucket, s.Name)
}

// Streams calls g for every stream of a bucket.
func (f *Front) Streams(ctx context.Context, bucket string, g func(client.Stream) error) error {
	err := f.Session.Streams(ctx, bucket, func(in Info) error {
		in.End = max(in.End, f.end(in.ID))
		return g(describe(in))
	})
	return wireProblem(err, "list the streams of bucket %q", bucket)
}

// Delete deletes a stream.
func (f *Front) Delete(ctx context.Context, bucket, name string) error {
	id, err := f.Session.Lookup(ctx, bucket, name)
	if err == nil {
		err = f.Session.Delete(ctx, id)
	}
	return wireProblem(err, "delete stream %s/%s", bucket, name)
}

// Trim drops the records below a sequence number.
func (f *Front) Trim(ctx context.Context, bucket, name string, before uint64) error {
	id, err := f.Session.Lookup(ctx, bucket, name)
	if err == nil {
		if err := f.own(ctx, id, before); err != nil {
			return wireProblem(err, "trim stream %s/%s", bucket, name)
		}
		var mark uint64
		if mark, err = f.Session.Trim(ctx, id, before); Reason(err) == serve.BeyondEnd {
			err = fmt.Errorf("%w, which is at %d", err, mark)
		}
	}
	return wireProblem(err, "trim stream %s/%s to %d", bucket, name, before)
}

// Read calls g for records.
func (f *Front) Read(ctx context.Context, bucket, name string, from, limit uint64, g func(Record) error) error {
	id, err := f.Session.Lookup(ctx, bucket, name)
	if err == nil {
		to := from + limit
		if limit == 0 || to < from {
			to = 1<<64 - 1
		}
		err = f.own(ctx, id, to)
	}
	if err == nil {
		_, err = f.Session.Read(ctx, id, from, limit, g)
	}
	return wireProblem(err, "read stream %s/%s", bucket, name)
}

// Append appends records, pieces of many at a time.
func (f *Front) Append(ctx context.Context, bucket, name string, next func() ([]byte, error)) (client.Appended, error) {
	a, err := f.append(ctx, bucket, name, next)
	return a, wireProblem(err, "append to stream %s/%s", bucket, name)
}

func (f *Front) append(ctx context.Context, bucket, name string, next func() ([]byte, error)) (a client.Appended, err error) {
	id, err := f.Session.Lookup(ctx, bucket, name)
	if err != nil {
		return a, err
	}
	in, err := f.Session.Info(ctx, id)
	if err != nil {
		return a, err
	}
	star := f.Star(in.Stream.Class)
	if star == nil {
		return a, &client.Problem{Code: client.CodeUnavailable, Text: fmt.Sprintf("stream %s/%s is of class %s, and no star of that class runs here: ask another", bucket, name, in.Stream.Class)}
	}
	within := f.OpenWithin
	if within <= 0 {
		within = 15 * time.Second
	}
	octx, cancel := context.WithTimeout(ctx, within)
	_, err = star.Open(octx, id)
	cancel()
	if err != nil {
		if r := Reason(err); r == serve.Held {
			return a, &client.Problem{Code: client.CodeLedBy, Star: in.Star, Text: fmt.Sprintf("stream %s/%s is led by another star (%s)", bucket, name, in.Star)}
		}
		return a, err
	}
	p := star.Appender(id)
	defer func() { f.ends(id, p.End) }()
	for {
		b, err := next()
		if err != nil && !errors.Is(err, io.EOF) {
			return p.done(), errors.Join(err, p.Flush(ctx)) // what came before it is good
		}
		if err == nil {
			err = p.Add(ctx, b)
		} else if err = p.Flush(ctx); err == nil {
			return p.done(), nil
		}
		if err != nil {
			_ = p.Flush(ctx) // to know how far it came
			return p.done(), err
		}
	}
}

func (p *Appender) done() client.Appended {
	return client.Appended{First: p.First, End: p.End, Records: p.Acked}
}
