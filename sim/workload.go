package sim

import (
	"fmt"
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/law"
	"nova/core/serve"
)

// Workload is the clients of a run: they create, append, read, trim and delete,
// and remember what they were told.
type Workload struct {
	ledger *Ledger
	stars  []*starActor
	audits []Actor

	streams []*streamOf          // that clients know of, in the order in which they were made
	byID    map[uint64]*streamOf // never ranged over
	asked   map[uint64]*ask      // requests to stars that are not answered
	plans   []*plan
	hot     *streamOf // that a client was last concerned with
	serial  uint64    // of requests and clients
	stopped bool
	most    int // streams at a time
	aging   bool
	weights []int // of acts
	total   int

	operators []*operatorActor
}

// streamOf is what clients know of one stream.
type streamOf struct {
	id      uint64
	spec    serve.Spec
	on      *Proc // the process that said it leads it, or nil
	next    uint64
	deleted bool // somebody asked for it
	quiet   bool // nobody appends to it any more
	aged    bool // it was last asked to have an age policy
	trimmed uint64
}

// ask is a request that is not answered yet.
type ask struct {
	verb   serve.Verb
	p      *Proc
	stream *streamOf
	chunks []*Chunk
}

// knows adds a stream that exists.
func (w *Workload) knows(id uint64, spec serve.Spec) *streamOf {
	st := w.byID[id]
	if st == nil {
		st = &streamOf{id: id, spec: spec, aged: spec.MaxAge > 0}
		w.streams = append(w.streams, st)
		w.byID[id] = st
	}
	return st
}

// act is one thing that clients do, and how often they do it beside the others.
type act struct {
	weight int
	do     func(*Workload, *Sim)
}

// acts are what clients do in the run of runs.
var acts = [...]act{
	{48, (*Workload).append}, {12, (*Workload).open}, {7, (*Workload).create},
	{10, (*Workload).read}, {12, (*Workload).use}, {1, (*Workload).serve},
	{3, (*Workload).trim}, {1, (*Workload).delete}, {2, (*Workload).policy}, {1, (*Workload).closeOrReopen},
}

// mix draws how often the clients of one run do each thing: some runs are all
// trims, or all policies, or deletions of streams that have just been made.
func (w *Workload) mix(s *Sim) {
	if w.aging = s.tape.Choose(4) == 3; w.aging {
		// A few streams grow old in peace, and once in a while half of what one has
		// expires: the life that ends in a GC.
		w.most = 1 + s.tape.Choose(2)
		w.weights, w.total = []int{200, 20, 5, 10, 10, 2, 0, 0, 3, 1}, 251
		return
	}
	for i := range acts {
		n := acts[i].weight << s.tape.Choose(4)
		if i > 2 && s.tape.Choose(4) == 3 {
			n = 0
		}
		w.weights, w.total = append(w.weights, n), w.total+n
	}
}

// Act does one thing.
func (w *Workload) Act(s *Sim) {
	if len(w.streams) == 0 {
		w.create(s)
		return
	}
	r := s.tape.Choose(w.total)
	for i, n := range w.weights {
		if r -= n; r < 0 {
			acts[i].do(w, s)
			return
		}
	}
}

// stream draws a stream, of those that nobody has asked to delete, mostly. Every
// other time it is the one that was drawn last: what is to race must meet.
func (w *Workload) stream(s *Sim) *streamOf {
	if w.hot != nil && s.tape.Choose(2) == 1 {
		return w.hot
	}
	w.hot = w.any(s)
	return w.hot
}

func (w *Workload) any(s *Sim) *streamOf {
	st := w.streams[s.tape.Choose(len(w.streams))]
	for range 3 {
		if !st.deleted {
			break
		}
		st = w.streams[s.tape.Choose(len(w.streams))]
	}
	return st
}

// star draws a star that runs.
func (w *Workload) star(s *Sim) *Proc {
	return s.Running(w.stars[s.tape.Choose(len(w.stars))])
}

