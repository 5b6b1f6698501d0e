package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"nova/core"
	"nova/core/keys"
	"nova/core/serve"
	"nova/core/transcript"
	"nova/prod/exec"
)

// StarConfig says what star to run.
type StarConfig struct {
	ID    string // the star's name: it outlives its processes
	Class core.Class
	Batch BatchLimits
	Tally *Tally // may be shared; nil makes one
}

// Star runs a star in this process: the core's root machine, and beside it what
// gathers records into slots.
type Star struct {
	id    string
	host  *host
	log   *slog.Logger
	batch *Batcher
	queue *exec.Queue
	retry time.Duration

	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the machine has ended
	err    error         // why, once done is closed

	next  atomic.Uint64
	mu    sync.Mutex
	calls map[uint64]chan serve.Answer
}

// errStarGone is the cause when a star's machine ended.
var errStarGone = errors.New("the star has ended")

// StartStar starts a star. It runs until Close or Kill, or its machine ends; Done
// says so.
func (c *Cluster) StartStar(cfg StarConfig) (*Star, error) {
	if err := keys.CheckStar(cfg.ID); err != nil {
		return nil, fmt.Errorf("start a star: %w", err)
	}
	log := c.Log.With("star", cfg.ID)
	s := &Star{id: cfg.ID, log: log, done: make(chan struct{}), calls: map[uint64]chan serve.Answer{}}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.batch = newBatcher(s.ctx, cfg.Batch, Now, s.call)
	s.retry = time.Duration(c.Dials.BackoffFirst) * time.Millisecond
	var err error
	s.host, err = c.newHost(cfg.ID, cfg.Tally, log, func(o *exec.Options) { o.Blobs = s.batch.blobs })
	if err != nil {
		return nil, fmt.Errorf("start star %s: %w", cfg.ID, err)
	}
	s.queue = s.host.driver.Queue(serve.Queue)
	m := &serve.Star{Name: cfg.ID, Class: cfg.Class}
	go s.run(func() error {
		return c.run(s.ctx, s.host, transcript.Begin{Role: transcript.Star, Name: m.Name, Class: m.Class}, m, func(t core.Turn) bool { return m.Step(t, &s.host.env) })
	})
	return s, nil
}

// run drives the machine and hands its answers out until it ends.
func (s *Star) run(drive func() error) {
	var answers sync.WaitGroup
	answers.Go(func() { s.deliver(s.ctx) })
	err := drive()
	if err == nil {
		err = errStarGone
		last, cancel := context.WithTimeout(context.Background(), lastAnswers)
		s.deliver(last)
		cancel()
	}
	s.cancel(err)
	answers.Wait()
	s.batch.wait()
	s.err = err
	close(s.done)
}

// lastAnswers is how long the answers of a machine that has ended may take to
// come out of its queue.
const lastAnswers = 20 * time.Millisecond

// deliver hands the machine's answers to those who wait for them, until ctx ends.
func (s *Star) deliver(ctx context.Context) {
	for {
		v, err := s.queue.Answer(ctx)
		if err != nil {
			return
		}
		a, err := serve.DecodeAnswer(v)
		if err != nil {
			s.log.Error("the star's machine gave an answer that does not decode: this is a bug", "err", err)
			continue
		}
		s.mu.Lock()
		to := s.calls[a.ID]
		delete(s.calls, a.ID)
		s.mu.Unlock()
		if to != nil {
			to <- a
		}
	}
}

// call sends a request to the machine and waits for its answer.
func (s *Star) call(ctx context.Context, r serve.Request) (serve.Answer, error) {
	r.ID = s.next.Add(1)
	to := make(chan serve.Answer, 1)
	s.mu.Lock()
	s.calls[r.ID] = to
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.calls, r.ID)
		s.mu.Unlock()
	}()
	if err := s.queue.Push(ctx, r.Encode()); err != nil {
		return serve.Answer{}, fmt.Errorf("ask star %s: %w: %w", s.id, ErrUndecided, err)
	}
	select {
	case a := <-to:
		return a, nil
	case <-ctx.Done():
		return serve.Answer{}, fmt.Errorf("await star %s's answer: %w: %w", s.id, ErrUndecided, context.Cause(ctx))
	case <-s.ctx.Done():
		select {
		case a := <-to: // it came with the star's end
			return a, nil
		default:
		}
		return serve.Answer{}, fmt.Errorf("await star %s's answer: %w: %w", s.id, ErrUndecided, context.Cause(s.ctx))
	}
}

// Open makes the star the leader of a stream, or finds that it is, and returns
// the stream's next sequence number: of a stream that was not open here, or whose
// last append failed, that is the number of the records that are in. While
// another star's lease runs out, or nothing is definite, it tries again until ctx
// ends.
func (s *Star) Open(ctx context.Context, stream uint64) (next uint64, err error) {
	for {
		a, err := s.call(ctx, serve.Request{Verb: serve.VerbOpen, Stream: stream})
		if err == nil && a.Outcome == serve.Opened {
			return a.Next, nil
		}
		if err == nil {
			err = reasonError(a.Reason)
		}
		if r := Reason(err); r != serve.Held && r != serve.Undecided && r != serve.Busy {
			return 0, fmt.Errorf("open stream %d on star %s: %w", stream, s.id, err)
		}
		select {
		case <-time.After(s.retry):
		case <-ctx.Done():
			return 0, fmt.Errorf("open stream %d on star %s: %w", stream, s.id, err)
		}
	}
}

// Append gives records to a stream that is open; see Batcher.Append. After
// an error open the stream again.
func (s *Star) Append(ctx context.Context, stream uint64, records ...[]byte) (*Pending, error) {
	return s.batch.Append(ctx, stream, records...)
}

// Done is closed when the star's machine has ended; Err then says why.
func (s *Star) Done() <-chan struct{} { return s.done }

// Err is why the star ended; call it once Done is closed.
func (s *Star) Err() error {
	if errors.Is(s.err, errStarGone) || errors.Is(s.err, errKilled) {
		return nil
	}
	return s.err
}

// Close asks the star to absorb everything, hand its streams back and end, and
// gives its registration back. When ctx ends before it has, the star is dropped
// as it is, like by Kill.
func (s *Star) Close(ctx context.Context) error {
	a, err := s.call(ctx, serve.Request{Verb: serve.VerbClose})
	if err == nil && a.Outcome != serve.Closed {
		err = reasonError(a.Reason)
	}
	if err != nil {
		s.Kill()
		return fmt.Errorf("close star %s: %w", s.id, err)
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		s.Kill()
		return fmt.Errorf("close star %s: %w", s.id, context.Cause(ctx))
	}
	if err := s.host.leave(ctx); err != nil {
		return fmt.Errorf("close star %s: %w", s.id, err)
	}
	return s.Err()
}

var errKilled = errors.New("the star was killed")

// Kill drops the star as a crash would: nothing is absorbed, handed back or
// released.
func (s *Star) Kill() {
	s.cancel(errKilled)
	<-s.done
	s.host.die()
}
