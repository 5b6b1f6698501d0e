package s3store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"nova/core"
)

// stat asks for an object's size by HEAD. A HEAD's 404 has no code and so does
// not tell a missing object from a missing bucket, or from a proxy's mood: the
// same is asked once more by a GET of one byte, whose answer has.
func (s *Store) stat(ctx context.Context, key string) (core.Reply, error) {
	out, err := s.e.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &key})
	if err == nil {
		if out.ContentLength == nil {
			return unknown("stat %s/%s: the answer has no length", s.name, key)
		}
		return core.Reply{Size: *out.ContentLength}, nil
	}
	if f := fault(core.KStat, err); f.Status != 404 {
		return failed(core.KStat, err)
	}
	r, err := s.get(ctx, core.KStat, key, "bytes=0-0")
	if err == nil {
		_ = r.body.Close()
		if r.size < 0 {
			return unknown("stat %s/%s: the answer has no length", s.name, key)
		}
		return core.Reply{Size: r.size}, nil
	}
	if fault(core.KStat, err).Status == 416 { // it stands by now, and is empty
		return core.Reply{}, nil
	}
	return failed(core.KStat, err)
}

// readRange reads bytes of an object; past its end there are fewer.
func (s *Store) readRange(ctx context.Context, key string, off, n int64) (core.Reply, error) {
	r, reply, err := s.open(ctx, core.KReadRange, key, off, n)
	if reply.Outcome != core.OK {
		return reply, err
	}
	reply.Val, err = drain(r, min(n, reply.Size-off))
	if err != nil {
		return unknown("read %d bytes of %s/%s: %w", n, s.name, key, err)
	}
	return reply, nil
}

// readTail reads the last n bytes of an object, or all of a shorter one. An empty
// object has none: OutOfRange.
func (s *Store) readTail(ctx context.Context, key string, n int64) (core.Reply, error) {
	if n <= 0 {
		return refuse("read the last %d bytes of %s/%s", n, s.name, key)
	}
	r, err := s.get(ctx, core.KReadTail, key, "bytes=-"+strconv.FormatInt(n, 10))
	if err != nil && fault(core.KReadTail, err).Status == 416 {
		// Only an empty object has no last byte: be sure that it is one (C41). Some
		// servers want no suffix that is longer than the object.
		reply, serr := s.stat(ctx, key)
		switch {
		case reply.Outcome != core.OK:
			return reply, serr
		case reply.Size == 0:
			return core.Reply{Outcome: core.OutOfRange}, nil
		case reply.Size < n:
			return s.readTail(ctx, key, reply.Size)
		}
		return unknown("read the tail of %s/%s: refused, but it has %d bytes: %w", s.name, key, reply.Size, err)
	}
	if err != nil {
		return failed(core.KReadTail, err)
	}
	if r.size == 0 {
		_ = r.body.Close()
		return core.Reply{Outcome: core.OutOfRange}, nil
	}
	want := min(n, r.size)
	if r.size < 0 || r.off != r.size-want && r.off != 0 {
		_ = r.body.Close()
		return unknown("read the tail of %s/%s: the answer begins at %d of %d", s.name, key, r.off, r.size)
	}
	if err := r.skip(r.size - want - r.off); err != nil {
		return unknown("read the tail of %s/%s: %w", s.name, key, err)
	}
	val, err := drain(r.body, want)
	if err != nil {
		return unknown("read the tail of %s/%s: %w", s.name, key, err)
	}
	return core.Reply{Val: val, Size: r.size}, nil
}

// Open begins to read a range, or all of an object for n < 0; see
// exec.ObjectStore.
func (s *Store) Open(ctx context.Context, key string, off, n int64) (io.ReadCloser, core.Reply, error) {
	return s.open(ctx, core.KFetch, key, off, n)
}

