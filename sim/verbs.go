package sim

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/serve"
	"nova/sim/world"
)

// asking is what stood as a client's verb began, and what came to its sinks: what it
// is told in the end is held to that.
type asking struct {
	desc    format.Stream
	covered bool          // a row held the record at which it was to read
	sinks   map[int32]int // extents whose bytes came, by number: how often
}

func (w *Workload) begins(s *Sim, v *verb) (a asking) {
	m := &s.W.Meta
	if r, ok := m.Lookup(keys.Stream(v.stream)); ok {
		a.desc, _ = format.DecodeStream(r.Val)
	}
	if v.kind == reqServe {
		a.covered, a.sinks = covers(m, v.stream, v.to), map[int32]int{}
	}
	return a
}

// covers reports whether a row of a stream holds a record.
func covers(m *world.Meta, stream, at uint64) (yes bool) {
	from, end := keys.RefRange(stream, at)
	m.Range(from, end, func(r core.Row) bool {
		row, err := format.DecodeRow(r.Val)
		yes = err == nil && row.First <= at && at < row.End
		return false
	})
	return yes
}

// trimmed holds a trim that was told to be done to the watermark.
func (a *asking) trimmed(p *Proc, v *verb) {
	s := p.Sim
	live, mark := streamState(&s.W.Meta, v.stream)
	if v.trim.Reason == serve.None && live && mark < v.to {
		s.Breach(LawContract, "%s was told that stream %d is trimmed to %d, and its watermark is %d", p.Name, v.stream, v.to, mark)
	}
}

// policed holds a policy that was told to be set to the descriptor: it has that policy,
// or one that was set since.
func (a *asking) policed(p *Proc, v *verb) {
	s := p.Sim
	r, ok := s.W.Meta.Lookup(keys.Stream(v.stream))
	now, err := format.DecodeStream(r.Val)
	if v.policy.Reason != serve.None || !ok || err != nil || now.Deleted || now.MaxAge == v.spec.MaxAge {
		return
	}
	others := now.Policy - a.desc.Policy // policies that were set meanwhile
	if a.desc.MaxAge != v.spec.MaxAge {
		others-- // its own, or another like it
	}
	if int32(others) < 1 {
		s.Breach(LawContract, "%s was told that the policy of stream %d is %d ms, and it is %d ms", p.Name, v.stream, v.spec.MaxAge, now.MaxAge)
	}
}

// served holds a read that was told to be whole to what it was asked for: a plan of a
// record that a row held is not empty, and what was fetched has come.
func (a *asking) served(p *Proc, v *verb) {
	s, r := p.Sim, &v.read
	if r.plan.Reason != serve.None || r.fetch.Reason != serve.None {
		return
	}
	s.Count.Laws[LawAcked]++
	live, mark := streamState(&s.W.Meta, v.stream)
	if n := len(r.plan.Extents); n == 0 && a.covered && live && mark <= v.to {
		s.Breach(LawAcked, "%s reads stream %d from %d and is told that nothing is there: a row held it as it asked", p.Name, v.stream, v.to)
	}
	for i := range r.plan.Extents {
		if x := &r.plan.Extents[i]; a.sinks[int32(i)] == 0 {
			s.Breach(LawAcked, "%s reads stream %d from %d and is told that it has [%d, %d), whose bytes never came", p.Name, v.stream, v.to, x.First, x.End())
			return
		}
	}
}
