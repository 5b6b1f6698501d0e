package duty

import (
	"fmt"

	"nova/core"
	"nova/core/keys"
)

// labProc is one process: a machine, what it has in flight, and its name.
type labProc struct {
	l       *lab
	env     core.Env
	m       core.Machine
	x       core.Exchange
	pending []core.Effect
	notes   map[core.NoteKind]int64
	done    bool
	trace   bool
}

var labStarts int

func (l *lab) start(m func(e *core.Env) core.Machine) *labProc {
	labStarts++
	p := &labProc{l: l, notes: map[core.NoteKind]int64{}}
	p.env = core.Env{Dials: l.dials, Stores: l.stores, Process: fmt.Sprintf("p%d", labStarts), Generation: 1}
	p.m = m(&p.env)
	p.x.Now = l.now
	p.turn(p.x.Start())
	return p
}

func (p *labProc) turn(t core.Turn) {
	p.done = p.m.Step(t)
	if !p.x.Consumed() {
		p.l.t.Fatalf("the event at %s found no call", p.x.Ev.At)
	}
	for _, e := range p.x.Out {
		for _, q := range p.pending {
			if q.At == e.At {
				p.l.t.Fatalf("two effects are pending at %s: %s and %s", e.At, q.Op, e.Op)
			}
		}
		p.pending = append(p.pending, e)
	}
	for _, n := range p.x.Notes {
		p.notes[n.Kind] += n.N
		if p.trace {
			p.l.t.Logf("        note %s %d %s", n.Kind, n.N, n.Key)
		}
	}
	if p.done && len(p.pending) > 0 {
		p.l.t.Fatalf("finished with %d effects in flight, %s first", len(p.pending), p.pending[0].Op)
	}
}

// next is the index of the next effect to answer, waits last; -1 if only waits
// are pending.
func (p *labProc) next(pick func(n int) int) int {
	var is []int
	for i := range p.pending {
		if k := p.pending[i].Op.Kind; k != core.KWait && k != core.KTake {
			is = append(is, i)
		}
	}
	if len(is) == 0 {
		return -1
	}
	return is[pick(len(is))]
}

func first(int) int { return 0 }

// answer lands effect i and delivers what reply makes of its answer.
func (p *labProc) answer(i int) {
	e := p.pending[i]
	p.deliver(i, p.l.apply(&e.Op, p.env.Process))
}

func (p *labProc) deliver(i int, r core.Reply) {
	e := p.pending[i]
	if p.trace {
		p.l.t.Logf("%d %s: %s → %s %q", p.l.now, e.At, e.Op, r.Outcome, r.Val)
	}
	p.pending = append(p.pending[:i:i], p.pending[i+1:]...)
	p.x.Now = p.l.now
	p.turn(p.x.Deliver(e.At, r))
}

// run answers everything until the machine is done or only waits.
func (p *labProc) run() {
	for n := 0; !p.done; n++ {
		i := p.next(first)
		if i < 0 {
			return
		}
		if n > 200_000 {
			p.l.t.Fatalf("it does not come to rest: %s", p.pending[i].Op)
		}
		p.answer(i)
	}
}

// wait advances the clock to the first wait that is pending, and answers it.
func (p *labProc) wait() {
	at := -1
	for i := range p.pending {
		if at < 0 || p.pending[i].Op.Until < p.pending[at].Op.Until {
			at = i
		}
	}
	p.l.now = max(p.l.now, p.pending[at].Op.Until)
	p.deliver(at, core.Reply{})
}

// onePass is a root machine: one pass of one drain.
type onePass[M any] struct {
	d   Drain[M]
	e   *core.Env
	q   keys.Queue
	run Run[M]
}

func (o *onePass[M]) Step(t core.Turn) bool { return o.d.Pass(t, o.e, o.q, o.run) }

// pass starts one pass of a drain over every shard.
func pass[M any](q keys.Queue, run Run[M]) func(e *core.Env) core.Machine {
	return func(e *core.Env) core.Machine { return &onePass[M]{e: e, q: q, run: run} }
}

// cut is how a run is cut at its k-th effect.
type cut uint8

const (
	cutBefore  cut = iota // the process dies, and the effect with it
	cutAfter              // the effect lands, then the process dies
	lostReply             // the effect lands, and the process is told that nothing is known
	lostEffect            // the effect never lands, and the process is told that nothing is known

	cuts
)

func (c cut) String() string {
	return [...]string{"cut before", "cut after", "reply lost", "effect lost"}[c]
}

// cutAt runs until the k-th effect and cuts there; it reports whether the run
// had a k-th effect. The effects are picked by pick.
func (p *labProc) cutAt(k int, how cut, pick func(n int) int) bool {
	for n := 0; !p.done; n++ {
		i := p.next(pick)
		if i < 0 {
			return false
		}
		if n != k {
			p.answer(i)
			continue
		}
		op := p.pending[i].Op
		if how == cutAfter || how == lostReply {
			p.l.apply(&op, p.env.Process)
		}
		if how == cutBefore || how == cutAfter {
			p.l.expire(p.env.Process)
			return true
		}
		p.deliver(i, core.Reply{Outcome: core.Unknown})
		p.run()
		p.l.expire(p.env.Process)
		return true
	}
	return false
}

// sweep cuts the run of a machine at every effect, in every way, runs what
// follows, and gives each world to check. The worlds are clones.
func sweep(l *lab, start func(l *lab) *labProc, then func(l *lab), check func(l *lab, at string)) int {
	l.t.Helper()
	n := 0
	for how := range cuts {
		for k := 0; ; k++ {
			w := l.clone()
			if !start(w).cutAt(k, how, first) {
				break
			}
			n++
			then(w)
			check(w, fmt.Sprintf("%s effect %d", how, k))
			if l.t.Failed() {
				l.t.Fatalf("%s effect %d", how, k)
			}
		}
	}
	return n
}
