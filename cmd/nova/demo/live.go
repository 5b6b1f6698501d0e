package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"nova/core"
	"nova/prod/daemon"
)

// livesBucket is the namespace of the small streams that live and die during the
// demo, so that every duty has something to do.
const livesBucket = "demo-lives"

// livesWithin bounds one wait for the auditors.
const livesWithin = 90 * time.Second

// live lets small streams live: one outlives its star, one is deleted and its
// address taken again, one ages.
func (d *demo) live(ctx context.Context) error {
	// What an earlier run left is deleted first.
	err := d.session.Streams(ctx, livesBucket, func(in daemon.Info) error { return d.session.Delete(ctx, in.ID) })
	if err != nil {
		return err
	}
	if err := d.outlive(ctx); err != nil {
		return fmt.Errorf("a stream outlives its star: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := d.again(ctx); err != nil {
			return fmt.Errorf("a stream is deleted and its address taken again: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		if err := d.age(ctx); err != nil {
			return fmt.Errorf("a stream ages: %w", err)
		}
		return nil
	})
	return g.Wait()
}

// text makes a small text of some lines of about 100 bytes.
func text(of string, lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%s, line %d %s\n", of, i, strings.Repeat(".", 80))
	}
	return b.String()
}

// small makes an input of a text.
func (d *demo) small(name string, class core.Class, body string) *input {
	return &input{bucket: livesBucket, name: name, class: class, size: int64(len(body)), open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(body)), nil
	}}
}

// check compares a small stream with what it should hold, and notes a failure.
func (d *demo) check(ctx context.Context, in *input, when string) error {
	if err := d.compare(ctx, in); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d.failed("%s, %s: %v", in.address(), when, err)
	}
	return nil
}

// outlive kills a star behind its last acknowledgement: what it had acknowledged
// and not absorbed is found on its chain by whoever opens the stream next.
func (d *demo) outlive(ctx context.Context) error {
	in := d.small("outlives its star", core.Standard, text("acknowledged by a star that dies", 300))
	if err := d.take(ctx, in); err != nil {
		return err
	}
	d.stars[core.Standard].kill()
	d.progress.say("star %s was killed behind its last acknowledgement", d.stars[core.Standard].id)
	more := d.small(in.name, in.class, text("acknowledged by a star that dies", 300)+text("and by the next", 100))
	if err := d.take(ctx, more); err != nil {
		return err
	}
	if err := d.check(ctx, more, "after its star was killed"); err != nil {
		return err
	}
	return d.session.Delete(ctx, more.id)
}

// again deletes a stream that is settled, and takes its address at once: the new
// stream never shows an old byte, and neither waits for the other.
func (d *demo) again(ctx context.Context) error {
	old := d.small("taken again", core.Standard, text("of the first who had this address", 500))
	if err := d.take(ctx, old); err != nil {
		return err
	}
	if err := d.settled(ctx, old); err != nil {
		return err
	}
	if err := d.session.Delete(ctx, old.id); err != nil {
		return err
	}
	next := d.small(old.name, core.Express, text("of the second", 200))
	if err := d.take(ctx, next); err != nil {
		return err
	}
	if next.id == old.id || next.report.Already != 0 {
		d.failed("%s: the new stream is %d with %d records, the old one was %d", next.address(), next.id, next.report.Already, old.id)
	}
	if err := d.check(ctx, next, "taken again"); err != nil {
		return err
	}
	return d.session.Delete(ctx, next.id)
}

// age gives a stream an age policy for a while, so that the first part of its one
// object dies: retention raises its live-from, and GC moves the rest out.
func (d *demo) age(ctx context.Context) error {
	old := text("this line is too old", 400)
	in := d.small("ages", core.Standard, old)
	if err := d.take(ctx, in); err != nil {
		return err
	}
	if err := d.settled(ctx, in); err != nil {
		return err
	}
	// Long enough for the young lines to be settled into the same object before it
	// is over.
	maxAge := 2*d.cfg.Dials.AgeCap[core.Standard] + 2000
	if err := d.session.SetPolicy(ctx, in.id, maxAge); err != nil {
		return err
	}
	if err := sleep(ctx, time.Duration(maxAge/4)*time.Millisecond); err != nil {
		return err
	}
	young := d.small(in.name, in.class, old+text("this line is young", 100))
	if err := d.take(ctx, young); err != nil {
		return err
	}
	// Retention's pass comes one policy after the policy was set: before the young
	// lines are too old themselves, the policy is lifted.
	err := d.until(ctx, "retention to trim the old lines", func() (bool, error) {
		at, err := d.session.Info(ctx, in.id)
		return at.First > 0, err
	})
	if err != nil {
		return err
	}
	if err := d.session.SetPolicy(ctx, in.id, 0); err != nil {
		return err
	}
	at, err := d.session.Info(ctx, in.id)
	if err != nil {
		return err
	}
	n := uint64(0)
	next, err := d.session.Read(ctx, in.id, at.First, 0, func(r daemon.Record) error {
		if !strings.HasPrefix(string(r.Data), "this line is young") {
			return fmt.Errorf("record %d above the watermark is %.40q", r.Seq, r.Data)
		}
		n++
		return nil
	})
	if err != nil || next != young.report.Records {
		d.failed("%s: read %d records from %d, to %d of %d: %v", in.address(), n, at.First, next, young.report.Records, err)
	}
	return nil
}

// settled waits until a stream's rows name no slot any more.
func (d *demo) settled(ctx context.Context, in *input) error {
	return d.until(ctx, in.address()+" to be settled", func() (bool, error) {
		if err := d.absorbed(ctx, in); err != nil {
			return false, err
		}
		n, err := d.session.Unsettled(ctx, in.id)
		return n == 0, err
	})
}

// until waits until something holds.
func (d *demo) until(ctx context.Context, what string, holds func() (bool, error)) error {
	deadline := time.Now().Add(livesWithin)
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			all, _ := d.cluster.Markers(ctx)
			return fmt.Errorf("waited %v for %s; markers that stand: %s", livesWithin, what, standing(all))
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
