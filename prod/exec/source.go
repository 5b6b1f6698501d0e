package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"nova/core"
)

// sourceError is why bytes could not be read: what the effect that wanted them is
// answered.
type sourceError struct {
	outcome core.Outcome // Absent: definitely in none of its places; OutOfRange, Damaged, Refused; Unknown
	at      core.Obj     // OutOfRange, Damaged: whose bytes
	err     error
}

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// stream reads bytes [off, off+left) of an object that stands at one or more
// places. It opens the first that has it, goes on where it was when a connection
// breaks, and goes on to the next place where one fails; replicas are alike, and
// whoever reads checks the bytes.
type stream struct {
	d    *Driver
	ctx  context.Context
	at   []core.Obj
	k    int // the place being read
	off  int64
	left int64
	r    io.ReadCloser
	// What became of the places since bytes last came.
	absent map[core.Obj]bool
	breaks int
	err    error // of the last failure
}

func (d *Driver) stream(ctx context.Context, at []core.Obj, off, n int64) *stream {
	return &stream{d: d, ctx: ctx, at: at, off: off, left: n}
}

// Read fails with a *sourceError.
func (s *stream) Read(p []byte) (int, error) {
	for {
		if s.left == 0 {
			return 0, io.EOF
		}
		if s.r == nil {
			if err := s.open(); err != nil {
				return 0, err
			}
		}
		n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
		if n > 0 {
			s.off, s.left, s.breaks = s.off+int64(n), s.left-int64(n), 0
			return n, nil // an error comes again with the next read
		}
		if err != nil {
			_ = s.Close()
			s.failed(fmt.Errorf("read %s/%s at %d: %w", s.at[s.k].Store, s.at[s.k].Key, s.off, err))
		}
	}
}

// Close drops the connection. The stream may be read again.
func (s *stream) Close() error {
	if s.r != nil {
		_ = s.r.Close()
		s.r = nil
	}
	return nil
}

// failed goes on to the next place.
func (s *stream) failed(err error) {
	s.err = err
	s.breaks++
	s.k = (s.k + 1) % len(s.at)
}

// open finds a place that has the bytes. Each is tried Tries times, and one that
// definitely has them not only once.
func (s *stream) open() error {
	for {
		if len(s.absent) == len(s.at) {
			return &sourceError{outcome: core.Absent, err: fmt.Errorf("%s/%s stands in none of its %d places", s.at[0].Store, s.at[0].Key, len(s.at))}
		}
		if s.breaks >= s.d.o.Tries*len(s.at) {
			return &sourceError{outcome: core.Unknown, err: fmt.Errorf("give up after %d tries: %w", s.breaks, s.err)}
		}
		o := s.at[s.k]
		if s.absent[o] {
			s.k = (s.k + 1) % len(s.at)
			s.breaks++
			continue
		}
		if n := s.breaks / len(s.at); n > 0 && pause(s.ctx, s.d.o.Backoff<<(n-1)) != nil {
			return &sourceError{outcome: core.Unknown, err: s.ctx.Err()}
		}
		done, err := s.try(o)
		if done || err != nil {
			return err
		}
	}
}

// try opens one place.
func (s *stream) try(o core.Obj) (opened bool, _ error) {
	store, ok := s.d.o.Stores[o.Store]
	if !ok {
		s.failed(fmt.Errorf("the process has no store %s", o.Store))
		return false, nil
	}
	if err := s.d.o.Requests.Wait(s.ctx, 1); err != nil {
		return false, &sourceError{outcome: core.Unknown, err: err}
	}
	r, reply, err := store.Open(s.ctx, o.Key, s.off, s.left)
	s.d.o.Requests.learn(err)
	switch {
	case reply.Outcome == core.OK && reply.Size >= s.off+s.left:
		s.r = r
		return true, nil
	case reply.Outcome == core.OK:
		_ = r.Close()
		return false, &sourceError{outcome: core.Damaged, at: o, err: fmt.Errorf("%s/%s ends at %d, before byte %d", o.Store, o.Key, reply.Size, s.off+s.left)}
	case reply.Outcome == core.OutOfRange:
		return false, &sourceError{outcome: core.OutOfRange, at: o, err: fmt.Errorf("%s/%s ends before byte %d", o.Store, o.Key, s.off)}
	case reply.Outcome == core.Absent:
		if s.absent == nil {
			s.absent = map[core.Obj]bool{}
		}
		s.absent[o] = true
	case err == nil:
		err = errors.New(reply.Outcome.String())
	}
	s.failed(fmt.Errorf("open %s/%s: %w", o.Store, o.Key, err))
	return false, nil
}

