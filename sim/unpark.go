package sim

import (
	"fmt"

	"nova/core"
	"nova/core/admin"
	"nova/core/keys"
)

// parked reports whether a parked marker stands.
func parked(s *Sim) (yes bool) {
	from, end := keys.ParkRange()
	s.W.Meta.Range(from, end, func(core.Row) bool { yes = true; return false })
	return yes
}

// unpark sends an operator who gives duties their parked markers again, as one does
// once the cause is gone, or before.
func (w *Workload) unpark(s *Sim) {
	s.Count.Clients[reqUnpark]++
	w.serial++
	if !w.stopped {
		s.asks(&Asked{Verb: reqUnpark.String(), N: w.serial})
	}
	w.unparker = &unparkActor{name: fmt.Sprintf("operator-%d", w.serial)}
	s.Start(w.unparker)
}

// unparkActor runs one unparking; one that is cut is not begun again.
type unparkActor struct{ name string }

func (a *unparkActor) Name() string { return a.name }

// Revive reports whether the operator comes again.
func (a *unparkActor) Revive() bool { return false }

// Boot makes the machine.
func (a *unparkActor) Boot(p *Proc) core.Machine { return &unparkRoot{env: &p.Env} }

type unparkRoot struct {
	env  *core.Env
	verb admin.Unpark
}

// Step steps it.
func (r *unparkRoot) Step(t core.Turn) bool {
	return r.verb.Step(t, r.env, &admin.Unparking{}) != core.Working
}

// State is the machine.
func (r *unparkRoot) State() any { return &r.verb }
