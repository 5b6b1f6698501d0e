package sim

import (
	"fmt"

	"nova/core"
	"nova/core/admin"
	"nova/core/format"
	"nova/core/keys"
)

// operatorActor takes a star out of use for good: it runs a decommission, and,
// once it was cut, another.
type operatorActor struct {
	w     *Workload
	name  string
	order admin.Order
	done  bool
}

func (a *operatorActor) Name() string { return a.name }

// Revive reports whether the operator comes again.
func (a *operatorActor) Revive() bool { return !a.done }

// Boot makes the decommission's machine.
func (a *operatorActor) Boot(p *Proc) core.Machine {
	return &operatorRoot{env: &p.Env, order: a.order}
}

// Ended notes how it ended. One that was refused, for the star had come back, is
// through as well.
func (a *operatorActor) Ended(p *Proc, cut bool) {
	if a.done = a.done || !cut; cut {
		return
	}
	p.Sim.logf(p, "ended", "decommission of %s", a.order.Star)
}

type operatorRoot struct {
	env   *core.Env
	order admin.Order
	verb  admin.Decommission
}

// Step steps the decommission.
func (r *operatorRoot) Step(t core.Turn) bool {
	return r.verb.Step(t, r.env, &r.order) != core.Working
}

// State is the machine.
func (r *operatorRoot) State() any { return &r.verb }

// decommission sends an operator for a star, dead or alive. Another star, of a new
// name, takes its place.
func (w *Workload) decommission(s *Sim) {
	a := w.stars[s.tape.Choose(len(w.stars))]
	if s.Running(a) != nil && s.tape.Choose(8) < 7 {
		return // mostly one that does not run
	}
	if _, out := s.W.Meta.Lookup(keys.Gone(a.name)); out && s.tape.Choose(4) < 3 {
		return
	}
	s.Count.Clients[reqDecommission]++
	x := &Asked{Verb: reqDecommission.String(), Star: a.name, Cool: s.tape.Choose(4) == 3, Force: s.tape.Choose(4) == 3}
	if n := len(w.stars); n < maxStars {
		x.Next, x.Class = fmt.Sprintf("star-%d", n), core.Class(s.tape.Choose(core.Classes))
	}
	w.takeOut(s, a, x)
}

// maxStars is how many names stars have in one run.
const maxStars = 6

// finish sends an operator again for what none has finished.
func (w *Workload) finish(s *Sim) {
	for _, o := range w.operators {
		if !o.done && s.Running(o) == nil {
			s.Start(o)
		}
	}
	from, end := keys.GoneRange()
	var left []string
	s.W.Meta.Range(from, end, func(r core.Row) bool {
		star, err := keys.ParseGone(r.Key)
		g, err2 := format.DecodeGone(r.Val)
		if err == nil && err2 == nil && g.Phase != format.GoneDone {
			left = append(left, star)
		}
		return true
	})
	for _, star := range left {
		w.serial++
		s.Start(&operatorActor{w: w, name: fmt.Sprintf("operator-%d", w.serial), order: admin.Order{Star: star, Wait: true}})
	}
}
