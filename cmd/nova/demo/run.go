package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"nova/core"
	"nova/core/keys"
	"nova/prod/daemon"
	"nova/prod/embedded"
	"nova/prod/journal"
	"nova/prod/s3store"
)

// Config says what to demonstrate.
type Config struct {
	Data     string   // directory; "" is one that is removed when all is well, or ctx ends
	Inputs   []string // files; none: generated texts
	Progress io.Writer
	Log      *slog.Logger
	Dials    core.Dials // daemon.Local
	// Drain is how long the queues may go without any progress before the demo
	// gives up; 0 is 30 s.
	Drain time.Duration
	// ObjectCache runs one instance of an object cache; deletes go through it.
	ObjectCache bool
}

// Buckets are the S3 buckets of a local cluster, by class.
var Buckets = [core.Classes][]string{core.Standard: {"nova-standard"}, core.Express: {"nova-express"}}

// Prefix is where a local cluster lives in its etcd.
const Prefix = "nova/"

// The machines of a cluster in a data directory are recorded, so that what went
// wrong can be looked at: in JournalDir below it, in at most JournalCap bytes.
const (
	JournalDir = "journal"
	JournalCap = 64 << 20
)

// OpenLocal opens the cluster on an embedded stack; deletes go through the object
// caches at these addresses, if there are any.
func OpenLocal(ctx context.Context, stack *embedded.Stack, dials core.Dials, log *slog.Logger, caches ...string) (*daemon.Cluster, error) {
	return daemon.Open(ctx, daemon.Config{
		Etcd: stack.Client(), Prefix: Prefix,
		S3:      s3store.Config{URL: stack.S3.URL, Region: stack.S3.Region, AccessKey: stack.S3.AccessKey, SecretKey: stack.S3.SecretKey},
		Buckets: Buckets, Caches: caches, Dials: dials, Log: log,
	})
}

// AllBuckets are the buckets that a local stack must have.
func AllBuckets() (all []string) {
	for _, of := range Buckets {
		all = append(all, of...)
	}
	return all
}

// demo is one run.
type demo struct {
	cfg      Config
	progress *progress
	tally    *daemon.Tally
	cluster  *daemon.Cluster
	session  *daemon.Session
	stars    [core.Classes]*starKeeper
	cache    *objectCache // nil: there is none
	inputs   []*input
	report   *Report

	total  int64
	passes atomic.Int64 // reads of whole inputs while the auditors worked

	mu sync.Mutex // guards report.Failures
}

// Run runs the demo and reports. An error means that it could not be carried to
// its end; a report whose OK is false that it was, and found something.
func Run(ctx context.Context, cfg Config) (report *Report, err error) {
	began, outer := time.Now(), ctx
	if cfg.Drain <= 0 {
		cfg.Drain = 30 * time.Second
	}
	ins, err := inputs(cfg.Inputs)
	if err != nil {
		return nil, err
	}
	remove := ""
	if cfg.Data == "" {
		if cfg.Data, err = os.MkdirTemp("", "nova-demo-"); err != nil {
			return nil, fmt.Errorf("make a directory for the demo's data: %w", err)
		}
		remove = cfg.Data
	}
	d := &demo{cfg: cfg, inputs: ins, tally: &daemon.Tally{}, report: &Report{Data: cfg.Data}}
	for _, in := range ins {
		d.total += in.size
	}
	d.progress = newProgress(cfg.Progress, d.state)
	defer d.progress.close()
	d.progress.enter("starting etcd and S3 in %s", cfg.Data)
	stack, err := start(ctx, embedded.Config{Dir: cfg.Data, Buckets: AllBuckets(), NoFsync: true})
	if err != nil {
		return nil, fmt.Errorf("start the stores: %w", err)
	}
	defer func() {
		err = errors.Join(err, stack.Close())
		switch {
		case remove == "":
		case err == nil && report.OK || outer.Err() != nil:
			err = errors.Join(err, os.RemoveAll(remove))
		default:
			d.progress.say("The data is kept in %s", remove)
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case lost := <-stack.Lost():
			cancel(lost)
		case <-ctx.Done():
		}
	}()
	var caches []string
	if cfg.ObjectCache {
		if d.cache, err = startCache(stack, cfg.Log); err != nil {
			return nil, err
		}
		defer d.cache.close()
		caches = []string{d.cache.at}
	}
	if d.cluster, err = OpenLocal(ctx, stack, cfg.Dials, cfg.Log, caches...); err != nil {
		return nil, err
	}
	defer d.cluster.Close()
	if d.cluster.Journal, err = journal.Open(journal.Config{Dir: filepath.Join(cfg.Data, JournalDir), Cap: JournalCap, Log: cfg.Log}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.cluster.Journal.Close()) }()
	if d.session, err = d.cluster.NewSession(d.tally); err != nil {
		return nil, err
	}
	defer func() { _ = d.session.Close(context.WithoutCancel(ctx)) }()
	for class := range d.stars {
		d.stars[class] = &starKeeper{d: d, id: "demo-" + core.Class(class).String(), class: core.Class(class)}
		defer d.stars[class].kill() // after an error: in good order they are closed
	}
	if err := d.acts(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		return nil, err
	}
	d.report.Seconds = time.Since(began).Seconds()
	return d.report, nil
}

