package sim

import (
	"fmt"

	"nova/core"
	"nova/core/serve"
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
	end    core.Verdict
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
}

func (a *verbActor) Name() string { return a.name }
func (a *verbActor) Revive() bool { return false }

// Boot starts the verb.
func (a *verbActor) Boot(p *Proc) core.Machine {
	a.v.env = &p.Env
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
		}
	case reqDelete:
		if v.delete.Reason == serve.None || v.delete.Reason == serve.Deleted {
			if live, _ := streamState(&p.Sim.W.Meta, v.stream); live {
				p.Sim.Breach(LawContract, "stream %d was deleted, and lives", v.stream)
			}
		}
	}
}

func (w *Workload) run(s *Sim, v *verb) {
	w.serial++
	s.Start(&verbActor{w, fmt.Sprintf("client-%d", w.serial), v})
}
