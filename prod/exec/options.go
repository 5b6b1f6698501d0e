package exec

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"nova/core"
)

// Options says what a driver drives and how hard. Meta, Stores and Dials are
// required; everything else has a default that suits one daemon on its own.
type Options struct {
	Dials  core.Dials
	Meta   Metastore
	Stores map[core.Store]ObjectStore

	// Now is the process's clock; nil is the wall clock. It stands still between
	// two turns as far as the machine can see.
	Now func() core.Ms
	// Blobs and Sinks are the two ends through which chunk bytes enter and leave
	// the process. A process that takes no records or serves no reads needs none.
	Blobs Blobs
	Sinks Sinks
	// Cache holds whole objects that many small pieces are read from; nil reads
	// every run of pieces with a request of its own. Drivers may share one.
	Cache *Cache
	// Bytes bounds the bytes a second that transit the process, Requests the
	// requests a second to the object stores; nil is no bound. Drivers may share
	// them; give the serving side its own, so that its latency is not what pays
	// when a store asks for fewer requests (C31).
	Bytes, Requests *Budget
	Widths          Widths
	// Tries is how often a read, a Delete or an Abort is sent, at most; 0 is 4.
	Tries int
	// Backoff is the pause before the second try, doubled each time; 0 is 50 ms.
	Backoff time.Duration
	// DeleteDelay is how long a delete waits for others to go with it; 0 is 5 ms.
	DeleteDelay time.Duration
	// Buffer is the size up to which a body is assembled before it is sent, so
	// that a missing or damaged source costs no request; 0 is 8 MiB. Longer
	// bodies are streamed.
	Buffer int64

	// OnNote is told every note of a machine, OnOp every effect once it is
	// answered; they are called from many goroutines and must not block.
	OnNote func(core.Note)
	OnOp   func(Done)
	// Log is told why an effect was not answered OK; nil is slog's default.
	Log *slog.Logger
}

// Widths bounds the requests abreast, by kind. A zero field takes its default.
type Widths struct {
	Gets    int // transactions of point reads
	Scans   int
	Txns    int
	Reads   int // stats, footers, tails, listings
	Writes  int // creates, parts, completes: each may hold a buffer or two streams
	Copies  int // parts copied inside a store
	Deletes int // multi-deletes
	Fetches int // fetches into sinks, and objects on their way into the cache
}

func (w Widths) orDefaults() Widths {
	for _, f := range []struct {
		n    *int
		that int
	}{{&w.Gets, 8}, {&w.Scans, 32}, {&w.Txns, 128}, {&w.Reads, 128}, {&w.Writes, 32}, {&w.Copies, 32}, {&w.Deletes, 4}, {&w.Fetches, 32}} {
		if *f.n <= 0 {
			*f.n = f.that
		}
	}
	return w
}

// Done is what OnOp is told of one effect.
type Done struct {
	Kind    core.Kind
	Store   core.Store // "" for the metastore and the process itself
	Outcome core.Outcome
	Took    time.Duration // from its emission, queueing included
	Bytes   int64         // of chunks that transited the process for it
}

// check fills the defaults in.
func (o *Options) check() error {
	if o.Meta == nil || len(o.Stores) == 0 {
		return errors.New("make a driver: it needs a metastore and at least one object store")
	}
	if err := o.Dials.Check(); err != nil {
		return fmt.Errorf("make a driver: %w", err)
	}
	if o.Dials.Service <= 0 {
		return fmt.Errorf("make a driver: a time in service of %d ms", o.Dials.Service)
	}
	if o.Now == nil {
		o.Now = func() core.Ms { return core.Ms(time.Now().UnixMilli()) }
	}
	if o.Tries <= 0 {
		o.Tries = 4
	}
	if o.Backoff <= 0 {
		o.Backoff = 50 * time.Millisecond
	}
	if o.DeleteDelay <= 0 {
		o.DeleteDelay = 5 * time.Millisecond
	}
	if o.Buffer <= 0 {
		o.Buffer = 8 << 20
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Widths = o.Widths.orDefaults()
	return nil
}
