package daemon

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/attribute"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"nova/core"
	"nova/core/keys"
)

// counters are the specification's metrics that are counts of notes, and those
// of its kind that it does not name.
var counters = []struct {
	name, what string
	of         []core.NoteKind
	label      string // when more than one kind: the attribute that tells them apart
	values     []string
}{
	{"nova.auditor.probe.verdicts", "verdicts of the reap probe", []core.NoteKind{core.NoteProbeStand, core.NoteProbeGCWorthy, core.NoteProbeReapable, core.NoteProbeGone, core.NoteProbeFailed},
		"verdict", []string{"stand", "gc-worthy", "reapable", "gone", "failed"}},
	{"nova.auditor.teardown.gated", "teardown walks that waited for a chain to settle", []core.NoteKind{core.NoteTeardownGated}, "", nil},
	{"nova.auditor.slots.trimmed", "chain slots deleted, over all stores of their sets", []core.NoteKind{core.NoteSlotsTrimmed}, "", nil},
	{"nova.auditor.settle.bytes", "bytes that settle rewrites moved", []core.NoteKind{core.NoteSettleBytes}, "", nil},
	{"nova.auditor.settle.spans", "spans that settle rewrites moved", []core.NoteKind{core.NoteSettleSpans}, "", nil},
	{"nova.auditor.objects.reaped", "settled objects deleted by the reap-check", []core.NoteKind{core.NoteReapDeleted}, "", nil},
	{"nova.auditor.orphans", "what became of aged intents", []core.NoteKind{core.NoteOrphanCondemned, core.NoteOrphanReclaimed, core.NoteOrphanVisible, core.NoteOrphanNothing, core.NoteOrphanUploadAborted},
		"outcome", []string{"condemned", "reclaimed", "visible", "nothing", "upload-aborted"}},
	{"nova.auditor.ranges.lost", "ranges of records whose bytes are truly gone", []core.NoteKind{core.NoteLost}, "", nil},
	{"nova.auditor.chains.settled", "chain epochs settled", []core.NoteKind{core.NoteChainSettled}, "", nil},
	{"nova.auditor.markers.far", "markers dated by a wrong clock", []core.NoteKind{core.NoteFarAhead}, "", nil},
	{"nova.star.chunks.acked", "chunks acknowledged", []core.NoteKind{core.NoteAcked}, "", nil},
	{"nova.star.slots.committed", "slots committed", []core.NoteKind{core.NoteSlotCommitted}, "", nil},
	{"nova.star.slots.absorbed", "slots absorbed", []core.NoteKind{core.NoteAbsorbed}, "", nil},
	{"nova.star.epochs.minted", "chain epochs minted", []core.NoteKind{core.NoteMinted}, "", nil},
}

// Metrics serves a process's metrics for Prometheus: the notes of its machines,
// and the backlog of every queue, which is counted when it is asked for. cl may
// be nil: then no backlog is told.
func Metrics(t *Tally, cl *Cluster) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("make the metrics' exporter: %w", err)
	}
	m := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter)).Meter("nova")
	for _, c := range counters {
		_, err := m.Int64ObservableCounter(c.name, metric.WithDescription(c.what), metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			for i, k := range c.of {
				if c.label == "" {
					o.Observe(t.Of(k))
				} else {
					o.Observe(t.Of(k), metric.WithAttributes(attribute.String(c.label, c.values[i])))
				}
			}
			return nil
		}))
		if err != nil {
			return nil, fmt.Errorf("make metric %s: %w", c.name, err)
		}
	}
	if err := dutyMetrics(m, t); err != nil {
		return nil, err
	}
	if cl != nil {
		if err := queueMetrics(m, cl); err != nil {
			return nil, err
		}
		if err := journalMetrics(m, cl.Journal); err != nil {
			return nil, err
		}
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), nil
}

// queueAttr is the attribute that tells queues apart.
func queueAttr(q keys.Queue) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String("queue", q.String()))
}

// dutyMetrics are how the markers of each duty fared.
func dutyMetrics(m metric.Meter, t *Tally) error {
	for name, of := range map[string]func(DutyCount) int64{
		"nova.auditor.markers.run":    func(d DutyCount) int64 { return d.Runs },
		"nova.auditor.markers.back":   func(d DutyCount) int64 { return d.Backoffs },
		"nova.auditor.markers.parked": func(d DutyCount) int64 { return d.Parked },
	} {
		_, err := m.Int64ObservableCounter(name, metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			for q := range keys.Queue(keys.Queues) {
				o.Observe(of(t.Duty(q)), queueAttr(q))
			}
			return nil
		}))
		if err != nil {
			return fmt.Errorf("make metric %s: %w", name, err)
		}
	}
	return nil
}

// queueMetrics are the backlog of each queue: how many markers are past due, and
// by how much the oldest is.
func queueMetrics(m metric.Meter, c *Cluster) error {
	backlog, err := m.Int64ObservableGauge("nova.queue.backlog", metric.WithDescription("markers that are past due"))
	if err != nil {
		return fmt.Errorf("make metric nova.queue.backlog: %w", err)
	}
	oldest, err := m.Float64ObservableGauge("nova.queue.oldest.age", metric.WithUnit("s"), metric.WithDescription("how far past due the oldest marker is"))
	if err != nil {
		return fmt.Errorf("make metric nova.queue.oldest.age: %w", err)
	}
	_, err = m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		for q := range keys.Queue(keys.Queues) {
			n, age, err := c.Backlog(ctx, q)
			if err != nil {
				return err
			}
			o.ObserveInt64(backlog, n, queueAttr(q))
			o.ObserveFloat64(oldest, float64(age)/1000, queueAttr(q))
		}
		return nil
	}, backlog, oldest)
	if err != nil {
		return fmt.Errorf("register the queues' metrics: %w", err)
	}
	return nil
}

// Backlog is how many markers of a queue are past due, and how long the oldest
// has been. GC's markers have no time: all of them count, and none has an age.
func (c *Cluster) Backlog(ctx context.Context, q keys.Queue) (n int64, oldest core.Ms, err error) {
	now := Now()
	until := now
	if q == keys.Orphan {
		until -= c.Dials.OrphanGrace
	}
	for shard := range c.Dials.Shards {
		from, end := keys.RipeRange(q, shard, until)
		resp, err := c.etcd.Get(ctx, c.prefix+from, clientv3.WithRange(c.prefix+end), clientv3.WithCountOnly())
		if err != nil {
			return n, oldest, fmt.Errorf("count the markers of queue %s: %w", q, err)
		}
		if resp.Count == 0 {
			continue
		}
		n += resp.Count
		resp, err = c.etcd.Get(ctx, c.prefix+from, clientv3.WithRange(c.prefix+end), clientv3.WithLimit(1), clientv3.WithKeysOnly())
		if err != nil {
			return n, oldest, fmt.Errorf("find the oldest marker of queue %s: %w", q, err)
		}
		for _, kv := range resp.Kvs {
			if d, err := keys.ParseDue(string(kv.Key[len(c.prefix):])); err == nil && q != keys.GC {
				oldest = max(oldest, until-d.At)
			}
		}
	}
	return n, oldest, nil
}
