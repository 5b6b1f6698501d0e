package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"nova/core"
	"nova/core/duty"
	"nova/core/transcript"
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
		o.Stores, o.Meta = c.byHonestClock(o.Meta)
	})
	if err != nil {
		return nil, fmt.Errorf("start auditor %s: %w", cfg.ID, err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	a.cancel = cancel
	m := &duty.Auditor{}
	go func() {
		defer close(a.done)
		// Beside it, what makes it prompt; a breach of the machine's contract ends that too.
		watching, stop := context.WithCancel(ctx)
		var watch sync.WaitGroup
		watch.Go(func() { a.watch(watching) })
		defer watch.Wait()
		defer stop()
		a.err = c.run(ctx, a.host, transcript.Begin{Role: transcript.Auditor, Queues: m.Queues}, m, func(t core.Turn) bool { return m.Step(t, &a.host.env) })
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

// byHonestClock is the stores and the metastore as an auditor may use them:
// nothing is deleted, and nothing is written that condemns by a date (a watermark,
// a second look, the end of a grace), while the process's clock and the stores'
// disagree by more than the allowed skew, because every grace is measured by the
// former (gap 11, C7).
func (c *Cluster) byHonestClock(meta exec.Metastore) (map[core.Store]exec.ObjectStore, exec.Metastore) {
	h := &honest{skew: c.s3.Skew, most: c.Dials.Skew + dateTolerance, ask: c.askClock}
	if c.Dials.Skew > 2*dateTolerance { // what cannot be read off a date comes out of the allowance
		h.most = c.Dials.Skew - dateTolerance
	}
	all := make(map[core.Store]exec.ObjectStore, len(c.objects))
	for name, s := range c.objects {
		all[name] = &clocked{ObjectStore: s, honest: h}
	}
	return all, &clockedMeta{Metastore: meta, honest: h}
}

// honest compares the process's clock with the stores'.
type honest struct {
	skew  func() (ahead core.Ms, known bool)
	most  core.Ms
	ask   func(context.Context) // sends the stores a request whose answer shows their clock; nil: nobody does
	asked atomic.Int64          // when, on the monotonic clock
}

// askEvery is between two requests that are sent for the clock alone.
const askEvery = time.Second

// began is where the monotonic clock of the process begins.
var began = time.Now()

// askClock sends a small request to a store: its answer shows the clock.
func (c *Cluster) askClock(ctx context.Context) {
	home := c.Stores.Home(core.Standard)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, _ = c.objects[home].Do(ctx, core.Stat(core.Obj{Store: home, Key: "clock"}), nil) // that the object is absent says as much
}

// refuses says why something must not be sent. A store whose clock is not known is
// one whose graces cannot be kept: only a definite answer condemns.
// Where nothing but refused requests would be sent, none would show that the
// clocks agree again, or that the one answer that said otherwise was a slow one; so
// the store is asked, now and then.
func (h *honest) refuses(ctx context.Context, what string, n int) error {
	ahead, known := h.skew()
	if off := !known || ahead > h.most || ahead < -h.most; off && h.ask != nil {
		now, last := int64(time.Since(began))+1, h.asked.Load()
		if (last == 0 || now-last >= int64(askEvery)) && h.asked.CompareAndSwap(last, now) {
			h.ask(ctx)
			ahead, known = h.skew()
		}
	}
	switch {
	case !known:
		return fmt.Errorf("%d %s were not sent: no answer of a store has shown its clock yet, and graces are measured by this process's", n, what)
	case ahead > h.most || ahead < -h.most:
		return fmt.Errorf("%d %s were not sent: the store's clock is %d ms ahead of this process's, and %d are allowed: set the clocks", n, what, ahead, h.most)
	}
	return nil
}

// clocked is a store that refuses deletes by a clock that is off.
type clocked struct {
	exec.ObjectStore
	*honest
}

// Delete deletes, unless the clocks disagree.
func (s *clocked) Delete(ctx context.Context, keys []string) ([]core.Reply, error) {
	if err := s.refuses(ctx, "deletes", len(keys)); err != nil {
		replies := make([]core.Reply, len(keys))
		for i := range replies {
			replies[i].Outcome = core.Refused
		}
		return replies, err
	}
	return s.ObjectStore.Delete(ctx, keys)
}

// clockedMeta is a metastore that refuses transactions by a clock that is off.
// Reads go on: they show the store's answers, and with them its clock.
type clockedMeta struct {
	exec.Metastore
	*honest
}

// Txn applies a transaction, unless the clocks disagree.
func (m *clockedMeta) Txn(ctx context.Context, ws []core.Write) (core.Reply, error) {
	if err := m.refuses(ctx, "transactions", 1); err != nil {
		return core.Reply{Outcome: core.Refused}, err
	}
	return m.Metastore.Txn(ctx, ws)
}
