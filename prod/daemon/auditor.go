package daemon

import (
	"context"
	"errors"
	"fmt"

	"nova/core"
	"nova/core/duty"
	"nova/prod/exec"
)

// AuditorConfig says what auditor to run.
type AuditorConfig struct {
	ID    string
	Cache int64 // bytes of the fetch cache; 0 is 256 MiB
	// Bytes a second that transit the process, and requests a second to the
	// stores, at most; 0 is no bound (requests settle near what a store takes).
	BytesPerSecond, RequestsPerSecond float64
	Tally                             *Tally // may be shared; nil makes one
}

// Auditor runs the eight duties in this process.
type Auditor struct {
	id     string
	host   *host
	cancel context.CancelCauseFunc
	done   chan struct{}
	err    error
}

const defaultCache = 256 << 20

// StartAuditor starts an auditor. It runs until Close or Kill, or its machine
// breaks a contract; Done says so.
func (c *Cluster) StartAuditor(cfg AuditorConfig) (*Auditor, error) {
	if cfg.ID == "" {
		return nil, errors.New("start an auditor: it has no name")
	}
	if cfg.Cache <= 0 {
		cfg.Cache = defaultCache
	}
	a := &Auditor{id: cfg.ID, done: make(chan struct{})}
	log := c.Log.With("auditor", cfg.ID)
	var err error
	a.host, err = c.newHost(cfg.ID, cfg.Tally, log, func(o *exec.Options) {
		o.Cache = exec.NewCache(cfg.Cache)
		o.Requests = exec.NewBudget(cfg.RequestsPerSecond, 64)
		if cfg.BytesPerSecond > 0 {
			o.Bytes = exec.NewBudget(cfg.BytesPerSecond, 8<<20)
		}
		o.Stores = c.byHonestClock()
	})
	if err != nil {
		return nil, fmt.Errorf("start auditor %s: %w", cfg.ID, err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	a.cancel = cancel
	m := &duty.Auditor{}
	go func() {
		defer close(a.done)
		a.err = a.host.driver.Run(ctx, stepper(func(t core.Turn) bool { return m.Step(t, &a.host.env) }))
	}()
	return a, nil
}

// Done is closed when the auditor has ended; Err then says why.
func (a *Auditor) Done() <-chan struct{} { return a.done }

var errStopped = errors.New("the auditor was stopped")

// Err is why the auditor ended; call it once Done is closed.
func (a *Auditor) Err() error {
	if errors.Is(a.err, errStopped) {
		return nil
	}
	return a.err
}

// Close stops the auditor where it is, which is how every auditor stops, and
// gives its shards to the others at once.
func (a *Auditor) Close(ctx context.Context) error {
	a.cancel(errStopped)
	<-a.done
	if err := a.host.leave(ctx); err != nil {
		return fmt.Errorf("close auditor %s: %w", a.id, err)
	}
	return a.Err()
}

// Kill drops the auditor as a crash would: its leases run out on their own.
func (a *Auditor) Kill() {
	a.cancel(errStopped)
	<-a.done
	a.host.die()
}

// dateTolerance is how exactly the store's clock can be read off its answers,
// whose dates are cut to the second.
const dateTolerance = core.Ms(1500)

// byHonestClock is the stores as an auditor may use them: nothing is deleted
// while the process's clock and the stores' disagree by more than the allowed
// skew, because every grace is measured by the former (gap 11, C7).
func (c *Cluster) byHonestClock() map[core.Store]exec.ObjectStore {
	all := make(map[core.Store]exec.ObjectStore, len(c.objects))
	for name, s := range c.objects {
		all[name] = &clocked{ObjectStore: s, skew: c.s3.Skew, most: c.Dials.Skew + dateTolerance}
	}
	return all
}

// clocked is a store that refuses deletes by a clock that is off.
type clocked struct {
	exec.ObjectStore
	skew func() (ahead core.Ms, known bool)
	most core.Ms
}

// Delete deletes, unless the clocks disagree.
func (s *clocked) Delete(ctx context.Context, keys []string) ([]core.Reply, error) {
	if ahead, known := s.skew(); known && (ahead > s.most || ahead < -s.most) {
		replies := make([]core.Reply, len(keys))
		for i := range replies {
			replies[i].Outcome = core.Refused
		}
		return replies, fmt.Errorf("%d deletes were not sent: the store's clock is %d ms ahead of this process's, and %d are allowed: set the clocks", len(keys), ahead, s.most)
	}
	return s.ObjectStore.Delete(ctx, keys)
}
