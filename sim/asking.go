package sim

import (
	"fmt"
	"slices"

	"nova/core"
	"nova/core/keys"
	"nova/core/serve"
)

func (w *Workload) create(s *Sim) {
	live := 0
	for _, st := range w.streams {
		if !st.deleted {
			live++
		}
	}
	if live >= w.most {
		w.append(s)
		return
	}
	s.Count.Clients[reqCreate]++
	t := s.tape
	spec := serve.Spec{Bucket: fmt.Sprintf("b%d", t.Choose(2)), Name: fmt.Sprintf("n%d", t.Choose(4)), Class: core.Class(t.Choose(core.Classes))}
	if w.aging || t.Choose(3) == 2 {
		spec.MaxAge = w.age(s)
	}
	w.run(s, &verb{kind: reqCreate, spec: spec})
}

// age draws an age policy: of seconds, so that it strikes during the run.
func (w *Workload) age(s *Sim) core.Ms {
	if w.aging {
		return s.Dials.ReadGrace + core.Ms(500+s.tape.Choose(4000))
	}
	return core.Ms(200+s.tape.Choose(200)) << s.tape.Choose(5)
}

func (w *Workload) open(s *Sim) {
	p, st := w.star(s), w.stream(s)
	if st.on != nil && s.tape.Choose(4) < 3 {
		st = w.streams[s.tape.Choose(len(w.streams))] // rather one that nobody leads
	}
	if p == nil {
		return
	}
	s.Count.Clients[reqOpen]++
	w.ask(p, serve.Request{Verb: serve.VerbOpen, Stream: st.id}, &ask{stream: st})
}

// append bundles a few streams' chunks into one request.
func (w *Workload) append(s *Sim) {
	t := s.tape
	p := w.star(s)
	if p == nil {
		return
	}
	var led []*streamOf
	for _, st := range w.streams {
		if st.on == p && !st.quiet && (!st.deleted || t.Choose(4) == 3) {
			led = append(led, st)
		}
	}
	if len(led) == 0 {
		st := w.stream(s)
		if t.Choose(4) > 0 { // it is being opened, or another leads it
			return
		}
		s.Count.Clients[reqOpen]++
		w.ask(p, serve.Request{Verb: serve.VerbOpen, Stream: st.id}, &ask{stream: st})
		return
	}
	s.Count.Clients[reqAppend]++
	r := serve.Request{Verb: serve.VerbAppend}
	a := &ask{}
	for range 1 + t.Choose(3) {
		st := led[t.Choose(len(led))]
		w.hot = st
		size := int64(1 + t.Choose(30))
		if t.Choose(12) == 11 {
			size = s.Dials.PartMin - 4 + int64(t.Choose(int(s.Dials.PartMax-s.Dials.PartMin)))
		}
		c := w.ledger.Submit(st.id, uint32(1+t.Choose(4)), size)
		at := s.now - core.Ms(t.Choose(100))
		if t.Choose(32) == 31 {
			at = s.now + core.Ms(t.Choose(1<<30)) // a record from the future
		}
		a.chunks = append(a.chunks, c)
		r.Chunks = append(r.Chunks, serve.AppendChunk{Stream: st.id, Count: c.Count, CRC: c.CRC, Len: c.Len, Blob: c.Blob, Oldest: at, Newest: at + core.Ms(t.Choose(20))})
	}
	w.ask(p, r, a)
}

func (w *Workload) trim(s *Sim) {
	st := w.stream(s)
	as := w.ledger.Acked(st.id)
	if len(as) == 0 {
		return
	}
	s.Count.Clients[reqTrim]++
	if w.aging {
		as = as[len(as)*3/4:]
	}
	c := as[s.tape.Choose(len(as))]
	to := c.First + uint64(s.tape.Choose(int(c.Count)+1))
	st.trimmed = max(st.trimmed, to)
	w.run(s, &verb{kind: reqTrim, stream: st.id, to: to})
}

func (w *Workload) delete(s *Sim) {
	st := w.stream(s)
	if w.ruin {
		if x := w.rewritten(s); x != nil {
			st = x
		}
	}
	s.Count.Clients[reqDelete]++
	st.deleted = true
	w.run(s, &verb{kind: reqDelete, stream: st.id})
}

