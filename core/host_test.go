package core_test

import (
	"testing"

	"nova/core"
)

// host drives one machine by hand: it keeps what is pending and answers it in
// whatever order a test likes. It enforces the contracts of a host and of a
// machine: one effect a path, one event an effect, every event consumed, and
// nothing pending once the machine is finished.
type host struct {
	t       *testing.T
	x       core.Exchange
	m       core.Machine
	pending []core.Effect // in the order of emission
	notes   []core.Note
	done    bool
}

func start(t *testing.T, m core.Machine) *host {
	t.Helper()
	h := &host{t: t, m: m}
	h.turn(h.x.Start())
	return h
}

func (h *host) turn(t core.Turn) {
	h.t.Helper()
	h.done = h.m.Step(t)
	if !h.x.Consumed() {
		h.t.Fatalf("the event at %s found no call", h.x.Ev.At)
	}
	for _, e := range h.x.Out {
		for _, p := range h.pending {
			if p.At == e.At {
				h.t.Fatalf("two effects are pending at %s: %s and %s", e.At, p.Op, e.Op)
			}
		}
		h.pending = append(h.pending, e)
	}
	h.notes = append(h.notes, h.x.Notes...)
	if h.done && len(h.pending) > 0 {
		h.t.Fatalf("finished with %d effects in flight", len(h.pending))
	}
}

// answer delivers a reply to pending effect i.
func (h *host) answer(i int, r core.Reply) {
	h.t.Helper()
	e := h.pending[i]
	h.pending = append(h.pending[:i:i], h.pending[i+1:]...)
	h.turn(h.x.Deliver(e.At, r))
}

// keys lists what is pending, for tests that emit nothing but reads of a key.
func (h *host) keys() []string {
	ks := make([]string, len(h.pending))
	for i, e := range h.pending {
		ks[i] = e.Op.Key
	}
	return ks
}
