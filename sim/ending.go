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
// not started again, or stays, with nothing to do. Auditors that are gone are
// replaced.
func (w *Workload) Stop(s *Sim) {
	w.stopped = true
	for i, a := range w.stars {
		p := s.Running(a)
		if p == nil {
			continue
		}
		if w.stays(s, i) {
			a.stays = true
			s.logf(p, "stays", "with nothing to do")
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

// stays reports whether a star lives on when the clients have gone: in every third
// run some do, so that a world comes to rest beside one. It follows from the dials,
// which are drawn for each run and stand in its record. A star that an operator wants
// out of use closes.
func (w *Workload) stays(s *Sim, i int) bool {
	d := &s.Dials
	h := uint64(d.AbsorbEvery+7*d.PollEvery+43*d.SessionTTL+131*d.LiveHeadProbe+257*d.OrphanGrace) * 0x9e3779b97f4a7c15 >> 32
	if h%3 != 0 || h>>8>>i&1 != 0 {
		return false
	}
	for _, o := range w.operators {
		if o.order.Star == w.stars[i].name {
			return false
		}
	}
	_, out := s.W.Meta.Lookup(keys.Gone(w.stars[i].name))
	return !out
}

// live reports whether an epoch is one to which a star that stays can still append.
func (w *Workload) live(s *Sim, star string, epoch uint64) bool {
	for _, a := range w.stars {
		if a.name == star && a.stays && s.Running(a) != nil {
			r, _ := s.W.Meta.Lookup(keys.Mint(star, a.class))
			n, err := format.DecodeNumber(r.Val)
			return err == nil && n == epoch
		}
	}
	return false
}

// Drained says what is left to do.
func (w *Workload) Drained(s *Sim) string {
	if parked(s) && (w.unparker == nil || s.Running(w.unparker) == nil) {
		w.unpark(s)
	}
	auditors := 0
	for _, p := range s.procs {
		audit, auditor := p.Actor.(*auditActor)
		if a, star := p.Actor.(*starActor); !auditor && !(star && a.stays) {
			return p.Name + " still runs"
		}
		if auditor && !audit.blind {
			auditors++
		}
	}
	// One whose session ended as the faults did, or whose clock was wrong then, has yet
	// to say that it is there.
	if n := registered(s); n < auditors {
		return fmt.Sprintf("%d of %d auditors are registered", n, auditors)
	}
	// A cheap look first: the whole judgement reads every row.
	left := ""
	s.W.Meta.Range("due/", "due0", func(r core.Row) bool {
		if d, err := keys.ParseDue(r.Key); err == nil && (d.Queue == keys.Retention || d.Queue == keys.Settle && w.live(s, d.Star, d.Epoch)) {
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

// registered is how many auditors have their row.
func registered(s *Sim) (n int) {
	from, end := keys.AuditorsRange()
	s.W.Meta.Range(from, end, func(core.Row) bool { n++; return true })
	return n
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
		case head.State == format.ChainOpen && w.live(s, star, epoch):
			if trim.Trimmed != head.Checkpoint {
				left = fmt.Sprintf("%s: trimmed %d, rewritten %d, checkpoint %d", r.Key, trim.Trimmed, trim.Rewritten, head.Checkpoint)
			}
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
