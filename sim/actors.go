package sim

import (
	"fmt"

	"nova/core"
	"nova/core/law"
	"nova/core/serve"
	"nova/faults"
	"nova/sim/world"
)

// verb is one request of a client that is a process of its own: the root machine
// of that process.
type verb struct {
	env    *core.Env
	kind   request
	spec   serve.Spec
	stream uint64
	to     uint64

	create serve.Create
	trim   serve.Trim
	delete serve.Delete
	policy serve.SetPolicy
	read   reading
	end    core.Verdict

	lift  *Asked // of a policy that will be lifted: the request
	lifts *Asked // of the request that lifts it: the one that asked for it
}

// reading is a reader of the core's own: it makes a plan, holds it for a while,
// and fetches what it names.
type reading struct {
	plan    serve.ReadPlan
	planned bool
	hold    core.Ms // how long it holds the plan, at least
	until   core.Ms
	held    bool
	wait    core.Call
	fetch   serve.Fetch
}

func (r *reading) step(t core.Turn, v *verb) core.Verdict {
	if !r.planned {
		if end := r.plan.Step(t, v.env, v.stream, v.to, 1<<20); end != core.Done {
			return end
		}
		r.planned, r.until = true, min(t.Now+r.hold, r.plan.Until)
		if r.plan.Reason != serve.None {
			return core.Done
		}
	}
	for !r.held {
		if _, ok := r.wait.Await(t, core.Wait(r.until)); !ok {
			return core.Working
		}
		r.held = t.Now >= r.until
	}
	if !r.fetch.Step(t, v.env, r.plan.Extents, r.plan.Until, 0) {
		return core.Working
	}
	return core.Done
}

// Step runs the verb to its verdict.
func (v *verb) Step(t core.Turn) bool {
	switch v.kind {
	case reqCreate:
		v.end = v.create.Step(t, v.env, v.spec)
	case reqTrim:
		v.end = v.trim.Step(t, v.env, v.stream, v.to)
	case reqDelete:
		v.end = v.delete.Step(t, v.env, v.stream)
	case reqServe:
		v.end = v.read.step(t, v)
	case reqPolicy:
		v.end = v.policy.Step(t, v.env, v.stream, v.spec.MaxAge)
	}
	return v.end != core.Working
}

// verbActor runs one verb, once.
type verbActor struct {
	w    *Workload
	name string
	v    *verb
	asking
}

// tenYears is what a clock may be ahead that nobody has set.
const tenYears = core.Ms(10 * 365 * 24 * 3_600_000)

// dates reports whether all that a process does is to date a marker in the metastore:
// its clock may be wrong by any amount, and nothing but that date shows it.
func (p *Proc) dates() bool {
	a, ok := p.Actor.(*verbActor)
	return ok && (a.v.kind == reqDelete || a.v.kind == reqPolicy)
}

func (a *verbActor) Name() string { return a.name }
func (a *verbActor) Revive() bool { return false }

// Boot starts the verb.
func (a *verbActor) Boot(p *Proc) core.Machine {
	a.v.env = &p.Env
	a.asking = a.w.begins(p.Sim, a.v)
	return a.v
}

// Ended takes the result.
func (a *verbActor) Ended(p *Proc, cut bool) {
	v := a.v
	p.Sim.logf(p, "ended", "%s of stream %d: cut=%v %s", v.kind, v.stream, cut, v.end)
	if cut || v.end != core.Done {
		return
	}
	switch v.kind {
	case reqCreate:
		if v.create.Reason == serve.None || v.create.Reason == serve.NameTaken {
			a.w.knows(v.create.ID, v.spec)
			p.Sim.made(a.name, v.create.ID)
		}
	case reqServe:
		a.w.hasRead(p, v)
		a.served(p, v)
	case reqTrim:
		a.trimmed(p, v)
	case reqPolicy:
		a.policed(p, v)
	case reqDelete:
		if v.delete.Reason == serve.None || v.delete.Reason == serve.Deleted {
			if live, _ := streamState(&p.Sim.W.Meta, v.stream); live {
				p.Sim.Breach(LawContract, "stream %d was deleted, and lives", v.stream)
			}
		}
	}
}

// Fetched holds what a reader fetched to what was submitted.
func (a *verbActor) Fetched(p *Proc, op *core.Op, out core.Outcome, body world.Body) {
	if out != core.OK || a.v.kind != reqServe {
		return
	}
	a.sinks[op.Num]++
	x := &a.v.read.plan.Extents[op.Num]
	c := a.w.ledger.whole(&body)
	if c == nil || c.Stream != a.v.stream || uint64(c.Count) != x.Count || c.Acked && c.First != x.First {
		p.Sim.Breach(LawBytes, "%s reads [%d, %d) of stream %d and gets %v", p.Name, x.First, x.End(), a.v.stream, c)
	}
}

// hasRead judges how a read ended.
func (w *Workload) hasRead(p *Proc, v *verb) {
	s, r := p.Sim, &v.read
	s.Count.Laws[LawReader]++
	why := r.plan.Reason
	if why == serve.None {
		why = r.fetch.Reason
		next := max(v.to, 0)
		for i := range r.plan.Extents {
			x := &r.plan.Extents[i]
			if x.First > next || i > 0 && x.First != next {
				s.Breach(LawAcked, "%s reads stream %d from %d and skips from %d to %d", p.Name, v.stream, v.to, next, x.First)
			}
			next = x.End()
		}
	}
	// A reader that stood still while it made its plan may come too late for it.
	if !p.slept && (why == serve.Missing || why == serve.Lost || why == serve.Damaged && !s.Plan.Has(faults.DamagedTip)) {
		s.Breach(LawReader, "%s reads stream %d from %d: %s", p.Name, v.stream, v.to, why)
	}
}

func (w *Workload) run(s *Sim, v *verb) {
	w.serial++
	w.asksVerb(s, v)
	if h, ok := s.Laws.(Hearer); ok {
		switch v.kind {
		case reqTrim:
			h.Asked(law.Ask{Stream: v.stream, Trim: v.to})
		case reqDelete:
			h.Asked(law.Ask{Stream: v.stream, Delete: true})
		}
	}
	s.Start(&verbActor{w: w, name: fmt.Sprintf("client-%d", w.serial), v: v})
}
