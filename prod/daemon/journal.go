package daemon

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"

	"nova/core"
	"nova/core/transcript"
	"nova/prod/journal"
)

// run runs a root machine on a host, before the cluster's journal if it has one.
// state is a pointer to the machine, step what steps it, and b says which it is: b
// with the host's environment must boot the very same one, for that is what a
// replay of the journal does.
func (c *Cluster) run(ctx context.Context, h *host, b transcript.Begin, state any, step func(core.Turn) bool) error {
	m := transcript.Root(state, step)
	if c.Journal == nil {
		return h.driver.Run(ctx, m)
	}
	b.Env = h.env
	return h.driver.RunBefore(ctx, m, c.Journal.Begin(b, state))
}

// journalMetrics say how the journal fares, if there is one.
func journalMetrics(m metric.Meter, j *journal.Journal) error {
	if j == nil {
		return nil
	}
	for _, c := range []struct {
		name, what string
		of         func(journal.Stats) int64
	}{
		{"nova.journal.turns", "turns of machines that were recorded", func(s journal.Stats) int64 { return s.Turns }},
		{"nova.journal.dropped", "records that were left out because the journal could not follow", func(s journal.Stats) int64 { return s.Dropped }},
		{"nova.journal.bytes", "bytes written to the journal", func(s journal.Stats) int64 { return s.Bytes }},
	} {
		_, err := m.Int64ObservableCounter(c.name, metric.WithDescription(c.what), metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(c.of(j.Stats()))
			return nil
		}))
		if err != nil {
			return fmt.Errorf("make metric %s: %w", c.name, err)
		}
	}
	return nil
}
