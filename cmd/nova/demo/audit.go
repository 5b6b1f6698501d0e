package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"nova/core"
	"nova/prod/daemon"
)

// auditCache bounds the fetch cache of one auditor.
const auditCache = 64 << 20

// audit lets two auditors work until nothing is due any more.
func (d *demo) audit(ctx context.Context) error {
	d.progress.enter("auditing")
	var auditors []*daemon.Auditor
	start := func(id string) error {
		a, err := d.cluster.StartAuditor(daemon.AuditorConfig{ID: id, Cache: auditCache, Tally: d.tally})
		if err == nil {
			auditors = append(auditors, a)
		}
		return err
	}
	defer func() {
		for _, a := range auditors {
			a.Kill()
		}
	}()
	for _, id := range []string{"auditor-a", "auditor-b"} {
		if err := start(id); err != nil {
			return err
		}
	}

	reading, stop := context.WithCancel(ctx)
	var reader errgroup.Group
	reader.Go(func() error { return d.readOn(reading) })
	defer func() { stop(); _ = reader.Wait() }()

	var lives errgroup.Group
	lives.Go(func() error { return d.live(ctx) })
	// Once there is something to interrupt, one auditor dies, and another begins.
	for begun := time.Now(); time.Since(begun) < 5*time.Second && d.tally.Of(core.NoteAnnounced) < 2; {
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return errors.Join(err, lives.Wait())
		}
	}
	auditors[1].Kill()
	auditors = auditors[:1]
	if err := start("auditor-c"); err != nil {
		return errors.Join(err, lives.Wait())
	}
	d.progress.say("auditor-b was killed at work; auditor-c takes over")
	if err := lives.Wait(); err != nil {
		return err
	}

	// The stars go: their chains can be settled and trimmed to the end.
	for _, k := range d.stars {
		if err := k.close(ctx); err != nil {
			return err
		}
	}
	d.progress.enter("waiting for what is due")
	if err := d.drained(ctx, auditors); err != nil {
		return err
	}
	stop()
	if err := reader.Wait(); err != nil {
		return err
	}
	for _, a := range auditors {
		if err := a.Close(ctx); err != nil {
			return err
		}
	}
	auditors = nil
	return nil
}

// readOn reads the inputs' streams back again and again: no reader ever meets an
// object that is missing, whatever the auditors do. It spends at most half of its
// time reading.
func (d *demo) readOn(ctx context.Context) error {
	for {
		for _, in := range d.inputs {
			began := time.Now()
			err := d.compare(ctx, in)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				d.failed("%s: while the auditors worked: %v", in.address(), err)
				return nil
			}
			d.passes.Add(1)
			if sleep(ctx, max(time.Since(began), 50*time.Millisecond)) != nil {
				return nil
			}
		}
	}
}

// drained waits until no marker stands. As long as something moves it waits on.
func (d *demo) drained(ctx context.Context, auditors []*daemon.Auditor) error {
	var seen string
	moved := time.Now()
	for {
		for _, a := range auditors {
			select {
			case <-a.Done():
				return fmt.Errorf("an auditor has ended: %w", a.Err())
			default:
			}
		}
		all, err := d.cluster.Markers(ctx)
		if err != nil {
			return err
		}
		left := standing(all)
		if left == "" {
			return nil
		}
		d.progress.detail(left)
		if now := left + d.state(); now != seen {
			seen, moved = now, time.Now()
		}
		if time.Since(moved) > d.cfg.Drain {
			d.failed("nothing has moved for %v, and markers stand: %s", d.cfg.Drain, left)
			return nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// standing writes the queues that have markers.
func standing(all map[string]int64) string {
	var parts []string
	for _, q := range slices.Sorted(maps.Keys(all)) {
		if n := all[q]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", q, n))
		}
	}
	return strings.Join(parts, ", ")
}
