package sim

import (
	"strings"

	"nova/core/keys"
	"nova/core/serve"
)

// answered takes a star's answer.
func (w *Workload) answered(s *Sim, p *Proc, val string) {
	ans, err := serve.DecodeAnswer(val)
	a := w.asked[ans.ID]
	if err != nil || a == nil || a.p != p {
		s.Breach(LawContract, "%s gives an answer to nothing that it was asked: %q, %v", p.Name, val, err)
		return
	}
	delete(w.asked, ans.ID)
	w.unanswered[p]--
	switch ans.Outcome {
	case serve.Opened:
		w.opened(s, a, ans.Next)
	case serve.Acked:
		if len(ans.Acks) != len(a.chunks) {
			s.Breach(LawContract, "%s acknowledges %d chunks of %d", p.Name, len(ans.Acks), len(a.chunks))
			return
		}
		for i, k := range ans.Acks {
			if k.Reason == serve.None {
				w.acked(s, a.chunks[i], k.First)
			} else if k.Reason == serve.NotOpen || k.Reason == serve.Held {
				w.unled(p, a.chunks[i].Stream)
			}
		}
	case serve.Failed:
		if a.stream != nil && ans.Reason == serve.Deleted {
			a.stream.deleted = true
		}
	}
	s.logf(p, "answer", "%d: outcome %d next %d acks %v reason %s", ans.ID, ans.Outcome, ans.Next, ans.Acks, ans.Reason)
}

func (w *Workload) opened(s *Sim, a *ask, next uint64) {
	a.stream.on, a.stream.next = a.p, next
	// A star that has lost its session without having noticed answers from memory;
	// what counts is that nothing it appends is acknowledged.
	if r, ok := s.W.Meta.Lookup(keys.StreamLease(a.stream.id)); !ok || !strings.HasSuffix(r.Val, "\n"+a.p.Name) {
		return
	}
	as := w.ledger.Acked(a.stream.id)
	if n := len(as); n > 0 && as[n-1].First+uint64(as[n-1].Count) > next {
		s.Breach(LawAcked, "%s opens stream %d at %d; [%d, %d) was acknowledged", a.p.Name, a.stream.id, next, as[n-1].First, as[n-1].First+uint64(as[n-1].Count))
	}
}

func (w *Workload) acked(s *Sim, c *Chunk, first uint64) {
	if why := w.ledger.Ack(c, first); why != "" {
		s.Breach(LawAcked, "%s", why)
		return
	}
	s.Laws.Acked(s, c)
}

// unled: the process does not lead the stream (any more).
func (w *Workload) unled(p *Proc, id uint64) {
	if st := w.byID[id]; st != nil && st.on == p {
		st.on = nil
	}
}

// ended: what a process was asked is never answered.
func (w *Workload) ended(p *Proc, cut bool) {
	for _, st := range w.streams {
		if st.on != p {
			continue
		}
		st.on = nil
		if d := w.mourns(p, st, cut); d != nil {
			w.deletes(p.Sim, st, d)
		}
	}
}

// deletes deletes a stream a little later: what its star left behind, which nobody
// has absorbed yet, comes to a stream that is being torn down, or is gone.
func (w *Workload) deletes(s *Sim, st *streamOf, d *Asked) {
	s.After(d.Lift, func() {
		if w.stopped || s.breach != nil || st.deleted {
			return
		}
		s.Count.Clients[reqDelete]++
		st.deleted = true
		s.serially(w, d)
		w.run(s, &verb{kind: reqDelete, stream: st.id, lifts: d})
	})
}
