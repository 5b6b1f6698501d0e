package sim

import (
	"fmt"

	"nova/core"
	"nova/core/duty"
	"nova/core/keys"
	"nova/core/serve"
)

// starActor is a star: a serving node, started again under the same name.
type starActor struct {
	w     *Workload
	name  string
	class core.Class
	stays bool // when the clients have gone
}

func (a *starActor) Name() string { return a.name }

// Revive reports whether the star may be started again.
func (a *starActor) Revive() bool { return !a.w.stopped }

// Boot makes the star's machine.
func (a *starActor) Boot(p *Proc) core.Machine {
	return &starRoot{env: &p.Env, star: serve.Star{Name: a.name, Class: a.class}}
}

// Gave takes an answer.
func (a *starActor) Gave(p *Proc, queue, val string) {
	if queue == serve.Queue {
		a.w.answered(p.Sim, p, val)
	}
}

// Ended forgets what the process led.
func (a *starActor) Ended(p *Proc, cut bool) { a.w.ended(p, cut) }

type starRoot struct {
	env  *core.Env
	star serve.Star
}

// Step steps the star.
func (r *starRoot) Step(t core.Turn) bool { return r.star.Step(t, r.env) }

// State is the machine.
func (r *starRoot) State() any { return &r.star }

// auditActor is an auditor. A blind one has never registered, as one that starts
// without space in the metastore, and takes every shard for its own beside those
// who hold them: safety never depends on who holds a shard.
type auditActor struct {
	name  string
	blind bool
}

func (a *auditActor) Name() string { return a.name }

// Boot makes the auditor's machine.
func (a *auditActor) Boot(p *Proc) core.Machine {
	if a.blind {
		return &blindRoot{env: &p.Env}
	}
	return &auditRoot{env: &p.Env}
}

type auditRoot struct {
	env     *core.Env
	auditor duty.Auditor
}

// Step steps the auditor.
func (r *auditRoot) Step(t core.Turn) bool { return r.auditor.Step(t, r.env) }

// State is the machine.
func (r *auditRoot) State() any { return &r.auditor }

// blindRoot is the eight drains, and no registration.
type blindRoot struct {
	env       *core.Env
	teardown  duty.Drain[duty.Teardown]
	settle    duty.Drain[duty.Settle]
	retention duty.Drain[duty.Retention]
	reap      duty.Drain[duty.ReapCheck]
	trim      duty.Drain[duty.TrimCheck]
	denorm    duty.Drain[duty.Era]
	gc        duty.Drain[duty.GCRewrite]
	orphan    duty.Drain[duty.Orphan]
}

// Step steps the drains.
func (r *blindRoot) Step(t core.Turn) bool {
	r.settle.Step(t.In(1), r.env, keys.Settle, (*duty.Settle).Step)
	r.teardown.Step(t.In(2), r.env, keys.Teardown, (*duty.Teardown).Step)
	r.retention.Step(t.In(3), r.env, keys.Retention, (*duty.Retention).Step)
	r.reap.Step(t.In(4), r.env, keys.Reap, (*duty.ReapCheck).Step)
	r.trim.Step(t.In(5), r.env, keys.TrimCheck, (*duty.TrimCheck).Step)
	r.orphan.Step(t.In(6), r.env, keys.Orphan, (*duty.Orphan).Step)
	r.denorm.Step(t.In(7), r.env, keys.Denorm, (*duty.Era).Step)
	r.gc.Step(t.In(8), r.env, keys.GC, (*duty.GCRewrite).Step)
	return false
}

// Nova is the scene of a whole cluster: stars, auditors that share their shards,
// and clients.
func Nova(s *Sim) {
	w := &Workload{ledger: newLedger(), byID: map[uint64]*streamOf{}, asked: map[uint64]*ask{}, unanswered: map[*Proc]int{}, most: 1 + s.tape.Choose(6)}
	if !s.NoLaws {
		s.Laws = newJudge(s, w.ledger)
	}
	s.SetClients(w)
	if s.script != nil {
		w.cast(s, s.script.Actors)
		return
	}
	w.mix(s)
	for i := range 1 + s.tape.Choose(3) {
		w.cast(s, []Cast{{fmt.Sprintf("star-%d", i), roleStar, core.Class(s.tape.Choose(core.Classes))}})
	}
	for i := range 1 + s.tape.Choose(3) {
		role := roleAuditor
		if i > 0 && s.tape.Choose(2) == 1 {
			role = roleBlind
		}
		w.cast(s, []Cast{{Name: fmt.Sprintf("auditor-%d", i), Role: role}})
	}
}

// The roles of a cast.
const (
	roleStar    = "star"
	roleAuditor = "auditor"
	roleBlind   = "blind"
)

// cast starts the actors that stand from the beginning.
func (w *Workload) cast(s *Sim, cast []Cast) {
	for _, c := range cast {
		if s.rec != nil {
			s.rec.Actors = append(s.rec.Actors, c)
		}
		if c.Role == roleStar {
			a := &starActor{w: w, name: c.Name, class: c.Class}
			w.stars = append(w.stars, a)
			s.Start(a)
			continue
		}
		a := &auditActor{c.Name, c.Role == roleBlind}
		w.audits = append(w.audits, a)
		s.Start(a)
	}
}
