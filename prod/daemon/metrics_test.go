package daemon

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// scrape reads a process's metrics as Prometheus does: each line's value by its
// name and labels.
func scrape(t *testing.T, tally *Tally, c *Cluster) map[string]float64 {
	t.Helper()
	h, err := Metrics(tally, c)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	all := map[string]float64{}
	for _, m := range regexp.MustCompile(`(?m)^(nova_\S+) (\S+)$`).FindAllStringSubmatch(w.Body.String(), -1) {
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatalf("%s: %v", m[0], err)
		}
		all[m[1]] = v
	}
	return all
}

// exported is a metric's name as Prometheus has it.
func exported(name, label, value string) string {
	name = strings.ReplaceAll(name, ".", "_") + "_total"
	if label == "" {
		return name
	}
	return fmt.Sprintf("%s{%s=%q}", name, label, value)
}

// The specification's metrics are exported under its names, and count what it says.
func TestTheSpecificationsMetrics(t *testing.T) {
	tally := &Tally{}
	before := scrape(t, tally, nil)
	for i, x := range []struct {
		name, label, value string
		of                 core.NoteKind
	}{
		{"nova.auditor.probe.verdicts", "verdict", "stand", core.NoteProbeStand},
		{"nova.auditor.probe.verdicts", "verdict", "gc-worthy", core.NoteProbeGCWorthy},
		{"nova.auditor.probe.verdicts", "verdict", "reapable", core.NoteProbeReapable},
		{"nova.auditor.probe.verdicts", "verdict", "gone", core.NoteProbeGone},
		{"nova.auditor.teardown.gated", "", "", core.NoteTeardownGated},
		{"nova.auditor.slots.trimmed", "", "", core.NoteSlotsTrimmed},
		{"nova.auditor.settle.bytes", "", "", core.NoteSettleBytes},
		{"nova.auditor.settle.spans", "", "", core.NoteSettleSpans},
		{"nova.auditor.ranges.lost", "", "", core.NoteLost},
		{"nova.auditor.markers.far", "", "", core.NoteFarAhead},
		{"nova.auditor.orphans", "outcome", "reclaimed", core.NoteOrphanReclaimed},
	} {
		key := exported(x.name, x.label, x.value)
		if v, ok := before[key]; !ok || v != 0 {
			t.Errorf("%s is %v (%v) before anything happened", key, v, ok)
		}
		tally.Add(core.Note{Kind: x.of, N: int64(i + 2)})
		after := scrape(t, tally, nil)
		if after[key] != float64(i+2) {
			t.Errorf("%s is %v after %d of %s", key, after[key], i+2, x.of)
		}
		changed := 0
		for k := range after {
			if after[k] != before[k] {
				changed++
			}
		}
		if changed != 1 {
			t.Errorf("%s changed %d metrics", x.of, changed)
		}
		before = after
	}
}

// How the markers of each duty fare, and each queue's backlog: how many are past
// due, and by how long the oldest is. What is not ripe is no backlog.
func TestQueueMetrics(t *testing.T) {
	c := cluster(t)
	m, err := c.metastore()
	if err != nil {
		t.Fatal(err)
	}
	var ws []core.Write
	put := func(key, val string) { ws = append(ws, core.Put(key, val)) }
	now := Now()
	for i := range 3 {
		put(keys.DueReap(i%c.Dials.Shards, now-core.Ms(100_000*(i+1)), "data/b/x"), format.ReapMark{}.Encode())
	}
	put(keys.DueReap(0, now+100_000, "data/b/y"), format.ReapMark{}.Encode())
	put(keys.SchedDenorm(0, now-5000, "s", 1, 0), "")
	put(keys.SchedDenorm(0, now+3_600_000, "s", 1, 4), "")
	put(keys.DueDenorm(0, "s", 1, 0), format.BatchMark{Slots: []format.Inventory{{Slot: 0}}}.Encode())
	put(keys.SchedOrphan(0, now-c.Dials.OrphanGrace-60_000, "data/b/z"), "")
	put(keys.SchedOrphan(0, now-c.Dials.OrphanGrace/2, "data/b/w"), "")
	put(keys.DueGC(0, 9, "data/b/g"), format.ReapMark{}.Encode())
	if _, err := m.Txn(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	tally := &Tally{}
	tally.Add(core.Note{Kind: core.NoteDutyRun, N: 1, Key: "reap"})
	tally.Add(core.Note{Kind: core.NoteDutyBackoff, N: 1, Key: keys.DueReap(0, 1, "data/b/x")})
	tally.Add(core.Note{Kind: core.NoteDutyParked, N: 1, Key: keys.DueTeardown(0, 1, 5, false)})
	got := scrape(t, tally, c)
	for _, x := range []struct {
		key         string
		least, most float64
	}{
		{`nova_queue_backlog{queue="reap"}`, 3, 3},
		{`nova_queue_oldest_age_seconds{queue="reap"}`, 300, 330},
		{`nova_queue_backlog{queue="denorm"}`, 1, 1},
		{`nova_queue_oldest_age_seconds{queue="denorm"}`, 5, 35},
		{`nova_queue_backlog{queue="orphan"}`, 1, 1},
		{`nova_queue_oldest_age_seconds{queue="orphan"}`, 60, 90},
		{`nova_queue_backlog{queue="gc"}`, 1, 1},
		{`nova_queue_backlog{queue="settle"}`, 0, 0},
		{`nova_queue_oldest_age_seconds{queue="settle"}`, 0, 0},
		{`nova_auditor_markers_run_total{queue="reap"}`, 1, 1},
		{`nova_auditor_markers_back_total{queue="reap"}`, 1, 1},
		{`nova_auditor_markers_parked_total{queue="teardown"}`, 1, 1},
	} {
		if v, ok := got[x.key]; !ok || v < x.least || v > x.most {
			t.Errorf("%s is %v (%v), want %v to %v", x.key, v, ok, x.least, x.most)
		}
	}
	for q := range keys.Queue(keys.Queues) {
		for _, name := range []string{"nova_queue_backlog", "nova_queue_oldest_age_seconds", "nova_auditor_markers_run_total"} {
			if _, ok := got[fmt.Sprintf("%s{queue=%q}", name, q.String())]; !ok {
				t.Errorf("no %s of queue %s", name, q)
			}
		}
	}
}