// whole is the bytes of an object from the cache, fetched if it must be. It is
// false if the object is better read directly.
func (d *Driver) whole(ctx context.Context, o core.Obj) ([]byte, bool) {
	if b, ok := d.o.Cache.has(o); ok {
		return b, true
	}
	if !d.o.Cache.fits(o) {
		return nil, false
	}
	return d.o.Cache.load(ctx, o, func(f func()) { d.wg.Go(f) }, func(reserve func(int64) bool) ([]byte, bool) {
		return d.fetchWhole(o, reserve)
	})
}

// fetchWhole reads an object for the cache: one request, once. Who needs the
// bytes goes and reads them directly when it fails.
func (d *Driver) fetchWhole(o core.Obj, reserve func(int64) bool) ([]byte, bool) {
	store, ok := d.o.Stores[o.Store]
	if !ok || d.gates.fetches.enter(d.ctx) != nil {
		return nil, false
	}
	defer d.gates.fetches.leave()
	if d.o.Requests.Wait(d.ctx, 1) != nil {
		return nil, false
	}
	// How long it is shows only with the answer: until then, a small one's time.
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	late := time.AfterFunc(d.service(), cancel)
	defer late.Stop()
	r, reply, err := store.Open(ctx, o.Key, 0, -1)
	d.o.Requests.learn(err)
	if reply.Outcome != core.OK {
		return nil, false
	}
	defer func() { _ = r.Close() }()
	if !reserve(reply.Size) {
		return nil, false
	}
	late.Reset(d.fetchTime(reply.Size))
	b := make([]byte, reply.Size)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, false
	}
	return b, true
}

// stage begins to bring an object into the cache, if it fits.
func (d *Driver) stage(op *core.Op) {
	c, o := d.o.Cache, op.Obj()
	if c == nil || op.Len > c.object || !c.fits(o) {
		return
	}
	if _, ok := c.has(o); ok {
		return
	}
	d.wg.Go(func() { d.whole(d.ctx, o) })
}

// fetch moves bytes into a sink once all of them are here and are what they
// should be.
func (d *Driver) fetch(ctx context.Context, op *core.Op) (core.Reply, int64) {
	if d.o.Sinks == nil {
		d.log.warn("the process has no sinks", op, core.Reply{Outcome: core.Refused}, nil)
		return core.Reply{Outcome: core.Refused}, 0
	}
	b, err := d.bytes(ctx, op)
	reply := core.Reply{Size: op.Len}
	var se *sourceError
	if errors.As(err, &se) {
		reply = core.Reply{Outcome: se.outcome}
	} else if err != nil {
		reply = unknown
	} else if err = d.o.Sinks.Put(int(op.Num), b); err != nil {
		reply = core.Reply{Outcome: core.Refused}
	}
	d.log.reply(op, reply, err)
	return reply, int64(len(b))
}

// bytes reads what a fetch wants.
func (d *Driver) bytes(ctx context.Context, op *core.Op) ([]byte, error) {
	o := op.Obj()
	if b, ok := d.o.Cache.has(o); ok && op.Off+op.Len <= int64(len(b)) {
		if b = b[op.Off : op.Off+op.Len : op.Off+op.Len]; checksum(b) == op.CRC {
			return append([]byte(nil), b...), nil
		}
		d.o.Cache.forget(o)
	}
	if err := d.gates.fetches.enter(ctx); err != nil {
		return nil, err
	}
	defer d.gates.fetches.leave()
	if err := d.o.Bytes.Wait(ctx, op.Len); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.fetchTime(op.Len))
	defer cancel()
	s := d.stream(ctx, []core.Obj{o}, op.Off, op.Len)
	defer func() { _ = s.Close() }()
	b := make([]byte, op.Len)
	if _, err := io.ReadFull(s, b); err != nil {
		return nil, err
	}
	if sum := checksum(b); sum != op.CRC {
		return nil, &sourceError{outcome: core.Damaged, at: o, err: fmt.Errorf("checksum %08x, not %08x", sum, op.CRC)}
	}
	return b, nil
}