// rewritten draws a stream that is being rewritten, one that an intent stands for;
// nil where there is none.
func (w *Workload) rewritten(s *Sim) *streamOf {
	var of []*streamOf
	s.W.Meta.Range("due/orphan/", "due/orphan0", func(r core.Row) bool {
		d, err := keys.ParseDue(r.Key)
		o, err2 := keys.ParseSettled(d.Object)
		if err == nil && err2 == nil && !o.HasInc {
			if st := w.byID[o.Stream]; st != nil && !st.deleted {
				of = append(of, st)
			}
		}
		return true
	})
	if len(of) == 0 {
		return nil
	}
	return of[s.tape.Choose(len(of))]
}

func (w *Workload) policy(s *Sim) {
	st := w.stream(s)
	if w.aging && st.aged && s.tape.Choose(8) < 7 {
		return // a policy that is always new never comes to its first pass
	}
	s.Count.Clients[reqPolicy]++
	age := core.Ms(0)
	if !st.aged || w.aging || s.tape.Choose(3) == 2 {
		age = w.age(s)
	}
	st.aged = age > 0
	v := &verb{kind: reqPolicy, stream: st.id, spec: serve.Spec{MaxAge: age}}
	if age > 0 && !w.aging && s.tape.Choose(4) < 3 {
		// Lifted soon after its first pass, and nothing is appended any more: an object
		// half of which has expired is worth a GC only if the other half is not to
		// follow, and no tail-fill takes it over.
		v.lift = &Asked{Quiet: s.tape.Choose(4) < 3}
		v.lift.Lift = age + s.Dials.PollEvery + core.Ms(s.tape.Choose(900))
		w.lifts(s, st, v)
	}
	w.run(s, v)
}

// read makes a plan; use uses one, at any time before it has run out.
func (w *Workload) read(s *Sim) {
	s.Count.Clients[reqRead]++
	id := w.stream(s).id
	w.holds(s, id, makePlan(s, id))
}

// holds keeps a plan that names something until its time has run out.
func (w *Workload) holds(s *Sim, id uint64, p *plan) {
	s.planMade(id, p)
	if p != nil && len(p.parts) > 0 {
		w.plans = append(w.plans, p)
		s.After(s.Dials.PlanTTL, func() { w.lastUse(s, p) })
	}
}

// holdsStill reports whether a plan's time has not run out.
func (w *Workload) holdsStill(p *plan) bool { return slices.Contains(w.plans, p) }

func (w *Workload) use(s *Sim) {
	if len(w.plans) == 0 {
		return
	}
	s.Count.Clients[reqFetch]++
	p := w.plans[s.tape.Choose(len(w.plans))]
	part := s.tape.Choose(len(p.parts))
	s.planUsed(p, part)
	p.use(s, w.ledger, &p.parts[part])
}

// serve reads a stream as a server does.
func (w *Workload) serve(s *Sim) {
	st := w.stream(s)
	s.Count.Clients[reqServe]++
	from := uint64(0)
	if as := w.ledger.Acked(st.id); len(as) > 0 {
		_, mark := streamState(&s.W.Meta, st.id)
		from = max(mark, as[s.tape.Choose(len(as))].First)
	}
	w.run(s, &verb{kind: reqServe, stream: st.id, to: from, read: reading{hold: core.Ms(s.tape.Choose(int(s.Dials.PlanTTL)))}})
}

// lastUse uses all of a plan in its last millisecond.
func (w *Workload) lastUse(s *Sim, p *plan) {
	for i := range p.parts {
		if s.breach == nil {
			p.use(s, w.ledger, &p.parts[i])
		}
	}
	w.keepsFooters(s, p)
	for i, q := range w.plans {
		if q == p {
			w.plans = append(w.plans[:i], w.plans[i+1:]...)
			return
		}
	}
}

// closeOrReopen closes a star that runs, or starts one that does not.
func (w *Workload) closeOrReopen(s *Sim) {
	if parked(s) && s.tape.Choose(2) == 1 {
		w.unpark(s)
		return
	}
	if s.tape.Choose(4) == 3 {
		w.decommission(s)
		return
	}
	a := w.stars[s.tape.Choose(len(w.stars))]
	if p := s.Running(a); p != nil {
		s.Count.Clients[reqClose]++
		w.ask(p, serve.Request{Verb: serve.VerbClose}, &ask{})
		return
	}
	s.Count.Clients[reqReopen]++
	s.asks(&Asked{Verb: reqReopen.String(), Star: a.name})
	s.Start(a)
}
