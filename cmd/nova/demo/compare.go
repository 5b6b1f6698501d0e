package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"nova/prod/daemon"
)

// absorbWithin is how long what is acknowledged may take to be readable.
const absorbWithin = 30 * time.Second

// compareAll reads every input's stream back, and tells say of each whether it is
// the input. An error is of the demo itself.
func (d *demo) compareAll(ctx context.Context, say func(r *InputReport, ok bool)) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for _, in := range d.inputs {
		g.Go(func() error {
			err := d.compare(ctx, in)
			if cerr := ctx.Err(); cerr != nil {
				return cerr
			}
			say(in.report, err == nil)
			if err != nil {
				d.failed("%s: %v", in.address(), err)
			}
			return nil
		})
	}
	return g.Wait()
}

// compare reads a stream from its beginning to its end: as many records as the
// input has lines, with the same running hash.
func (d *demo) compare(ctx context.Context, in *input) error {
	if err := d.absorbed(ctx, in); err != nil {
		return err
	}
	sum := newDigest()
	next, err := d.session.Read(ctx, in.id, 0, 0, func(r daemon.Record) error {
		sum.add(r.Data)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read back, to record %d of %d: %w", next, in.report.Records, err)
	}
	if sum.count == in.report.Records && sum.sum() == in.report.SHA256 {
		return nil
	}
	return d.differs(ctx, in, sum)
}

// absorbed waits until everything that is acknowledged can be read.
func (d *demo) absorbed(ctx context.Context, in *input) error {
	deadline := time.Now().Add(absorbWithin)
	for {
		at, err := d.session.Info(ctx, in.id)
		if err == nil && at.End >= in.report.Records {
			return nil
		}
		if err == nil && time.Now().After(deadline) {
			err = fmt.Errorf("%d of %d records can be read %v after the last was acknowledged", at.End, in.report.Records, absorbWithin)
		}
		if err != nil {
			return err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// differs finds the first record that is not its line.
func (d *demo) differs(ctx context.Context, in *input, sum *digest) error {
	r, err := in.open()
	if err != nil {
		return fmt.Errorf("open the input: %w", err)
	}
	defer func() { _ = r.Close() }()
	lines := daemon.NewLines(r)
	_, err = d.session.Read(ctx, in.id, 0, 0, func(r daemon.Record) error {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("record %d is %.60q, and the input has no such line", r.Seq, r.Data)
		case err != nil:
			return err
		case !bytes.Equal(line, r.Data):
			return fmt.Errorf("record %d is %.60q (%d bytes), and the line %.60q (%d bytes): was the file changed?", r.Seq, r.Data, len(r.Data), line, len(line))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return fmt.Errorf("it held %d records with the hash %s, and the input has %d lines with %s", sum.count, sum.sum(), in.report.Records, in.report.SHA256)
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, t time.Duration) error {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
