package sim

import (
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/law"
	"nova/core/serve"
)

// Stop lets no client ask for anything any more: each star closes, or is cut and
// not started again. Auditors that are gone are replaced.
func (w *Workload) Stop(s *Sim) {
	w.stopped = true
	for _, a := range w.stars {
		p := s.Running(a)
		if p == nil {
			continue
		}
		if s.cutsAtEnd(a) {
			s.cut(p)
			continue
		}
		s.Count.Clients[reqClose]++
		w.ask(p, serve.Request{Verb: serve.VerbClose}, &ask{})
	}
	for _, a := range w.audits {
		if s.Running(a) == nil {
			s.Start(a)
		}
	}
	w.finish(s)
}

// Drained says what is left to do.
func (w *Workload) Drained(s *Sim) string {
	if parked(s) && (w.unparker == nil || s.Running(w.unparker) == nil) {
		w.unpark(s)
	}
	for _, p := range s.procs {
		if _, auditor := p.Actor.(*auditActor); !auditor {
			return p.Name + " still runs"
		}
	}
	// A cheap look first: the whole judgement reads every row.
	left := ""
	s.W.Meta.Range("due/", "due0", func(r core.Row) bool {
		if d, err := keys.ParseDue(r.Key); err == nil && d.Queue == keys.Retention {
			return true
		}
		left = r.Key + " stands"
		return false
	})
	if left != "" {
		return left
	}
	if bad := law.AtRest(Snapshot(s.W)); len(bad) > 0 {
		return bad[0].String()
	}
	return w.unsettled(s)
}

// unsettled names a chain that is not settled and trimmed, or a stream that has
// not been trimmed to its age.
func (w *Workload) unsettled(s *Sim) string {
	m, left := &s.W.Meta, ""
	from, end := keys.ChainsRange()
	m.Range(from, end, func(r core.Row) bool {
		star, epoch, part, err := keys.ParseChain(r.Key)
		if err != nil || part != keys.PartHead {
			return err == nil
		}
		head, err := format.DecodeChainHead(r.Val)
		tr, _ := m.Lookup(keys.ChainTrim(star, epoch))
		trim, err2 := format.DecodeChainTrim(tr.Val)
		switch {
		case err != nil || err2 != nil:
			left = r.Key + " does not decode"
		case head.State != format.ChainSettled:
			left = fmt.Sprintf("%s is in state %d", r.Key, head.State)
		case trim.Trimmed != head.Cut:
			left = fmt.Sprintf("%s: trimmed %d, rewritten %d, cut %d", r.Key, trim.Trimmed, trim.Rewritten, head.Cut)
		}
		return left == ""
	})
	if left != "" {
		return left
	}
	from, end = keys.StreamsRange()
	m.Range(from, end, func(r core.Row) bool {
		id, err := keys.ParseStream(r.Key)
		st, err2 := format.DecodeStream(r.Val)
		if err != nil || err2 != nil || st.Deleted {
			left = r.Key + " still has a tombstone"
			return false
		}
		if st.MaxAge > 0 {
			a, b := keys.RefRange(id, 0)
			m.Range(a, b, func(r core.Row) bool { left = r.Key + " is older than its policy"; return false })
		}
		return left == ""
	})
	return left
}

// Finish reads everything back.
func (w *Workload) Finish(s *Sim) {
	for _, st := range w.streams {
		if s.breach == nil {
			readBack(s, w.ledger, st.id)
		}
	}
}