// ask sends a request to a star.
func (w *Workload) ask(p *Proc, r serve.Request, a *ask) {
	w.serial++
	r.ID = w.serial
	a.verb, a.p = r.Verb, p
	w.asked[r.ID] = a
	p.Push(serve.Queue, r.Encode())
}

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
	if !w.aging && t.Choose(3) == 2 {
		spec.MaxAge = w.age(s)
	}
	w.run(s, &verb{kind: reqCreate, spec: spec})
}

// age draws an age policy: of seconds, so that it strikes during the run.
func (w *Workload) age(s *Sim) core.Ms {
	if w.aging {
		return core.Ms(200 + s.tape.Choose(1000))
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
	c := as[s.tape.Choose(len(as))]
	to := c.First + uint64(s.tape.Choose(int(c.Count)+1))
	st.trimmed = max(st.trimmed, to)
	w.run(s, &verb{kind: reqTrim, stream: st.id, to: to})
}

func (w *Workload) delete(s *Sim) {
	st := w.stream(s)
	s.Count.Clients[reqDelete]++
	st.deleted = true
	w.run(s, &verb{kind: reqDelete, stream: st.id})
}

func (w *Workload) policy(s *Sim) {
	st := w.stream(s)
	s.Count.Clients[reqPolicy]++
	age := core.Ms(0)
	if !st.aged || s.tape.Choose(3) == 2 {
		age = w.age(s)
	}
	st.aged = age > 0
	if age > 0 && s.tape.Choose(4) < 3 {
		// Lifted soon after its first pass, and nothing is appended any more: an object
		// half of which has expired is worth a GC only if the other half is not to
		// follow, and no tail-fill takes it over.
		quiet := s.tape.Choose(4) < 3
		s.After(age+s.Dials.PollEvery+core.Ms(s.tape.Choose(900)), func() {
			if !w.stopped && s.breach == nil && !st.deleted {
				st.aged, st.quiet = false, quiet
				s.After(2*s.Dials.ReadGrace, func() { st.quiet = false })
				w.run(s, &verb{kind: reqPolicy, stream: st.id})
			}
		})
	}
	w.run(s, &verb{kind: reqPolicy, stream: st.id, spec: serve.Spec{MaxAge: age}})
}

// read makes a plan; use uses one, at any time before it has run out.
func (w *Workload) read(s *Sim) {
	s.Count.Clients[reqRead]++
	if p := makePlan(s, w.stream(s).id); p != nil && len(p.parts) > 0 {
		w.plans = append(w.plans, p)
		s.After(s.Dials.PlanTTL, func() { w.lastUse(s, p) })
	}
}

func (w *Workload) use(s *Sim) {
	if len(w.plans) == 0 {
		return
	}
	s.Count.Clients[reqFetch]++
	p := w.plans[s.tape.Choose(len(w.plans))]
	p.use(s, w.ledger, &p.parts[s.tape.Choose(len(p.parts))])
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
	for i, q := range w.plans {
		if q == p {
			w.plans = append(w.plans[:i], w.plans[i+1:]...)
			return
		}
	}
}

// closeOrReopen closes a star that runs, or starts one that does not.
func (w *Workload) closeOrReopen(s *Sim) {
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
	s.Start(a)
}

// answered takes a star's answer.
func (w *Workload) answered(s *Sim, p *Proc, val string) {
	ans, err := serve.DecodeAnswer(val)
	a := w.asked[ans.ID]
	if err != nil || a == nil || a.p != p {
		s.Breach(LawContract, "%s gives an answer to nothing that it was asked: %q, %v", p.Name, val, err)
		return
	}
	delete(w.asked, ans.ID)
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
func (w *Workload) ended(p *Proc) {
	for _, st := range w.streams {
		if st.on == p {
			st.on = nil
		}
	}
}

// Stop lets no client ask for anything any more: each star closes, or is cut and
// not started again. Auditors that are gone are replaced.
func (w *Workload) Stop(s *Sim) {
	w.stopped = true
	for _, a := range w.stars {
		p := s.Running(a)
		if p == nil {
			continue
		}
		if s.tape.Choose(3) == 2 {
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
