package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"nova/core"
	"nova/core/serve"
	"nova/prod/daemon"
)

const (
	takeWidth  = 4 // inputs that are taken in abreast
	openWithin = time.Minute
)

// starKeeper keeps a star of one class running: another takes over when it dies.
type starKeeper struct {
	d     *demo
	id    string
	class core.Class

	mu   sync.Mutex
	star *daemon.Star
}

// get is the star, or a new one when the last has ended.
func (k *starKeeper) get() (*daemon.Star, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.star != nil {
		select {
		case <-k.star.Done():
			k.d.progress.say("star %s has ended (%v): another takes over", k.id, k.star.Err())
			k.star.Kill()
			k.star = nil
		default:
			return k.star, nil
		}
	}
	s, err := k.d.cluster.StartStar(daemon.StarConfig{ID: k.id, Class: k.class, Tally: k.d.tally})
	if err != nil {
		return nil, err
	}
	k.star = s
	return s, nil
}

// kill drops the star as a crash would.
func (k *starKeeper) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.star != nil {
		k.star.Kill()
		k.star = nil
	}
}

// close ends the star in good order.
func (k *starKeeper) close(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.star == nil {
		return nil
	}
	err := k.star.Close(ctx)
	k.star = nil
	return err
}

// stream finds or makes the stream of an input, and says of which class it is.
func (d *demo) stream(ctx context.Context, in *input) (uint64, core.Class, error) {
	id, err := d.session.Create(ctx, serve.Spec{Bucket: in.bucket, Name: in.name, Class: in.class})
	if err == nil {
		return id, in.class, nil
	}
	if daemon.Reason(err) != serve.NameTaken {
		return 0, 0, err
	}
	at, err := d.session.Info(ctx, id)
	return id, at.Stream.Class, err
}

// takeIn appends every line of every input that is not in yet.
func (d *demo) takeIn(ctx context.Context) error {
	d.progress.enter("taking in")
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(takeWidth)
	for _, in := range d.inputs {
		g.Go(func() error {
			if err := d.take(ctx, in); err != nil {
				return fmt.Errorf("take in %s: %w", in.name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// take appends the lines of one input. How many are in already is the stream's
// end: a line's number is its sequence number.
func (d *demo) take(ctx context.Context, in *input) (err error) {
	if in.id, in.class, err = d.stream(ctx, in); err != nil {
		return err
	}
	in.report = &InputReport{File: in.path, Stream: in.address(), Class: in.class.String()}
	for try := 0; ; try++ {
		err := d.append(ctx, in, try == 0)
		var broken *appendError
		if !errors.As(err, &broken) || ctx.Err() != nil {
			return err
		}
		d.progress.say("%s: an append was not acknowledged (%v): going on from what is in", in.name, broken.err)
	}
}

// appendError is an append that failed on the star's side: what is in says the
// stream, once it is opened again.
type appendError struct{ err error }

func (e *appendError) Error() string { return e.err.Error() }
func (e *appendError) Unwrap() error { return e.err }

// append appends the lines of an input from the stream's end on.
func (d *demo) append(ctx context.Context, in *input, first bool) error {
	star, err := d.stars[in.class].get()
	if err != nil {
		return err
	}
	octx, cancel := context.WithTimeout(ctx, openWithin)
	next, err := star.Open(octx, in.id)
	cancel()
	if err != nil {
		select {
		case <-star.Done(): // another takes over
			return &appendError{err}
		default:
			return err
		}
	}
	if first {
		in.report.Already = next
	}
	r, err := in.open()
	if err != nil {
		return fmt.Errorf("open the input: %w", err)
	}
	defer func() { _ = r.Close() }()
	lines, sum := daemon.NewLines(r), newDigest()
	a := star.Appender(in.id)
	a.Alone = true
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if sum.count == in.report.Already {
			in.already = sum.bytes
		}
		if sum.add(line); sum.count > next {
			if err := a.Add(ctx, line); err != nil {
				return &appendError{err}
			}
		}
		in.seen.Store(sum.bytes + int64(sum.count))
	}
	if sum.count < next {
		return fmt.Errorf("stream %s holds %d records and the input has %d lines: was the file changed? Use another --data", in.address(), next, sum.count)
	}
	if err := a.Flush(ctx); err != nil {
		return &appendError{err}
	}
	if a.Acked > 0 && a.First != next {
		return fmt.Errorf("line %d of the input was acknowledged as record %d", next+1, a.First)
	}
	if sum.count == in.report.Already {
		in.already = sum.bytes
	}
	in.report.Records, in.report.Bytes, in.report.SHA256 = sum.count, sum.bytes, sum.sum()
	return nil
}
