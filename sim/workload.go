package sim

import (
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

	unanswered map[*Proc]int // requests, of each star; never ranged over
	hot        *streamOf     // that a client was last concerned with
	serial     uint64        // of requests and clients
	stopped    bool
	most       int // streams at a time
	aging      bool
	ruin       bool  // clients delete what a star led that has died
	weights    []int // of acts
	total      int

	operators []*operatorActor
	unparker  *unparkActor // the last, or nil
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
	{3, (*Workload).trim}, {1, (*Workload).delete}, {2, (*Workload).policy}, {2, (*Workload).closeOrReopen},
}

// mix draws how often the clients of one run do each thing: some runs are all
// trims, or all policies, or deletions of streams that have just been made.
func (w *Workload) mix(s *Sim) {
	w.ruin = s.tape.Choose(4) == 3
	if w.aging = s.tape.Choose(4) == 3; w.aging {
		// A few streams with a long policy, trimmed into their newest objects: each
		// pass of retention finds one that is half dead, and that lives for longer
		// than the probe takes to come. It is the life that ends in a GC.
		w.most = 1 + s.tape.Choose(2)
		for _, n := range []int{120, 20, 5, 10, 10, 2, 8, 0, 3, 2} {
			w.weights, w.total = append(w.weights, n), w.total+n
		}
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

// mostAsked is how many requests to one star may be without an answer.
const mostAsked = 24

// ask sends a request to a star.
func (w *Workload) ask(p *Proc, r serve.Request, a *ask) {
	if w.unanswered[p] >= mostAsked && r.Verb != serve.VerbClose {
		return // a client waits for its answers: a star that stands still is not buried
	}
	w.unanswered[p]++
	w.serial++
	r.ID = w.serial
	a.verb, a.p = r.Verb, p
	w.asked[r.ID] = a
	w.asksStar(p, &r, a)
	p.Push(serve.Queue, r.Encode())
}
