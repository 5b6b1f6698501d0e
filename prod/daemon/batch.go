package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"nova/core"
	"nova/core/format"
	"nova/core/serve"
)

// BatchLimits bounds what a Batcher gathers. A zero field takes its default.
type BatchLimits struct {
	Linger   time.Duration // a record waits for company this long; 0 is 4 ms
	Slot     int64         // bytes of records that close a slot; 0 is 4 MiB
	Buffered int64         // bytes that wait or are on their way before Append blocks; 0 is 32 MiB
	Flying   int           // slots on their way at once; 0 is 4
}

func (l BatchLimits) orDefaults() BatchLimits {
	if l.Linger <= 0 {
		l.Linger = 4 * time.Millisecond
	}
	if l.Slot <= 0 {
		l.Slot = 4 << 20
	}
	if l.Buffered <= 0 {
		l.Buffered = 32 << 20
	}
	if l.Flying <= 0 {
		l.Flying = 4
	}
	return l
}

// Batcher gathers the records of many streams into slots: one chunk a stream a
// slot. A stream has at most one chunk on its way. So its records are
// acknowledged in the order in which they were given, and when one is not, none
// that was given after it is either.
type Batcher struct {
	limits BatchLimits
	now    func() core.Ms
	blobs  *Blobs
	send   func(ctx context.Context, r serve.Request) (serve.Answer, error)
	ctx    context.Context
	wg     sync.WaitGroup

	mu       sync.Mutex
	lines    map[uint64]*line
	ready    []*line // that have a chunk and none on its way, oldest first
	waiting  int64   // bytes of the ready lines' chunks
	buffered int64
	flying   int
	room     chan struct{} // closed and replaced when bytes were freed
	timer    *time.Timer
}

// line is one stream's records on their way.
type line struct {
	id     uint64
	chunk  *openChunk // gathers
	flying bool
}

type openChunk struct {
	chunk
	since   time.Time
	waiters []*Pending
}

// Pending is records that were given to a Batcher.
type Pending struct {
	at    uint32 // where they begin in their chunk
	done  chan struct{}
	first uint64
	err   error
}

// First waits until the records are acknowledged, and is the sequence number of
// the first of them. After an error that wraps ErrUndecided they may be in, or
// come in later.
func (p *Pending) First(ctx context.Context) (uint64, error) {
	select {
	case <-p.done:
		return p.first, p.err
	case <-ctx.Done():
		return 0, fmt.Errorf("await an acknowledgement: %w: %w", ErrUndecided, context.Cause(ctx))
	}
}

// ErrUndecided is wrapped by errors after which nobody knows whether it happened.
var ErrUndecided = errors.New("undecided: it may have happened, or may happen later")

// newBatcher makes a batcher whose slots go out by send, until ctx ends.
func newBatcher(ctx context.Context, l BatchLimits, now func() core.Ms, send func(context.Context, serve.Request) (serve.Answer, error)) *Batcher {
	b := &Batcher{limits: l.orDefaults(), now: now, blobs: newBlobs(), send: send, ctx: ctx, lines: map[uint64]*line{}, room: make(chan struct{})}
	b.timer = time.AfterFunc(time.Hour, b.flush)
	b.timer.Stop()
	return b
}

// Append gives records to a stream that the star has open. It copies them, blocks
// while too much is buffered, and returns before they are acknowledged. Between
// two calls of one caller their order is kept.
func (b *Batcher) Append(ctx context.Context, stream uint64, records ...[]byte) (*Pending, error) {
	if len(records) == 0 {
		return nil, errors.New("append to a stream: no record given")
	}
	n := chunkRoom
	for _, r := range records {
		if len(r) > MaxRecord {
			return nil, fmt.Errorf("append to stream %d: a record of %d bytes, at most %d: split it", stream, len(r), MaxRecord)
		}
		n += recordRoom(len(r))
	}
	for {
		b.mu.Lock()
		l := b.line(stream)
		if b.ctx.Err() == nil && b.buffered < b.limits.Buffered &&
			(l.chunk == nil || int64(len(l.chunk.bytes)+n) <= b.limits.Slot) {
			defer b.mu.Unlock()
			return b.add(l, records, n), nil
		}
		room := b.room
		b.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return nil, fmt.Errorf("append to stream %d: no room: %w", stream, context.Cause(ctx))
		case <-b.ctx.Done():
			return nil, fmt.Errorf("append to stream %d: the star is gone: %w", stream, context.Cause(b.ctx))
		}
	}
}

func (b *Batcher) line(stream uint64) *line {
	l, ok := b.lines[stream]
	if !ok {
		l = &line{id: stream}
		b.lines[stream] = l
	}
	return l
}

