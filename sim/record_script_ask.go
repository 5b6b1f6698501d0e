package sim

import (
	"fmt"

	"nova/core/admin"
	"nova/core/serve"
)

// ask performs a request of the record; it says why it cannot, or "".
func (sc *script) ask(s *Sim, a *Asked) string {
	w, ok := s.clients.(*Workload)
	if !ok {
		return "the scene has no such clients"
	}
	q, _ := requestNamed(a.Verb)
	id, known := sc.streams[a.Stream]
	if a.Stream != "" && !known {
		return "stream of " + a.Stream + " was not made"
	}
	s.Count.Clients[q]++
	switch q {
	case reqCreate, reqTrim, reqDelete, reqPolicy, reqServe:
		w.serial = a.N - 1
		v := &verb{kind: q, spec: a.Spec, stream: id, to: a.To, read: reading{hold: a.Hold}}
		st := w.byID[id]
		if q == reqDelete && st != nil {
			st.deleted = true
		}
		if q == reqPolicy && st != nil && a.Lift > 0 {
			v.lift = &Asked{Lift: a.Lift, Quiet: a.Quiet, LiftN: a.LiftN}
			w.lifts(s, st, v)
		}
		w.run(s, v)
	case reqRead:
		p := makePlan(s, id)
		if p != nil && len(p.parts) > 0 {
			sc.plans[int(a.N)] = p
		}
		w.holds(s, id, p)
	case reqFetch:
		p := sc.plans[int(a.N)]
		if p == nil || !w.holdsStill(p) || a.Part >= len(p.parts) {
			return "the plan has no such part"
		}
		s.planUsed(p, a.Part)
		p.use(s, w.ledger, &p.parts[a.Part])
	case reqUnpark:
		w.serial = a.N - 1
		w.unpark(s)
	case reqOpen, reqAppend, reqClose, reqReopen, reqDecommission:
		return sc.askStar(s, w, q, id, a)
	default:
		return "no client asks for it"
	}
	return ""
}

// askStar performs a request about a star.
func (sc *script) askStar(s *Sim, w *Workload, q request, id uint64, a *Asked) string {
	star := w.starNamed(a.Star)
	if star == nil {
		return "there is no " + a.Star
	}
	p := s.Running(star)
	switch q {
	case reqReopen:
		if p != nil {
			return a.Star + " runs"
		}
		s.asks(&Asked{Verb: a.Verb, Star: a.Star})
		s.Start(star)
		return ""
	case reqDecommission:
		w.serial = a.N - 1
		w.takeOut(s, star, a)
		return ""
	}
	if p == nil {
		return a.Star + " does not run"
	}
	w.serial = a.N - 1
	switch q {
	case reqOpen:
		w.ask(p, serve.Request{Verb: serve.VerbOpen, Stream: id}, &ask{stream: w.byID[id]})
	case reqClose:
		w.ask(p, serve.Request{Verb: serve.VerbClose}, &ask{})
	default:
		r, x := serve.Request{Verb: serve.VerbAppend}, &ask{}
		for _, k := range a.Chunks {
			id, ok := sc.streams[k.Stream]
			if !ok {
				continue
			}
			w.ledger.skipTo(k.Blob)
			c := w.ledger.Submit(id, k.Count, k.Len)
			x.chunks = append(x.chunks, c)
			r.Chunks = append(r.Chunks, serve.AppendChunk{Stream: id, Count: c.Count, CRC: c.CRC, Len: c.Len, Blob: c.Blob, Oldest: s.now + k.Oldest, Newest: s.now + k.Newest})
		}
		if len(r.Chunks) == 0 {
			return "none of its streams was made"
		}
		w.ask(p, r, x)
	}
	return ""
}

// skipTo passes over the numbers of chunks that were made and never sent, or whose
// requests were left out, so that a blob keeps its number and its bytes.
func (l *Ledger) skipTo(blob uint64) {
	for uint64(len(l.chunks))+1 < blob {
		l.chunks = append(l.chunks, &Chunk{Blob: uint64(len(l.chunks) + 1)})
	}
}

// starNamed is a star of the scene, or nil.
func (w *Workload) starNamed(name string) *starActor {
	for _, a := range w.stars {
		if a.name == name {
			return a
		}
	}
	return nil
}

// takeOut sends an operator for a star; another may take its place.
func (w *Workload) takeOut(s *Sim, star *starActor, a *Asked) {
	w.serial++
	a.N = w.serial
	s.asks(a)
	o := &operatorActor{w: w, name: fmt.Sprintf("operator-%d", w.serial), order: admin.Order{Star: star.name, Wait: true, CoolDown: a.Cool, Force: a.Force}}
	w.operators = append(w.operators, o)
	s.Start(o)
	if a.Next != "" {
		b := &starActor{w: w, name: a.Next, class: a.Class}
		w.stars = append(w.stars, b)
		s.Start(b)
	}
}