func (s *Store) open(ctx context.Context, kind core.Kind, key string, off, n int64) (io.ReadCloser, core.Reply, error) {
	if n == 0 { // a range of no bytes cannot be written down
		reply, err := s.stat(ctx, key)
		if reply.Outcome == core.OK && off >= reply.Size {
			reply = core.Reply{Outcome: core.OutOfRange}
		}
		return io.NopCloser(strings.NewReader("")), reply, err
	}
	rng := ""
	if n > 0 {
		rng = fmt.Sprintf("bytes=%d-%d", off, off+n-1)
	} else if off != 0 {
		reply, err := refuse("read %s/%s: the whole of it begins at 0, not at %d", s.name, key, off)
		return nil, reply, err
	}
	r, err := s.get(ctx, kind, key, rng)
	if err != nil {
		reply, err := failed(kind, err)
		return nil, reply, err
	}
	switch {
	case r.size < 0:
		err = errors.New("the answer does not say how long the object is")
	case r.off > off:
		err = fmt.Errorf("the answer begins at %d, not at %d", r.off, off)
	case off >= r.size && n > 0:
		_ = r.body.Close() // a server that ignores ranges
		return nil, core.Reply{Outcome: core.OutOfRange}, fmt.Errorf("%s/%s has %d bytes, not %d", s.name, key, r.size, off)
	default:
		err = r.skip(off - r.off)
	}
	if err != nil {
		_ = r.body.Close()
		reply, err := unknown("read %s/%s: %w", s.name, key, err)
		return nil, reply, err
	}
	want := r.size - off
	if n > 0 {
		want = min(n, want)
	}
	return &exactly{r: r.body, left: want}, core.Reply{Size: r.size}, nil
}

// answer is a GET's: its bytes begin at off of an object of size bytes (-1:
// it does not say).
type answer struct {
	body      io.ReadCloser
	off, size int64
}

// get sends a GET; an empty rng asks for everything.
func (s *Store) get(ctx context.Context, kind core.Kind, key, rng string) (answer, error) {
	in := &s3.GetObjectInput{Bucket: &s.bucket, Key: &key}
	if rng != "" {
		in.Range = &rng
	}
	out, err := s.e.client.GetObject(ctx, in)
	if err != nil {
		return answer{}, err
	}
	a := answer{body: out.Body, size: -1}
	if out.ContentRange == nil {
		if out.ContentLength != nil {
			a.size = *out.ContentLength
		}
		return a, nil
	}
	if a.off, a.size, err = parseRange(*out.ContentRange); err != nil {
		_ = out.Body.Close()
		return answer{}, fmt.Errorf("%s %s/%s: %w", kind, s.name, key, err)
	}
	return a, nil
}

// skip drops bytes that were not asked for, from a server that ignores ranges.
func (a *answer) skip(n int64) error {
	if n == 0 {
		return nil
	}
	_, err := io.CopyN(io.Discard, a.body, n)
	return err
}

// parseRange reads a Content-Range: "bytes 0-9/100", or "/*" for a size that the
// server does not know.
func parseRange(h string) (off, size int64, err error) {
	span, total, whole := strings.Cut(strings.TrimPrefix(h, "bytes "), "/")
	first, end, both := strings.Cut(span, "-")
	number := func(s string) int64 { // digits, and nothing else
		n, wrong := strconv.ParseUint(s, 10, 63)
		if wrong != nil {
			err = wrong
		}
		return int64(n)
	}
	off, last := number(first), number(end)
	if size = -1; total != "*" {
		size = number(total)
	}
	if err != nil || !whole || !both || !strings.HasPrefix(h, "bytes ") || last < off || size >= 0 && size <= last {
		return 0, 0, fmt.Errorf("content range %q does not parse", h)
	}
	return off, size, nil
}

// exactly reads a known number of bytes: an earlier end is an error, and what the
// server sends beyond it is not read.
type exactly struct {
	r    io.ReadCloser
	left int64
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > e.left {
		p = p[:e.left]
	}
	n, err := e.r.Read(p)
	e.left -= int64(n)
	if err == io.EOF && e.left > 0 {
		err = io.ErrUnexpectedEOF
	} else if e.left == 0 && err != nil {
		err = nil // all of it is here: how the connection ended is nobody's concern
	}
	return n, err
}

func (e *exactly) Close() error { return e.r.Close() }

// drain reads n bytes, no fewer, and closes r.
func drain(r io.ReadCloser, n int64) (string, error) {
	defer func() { _ = r.Close() }()
	var b strings.Builder
	b.Grow(int(n))
	got, err := io.Copy(&b, io.LimitReader(r, n))
	if err == nil && got < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", fmt.Errorf("%d of %d bytes came: %w", got, n, err)
	}
	return b.String(), nil
}

// str is a pointer for the SDK's inputs.
func str(s string) *string { return aws.String(s) }