// add appends records to a stream's chunk. b.mu is held.
func (b *Batcher) add(l *line, records [][]byte, n int) *Pending {
	c := l.chunk
	if c == nil {
		c = &openChunk{since: time.Now()}
		l.chunk = c
		if !l.flying {
			b.ready = append(b.ready, l)
		}
	}
	before := len(c.bytes)
	if n > len(c.bytes) {
		c.bytes = slices.Grow(c.bytes, n)
	}
	p := &Pending{at: c.count, done: make(chan struct{})}
	now := b.now()
	for _, r := range records {
		c.add(now, r)
	}
	c.waiters = append(c.waiters, p)
	added := int64(len(c.bytes) - before)
	b.buffered += added
	if !l.flying {
		b.waiting += added
	}
	b.launch()
	return p
}

// flush sends what has waited long enough.
func (b *Batcher) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.launch()
}

// launch sends slots as long as there is one to send. b.mu is held.
func (b *Batcher) launch() {
	for len(b.ready) > 0 && b.flying < b.limits.Flying && b.ctx.Err() == nil {
		if age := time.Since(b.ready[0].chunk.since); b.waiting < b.limits.Slot && age < b.limits.Linger {
			b.timer.Reset(b.limits.Linger - age)
			return
		}
		b.launchOne()
	}
}

// bundle is the chunks of one slot on their way.
type bundle struct {
	lines  []*line
	chunks []*openChunk
	req    serve.Request
}

func (b *Batcher) launchOne() {
	var s bundle
	var size int64
	s.req.Verb = serve.VerbAppend
	n := 0
	for n < len(b.ready) && len(s.lines) < serve.MaxChunks && (n == 0 || size+int64(len(b.ready[n].chunk.bytes)) <= b.limits.Slot) {
		l := b.ready[n]
		c := l.chunk
		l.chunk, l.flying = nil, true
		size += int64(len(c.bytes))
		s.lines, s.chunks = append(s.lines, l), append(s.chunks, c)
		s.req.Chunks = append(s.req.Chunks, serve.AppendChunk{
			Stream: l.id, Count: c.count, CRC: format.CRC(c.bytes), Len: int64(len(c.bytes)),
			Blob: b.blobs.put(c.bytes), Oldest: c.oldest, Newest: c.newest,
		})
		n++
	}
	b.ready = slices.Delete(b.ready, 0, n)
	b.waiting -= size
	b.flying++
	b.wg.Go(func() {
		a, err := b.send(b.ctx, s.req)
		b.finish(&s, a, err)
	})
}

// finish tells the waiters of a slot what became of it.
func (b *Batcher) finish(s *bundle, a serve.Answer, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flying--
	if err == nil && (a.Outcome != serve.Acked || len(a.Acks) != len(s.chunks)) {
		err = reasonError(a.Reason)
		if a.Outcome != serve.Failed {
			err = fmt.Errorf("append: the star answered with %d, %d chunks: %w", a.Outcome, len(a.Acks), ErrUndecided)
		}
	}
	for i, c := range s.chunks {
		b.blobs.drop(s.req.Chunks[i].Blob)
		b.buffered -= int64(len(c.bytes))
		l, cerr := s.lines[i], err
		l.flying = false
		if cerr == nil && a.Acks[i].Reason != serve.None {
			cerr = reasonError(a.Acks[i].Reason)
		}
		if cerr != nil {
			c.tell(0, cerr)
			b.spoil(l, cerr)
		} else {
			c.tell(a.Acks[i].First, nil)
		}
		switch {
		case l.chunk != nil:
			b.ready = append(b.ready, l)
			b.waiting += int64(len(l.chunk.bytes))
		default:
			delete(b.lines, l.id)
		}
	}
	close(b.room)
	b.room = make(chan struct{})
	b.launch()
}

// spoil fails what a stream has gathered behind a chunk that failed.
func (b *Batcher) spoil(l *line, err error) {
	if l.chunk == nil {
		return
	}
	b.buffered -= int64(len(l.chunk.bytes))
	l.chunk.tell(0, fmt.Errorf("records before these were not acknowledged: %w", err))
	l.chunk = nil
}

func (c *openChunk) tell(first uint64, err error) {
	for _, p := range c.waiters {
		p.first, p.err = first+uint64(p.at), err
		close(p.done)
	}
	c.waiters = nil
}

// wait returns once nothing is on its way; the context must have ended. What was
// never sent fails.
func (b *Batcher) wait() {
	b.wg.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer.Stop()
	for _, l := range b.lines {
		b.spoil(l, fmt.Errorf("the star is gone: %w", context.Cause(b.ctx)))
	}
	clear(b.lines)
	b.ready = nil
}