// dyingWithin is how long a process that was just killed may hold its directory.
const dyingWithin = 5 * time.Second

// start starts the stack, and waits for an earlier run that is still dying.
func start(ctx context.Context, c embedded.Config) (*embedded.Stack, error) {
	for deadline := time.Now().Add(dyingWithin); ; {
		s, err := embedded.Start(ctx, c)
		if !errors.Is(err, embedded.ErrLocked) || time.Now().After(deadline) || sleep(ctx, 100*time.Millisecond) != nil {
			return s, err
		}
	}
}

// acts is the demo from its beginning to its end.
func (d *demo) acts(ctx context.Context) error {
	// 1. Take the inputs in. Nobody settles yet, so every record is in a slot.
	if err := d.takeIn(ctx); err != nil {
		return err
	}
	// 2. Read everything back, and compare.
	d.progress.enter("reading back")
	if err := d.compareAll(ctx, func(r *InputReport, ok bool) { r.Before = ok }); err != nil {
		return err
	}
	// 3. Two auditors work, while a reader reads, small streams live and die, and
	// one of the auditors is killed.
	if err := d.audit(ctx); err != nil {
		return err
	}
	// 4. Read everything back again, from the settled objects.
	d.progress.enter("reading back what the auditors made")
	if err := d.compareAll(ctx, func(r *InputReport, ok bool) { r.After = ok }); err != nil {
		return err
	}
	// 5. The laws.
	d.progress.enter("verifying")
	v, err := d.cluster.Verify(ctx, daemon.VerifyOptions{})
	if err != nil {
		return err
	}
	d.conclude(v)
	return nil
}

// conclude fills the report in.
func (d *demo) conclude(v daemon.Verdict) {
	r, t := d.report, d.tally
	r.Verify, r.Standing = v, v.Standing
	r.Reads = d.passes.Load()
	r.Work = Work{
		SettledBytes: t.Of(core.NoteSettleBytes), SettledOutputs: t.Of(core.NoteSettleOutput),
		SlotsWritten: t.Of(core.NoteSlotCommitted), SlotsTrimmed: t.Of(core.NoteSlotsTrimmed),
		ObjectsReaped:  t.Of(core.NoteReapDeleted),
		OrphansJudged:  t.Of(core.NoteOrphanReclaimed) + t.Of(core.NoteOrphanVisible) + t.Of(core.NoteOrphanNothing),
		OrphansDeleted: t.Of(core.NoteOrphanReclaimed), UploadsAborted: t.Of(core.NoteOrphanUploadAborted),
		ChainsSettled: t.Of(core.NoteChainSettled), StreamsGone: t.Of(core.NoteTeardownFinal),
		GCMoved: t.Of(core.NoteGCMoved), Retained: t.Of(core.NoteRetentionTrimmed),
	}
	if d.cache != nil {
		r.Work.CacheDeletes = d.cache.Stats().Deletes
		if r.Work.CacheDeletes == 0 && r.Work.ObjectsReaped+r.Work.SlotsTrimmed > 0 {
			d.failed("what was deleted did not go through the object cache")
		}
	}
	r.Duties = map[string]daemon.DutyCount{}
	for q := range keys.Queue(keys.Queues) {
		r.Duties[q.String()] = t.Duty(q)
	}
	for _, in := range d.inputs {
		r.Inputs = append(r.Inputs, in.report)
		r.In.Records += in.report.Records - in.report.Already
		r.In.Bytes += in.report.Bytes - in.already
		if !in.report.Before || !in.report.After {
			d.failed("stream %s does not hold the lines of %s", in.name, in.path)
		}
	}
	if !v.OK {
		d.failed("%d laws are broken", len(v.Breaches))
	}
	if n := t.Of(core.NoteLost); n > 0 {
		d.failed("%d records are lost", n)
	}
	for q, n := range v.Standing.Markers {
		if n > 0 {
			d.failed("%d markers of queue %s still stand", n, q)
		}
	}
	if v.Standing.Parked > 0 {
		d.failed("%d markers are parked: they failed for good", v.Standing.Parked)
	}
	r.OK = len(r.Failures) == 0
}

// failed notes why the run is not OK.
func (d *demo) failed(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.report.Failures = append(d.report.Failures, fmt.Sprintf(format, args...))
}

// state is what progress shows beside the phase.
func (d *demo) state() string {
	t := d.tally
	took := int64(0)
	for _, in := range d.inputs {
		took += in.seen.Load()
	}
	s := fmt.Sprintf("%s of %s in", size(min(took, d.total)), size(d.total))
	if n := t.Of(core.NoteSettleBytes); n > 0 {
		s += fmt.Sprintf(", %s settled", size(n))
	}
	if n := t.Of(core.NoteSlotsTrimmed); n > 0 {
		s += fmt.Sprintf(", %s slots trimmed", count(n))
	}
	if n := t.Of(core.NoteReapDeleted); n > 0 {
		s += fmt.Sprintf(", %s objects reaped", count(n))
	}
	if n := t.Of(core.NoteOrphanReclaimed); n > 0 {
		s += fmt.Sprintf(", %s orphans reclaimed", count(n))
	}
	return s
}
