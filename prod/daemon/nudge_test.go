package daemon

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// A marker that is armed between two looks is taken when it is ripe, long before
// the drain would look again; what ripens later is left to polling, and nothing of
// the duty's work is done twice.
func TestAnAuditorIsNudged(t *testing.T) {
	c := cluster(t)
	c.Dials = Brisk()
	c.Dials.PollEvery = 60_000
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tally := &Tally{}
	a, err := c.StartAuditor(AuditorConfig{ID: "a", Tally: tally})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.metastore()
	if err != nil {
		t.Fatal(err)
	}
	arm := func(stream uint64, at core.Ms) {
		t.Helper()
		key := keys.DueRetention(keys.ShardOfStream(stream, c.Dials.Shards), at, stream)
		if _, err := m.Txn(ctx, []core.Write{core.Put(key, format.RetentionMark{}.Encode())}); err != nil {
			t.Fatal(err)
		}
	}
	ran := func(n int64) (took time.Duration) {
		t.Helper()
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			if tally.Duty(keys.Retention).Runs >= n {
				return time.Since(began)
			}
			if ctx.Err() != nil {
				t.Fatalf("%d of %d markers were taken", tally.Duty(keys.Retention).Runs, n)
			}
		}
	}
	// The first passes are over, and the watch stands, once a marker has been taken.
	arm(1, Now())
	ran(1)
	time.Sleep(200 * time.Millisecond)
	arm(2, Now())
	now := ran(2)
	arm(3, Now()+1500)
	later := ran(3)
	if now > 10*time.Second || later < time.Second || later > 15*time.Second {
		t.Errorf("a ripe one was taken after %v, one that ripens in 1.5 s after %v", now, later)
	}
	arm(4, Now()+100_000)
	time.Sleep(300 * time.Millisecond)
	if n := tally.Duty(keys.Retention).Runs; n != 3 {
		t.Errorf("%d runs for 3 ripe markers", n)
	}
	if err := a.Close(ctx); err != nil {
		t.Error(err)
	}
}

// However much is written, the drains are woken once per gap; what leads to no
// ripe marker wakes nobody.
func TestNudgesAreRare(t *testing.T) {
	d := core.Spec()
	d.PollEvery = 1000
	var pokes atomic.Int64
	n := newNudger(&d, func() { pokes.Add(1) })
	if n.gap != 100*time.Millisecond {
		t.Fatalf("a gap of %v", n.gap)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { n.run(ctx); close(ended) }()
	for _, key := range []string{
		"due/nonsense", keys.DueReap(0, Now()+5000, "data/b/x"), // no marker; ripe when polling finds it
		keys.DueDenorm(0, "s", 1, 0),       // its schedule row says when
		keys.SchedOrphan(0, Now(), "data"), // born now: judged in an hour
	} {
		n.wrote(key)
	}
	time.Sleep(150 * time.Millisecond)
	if p := pokes.Load(); p != 0 {
		t.Errorf("%d pokes for nothing", p)
	}
	began := time.Now()
	for time.Since(began) < 500*time.Millisecond {
		n.wrote(keys.DueReap(0, Now(), "data/b/x"))
		n.wrote(keys.SchedDenorm(0, Now(), "s", 1, 0))
		n.wrote(keys.DueGC(0, 5, "data/b/x"))
		n.wrote(keys.SchedOrphan(0, Now()-d.OrphanGrace, "data"))
		n.wrote("")
		time.Sleep(time.Millisecond)
	}
	time.Sleep(150 * time.Millisecond)
	took := time.Since(began)
	if p := pokes.Load(); p < 2 || p > int64(took/n.gap)+2 {
		t.Errorf("%d pokes in %v", p, took)
	}
	cancel()
	<-ended
}
