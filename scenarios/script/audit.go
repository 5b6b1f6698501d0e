package script

import (
	"fmt"
	"slices"
	"strings"

	"nova/core"
	"nova/core/admin"
	"nova/core/duty"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/law"
	"nova/sim"
)

// drainOf is a root machine that runs a duty's drain: one pass of it, or for ever.
func drainOf[M any](q keys.Queue, run duty.Run[M], forever bool) func(e *core.Env) core.Machine {
	return func(e *core.Env) core.Machine {
		d := &duty.Drain[M]{}
		return root(func(t core.Turn) bool {
			if forever {
				d.Step(t, e, q, run)
				return false
			}
			return d.Pass(t, e, q, run)
		})
	}
}

func drains(q keys.Queue, forever bool) func(e *core.Env) core.Machine {
	switch q {
	case keys.Teardown:
		return drainOf(q, (*duty.Teardown).Step, forever)
	case keys.Settle:
		return drainOf(q, (*duty.Settle).Step, forever)
	case keys.Retention:
		return drainOf(q, (*duty.Retention).Step, forever)
	case keys.Reap:
		return drainOf(q, (*duty.ReapCheck).Step, forever)
	case keys.TrimCheck:
		return drainOf(q, (*duty.TrimCheck).Step, forever)
	case keys.Denorm:
		return drainOf(q, (*duty.Era).Step, forever)
	case keys.GC:
		return drainOf(q, (*duty.GCRewrite).Step, forever)
	}
	return drainOf(keys.Orphan, (*duty.Orphan).Step, forever)
}

func queueOf(name string) (keys.Queue, error) {
	for q := range keys.Queue(keys.Queues) {
		if q.String() == name {
			return q, nil
		}
	}
	return 0, fmt.Errorf("no queue %q", name)
}

// pass1 starts one pass of a duty's drain; nothing of it has landed yet.
func (s *Script) pass1(q keys.Queue, name string, skew core.Ms) (*proc, error) {
	if name == "" {
		name = q.String()
	}
	return s.start(name, skew, drains(q, false))
}

// drain runs a duty's drain, until it waits: a pass, and then the look at what is
// dated further ahead than it can honestly be.
func (s *Script) drain(q keys.Queue, name string, skew core.Ms, rs []*rule) error {
	if name == "" {
		name = q.String()
	}
	p, err := s.start(name, skew, drains(q, true))
	if err != nil {
		return err
	}
	s.run(rs, p)
	s.report(p, rs)
	if !p.ended {
		s.end(p, false)
		s.printf("%s waits, and is stopped", p.name)
	}
	return nil
}

// report says how far a process has come, and holds the rules to having struck.
func (s *Script) report(p *proc, rs []*rule) {
	if p.ended && !p.cut && p.done != nil {
		s.printf("%s: %s", p.name, p.done())
	}
	p.done = nil
	s.notes(p)
	s.struck(rs)
}

func (s *Script) struck(rs []*rule) {
	for _, r := range rs {
		if r.struck == 0 {
			s.fail("the rule %q has not struck", r.text)
		}
	}
}

// ended says how a pass has ended, or where it stands.
func (s *Script) ended(p *proc) {
	switch {
	case p.cut:
		s.printf("%s is cut", p.name)
	case p.ended:
		s.printf("%s is through", p.name)
	case p.asleep:
	default:
		for _, e := range p.pend {
			s.printf("%s: %s", p.name, s.opText(&e.op))
		}
	}
}

// note takes what a machine counts.
func (s *Script) note(p *proc, n core.Note) {
	switch n.Kind {
	case core.NoteBacklog, core.NoteOldest:
		p.levels = append(p.levels, n)
	case core.NoteLost, core.NoteDutyParked, core.NoteForeign, core.NoteFarAhead, core.NoteStraySched:
		s.printf("%s: %s: %s", p.name, n.Kind, s.name(n.Key))
	default:
		p.notes[n.Kind] += n.N
	}
}

// notes prints what a process has counted since this was last called.
func (s *Script) notes(p *proc) {
	var out []string
	for k := range core.NoteKinds {
		if n := p.notes[k]; n != 0 {
			out = append(out, fmt.Sprintf("%s=%d", k, n))
		}
	}
	for _, n := range p.levels {
		if n.Kind == core.NoteBacklog && n.N > 0 {
			out = append(out, fmt.Sprintf("backlog=%d", n.N))
		}
		if n.Kind == core.NoteOldest && n.N > 0 {
			out = append(out, "oldest="+span(core.Ms(n.N)))
		}
	}
	clear(p.notes)
	p.levels = nil
	if len(out) > 0 {
		s.printf("%s counts %s", p.name, strings.Join(out, " "))
	}
}

// order in which a round runs the duties.
var rounds = []keys.Queue{keys.Settle, keys.Denorm, keys.Teardown, keys.Retention, keys.Reap, keys.GC, keys.TrimCheck, keys.Orphan}

// round is one pass of each duty.
func (s *Script) round() {
	for _, q := range rounds {
		p, err := s.pass1(q, "", 0)
		if err != nil {
			s.fail("%w", err)
			return
		}
		s.run(nil, p)
	}
}

// converge runs passes of all duties, and lets time go on to what is due next,
// until nothing is left but clocks.
func (s *Script) converge() error {
	s.brief = true
	defer func() { s.brief = false }()
	const most = 500
	for range most {
		if s.round(); s.err != nil {
			return nil
		}
		left := law.AtRest(sim.Snapshot(s.W))
		if len(left) == 0 && len(s.lates) == 0 {
			s.printf("at rest")
			return nil
		}
		at, ripe := s.nextDue()
		if ripe {
			at = s.now + s.Dials.PollEvery // it stands for somebody's sake: a lease that ends, say
		}
		if at == 0 {
			return fmt.Errorf("nothing is due any more, and %s", left[0])
		}
		s.tick(max(at, s.now+1))
	}
	return fmt.Errorf("%d rounds, and %s", most, law.AtRest(sim.Snapshot(s.W)))
}

// nextDue is when the next marker is due, 0 if none will be; ripe says that one is
// due already.
func (s *Script) nextDue() (at core.Ms, ripe bool) {
	for i := range s.W.Meta.Len() {
		r := s.W.Meta.Row(i)
		d, err := keys.ParseDue(r.Key)
		if err != nil || d.Queue.Scheduled() && !d.Sched {
			continue
		}
		t := d.At
		switch d.Queue {
		case keys.Orphan:
			t += s.Dials.OrphanGrace
		case keys.GC:
			m, _ := format.DecodeReapMark(r.Val)
			t = m.NotBefore
		}
		if ripe = ripe || t <= s.now; at == 0 || t < at {
			at = t
		}
	}
	for _, l := range s.lates {
		if at == 0 || l.at < at {
			at = l.at
		}
	}
	return at, ripe
}

// still runs more passes, one a minute: nothing may be written but clocks.
func (s *Script) still(passes int) error {
	was := sim.Snapshot(s.W)
	s.brief = true
	defer func() { s.brief = false }()
	for range passes {
		s.tick(s.now + 60_000)
		if s.round(); s.err != nil {
			return nil
		}
	}
	if bad := law.Fixed(was, sim.Snapshot(s.W)); len(bad) > 0 {
		return fmt.Errorf("%d passes, and %s", passes, bad[0])
	}
	s.printf("%d passes of each duty write nothing but clocks", passes)
	return nil
}

// decommission runs the operator's verb once.
func (s *Script) decommission(o admin.Order, rs []*rule) error {
	p, err := s.operator(o)
	if err != nil {
		return err
	}
	s.run(rs, p)
	s.report(p, rs)
	return nil
}

// operator starts the operator's verb; nothing of it has landed yet.
func (s *Script) operator(o admin.Order) (*proc, error) {
	m := &admin.Decommission{}
	var end core.Verdict
	p, err := s.start("operator", 0, func(e *core.Env) core.Machine {
		return root(func(t core.Turn) bool {
			end = m.Step(t, e, &o)
			return end != core.Working
		})
	})
	if err != nil {
		return nil, err
	}
	p.done = func() string {
		r := &m.Report
		text := fmt.Sprintf("%s: %s; settled %d, ripened %d, reaped %d, swept %d", o.Star, end, r.Settled, r.Ripened, r.Reaped, r.Swept)
		for _, b := range r.Blockers {
			text += fmt.Sprintf("\n    %s: %s", b.Reason, s.name(b.Key))
			if b.Until != 0 {
				text += ", until " + clock(b.Until)
			}
		}
		for _, f := range r.Named {
			text += fmt.Sprintf("\n    foreign: %s/%s", f.Store, f.Key)
		}
		return text
	}
	return p, nil
}

// living finds processes by name.
func (s *Script) living(names []string) (ps []*proc, err error) {
	for _, n := range names {
		p := s.procs[n]
		if p == nil || p.ended {
			return nil, fmt.Errorf("%s does not run", n)
		}
		if slices.Contains(ps, p) {
			return nil, fmt.Errorf("%s twice", n)
		}
		ps = append(ps, p)
	}
	if len(ps) == 0 {
		return nil, fmt.Errorf("who?")
	}
	return ps, nil
}

// wake lets processes go on.
func (s *Script) wake(names []string, rs []*rule) error {
	ps, err := s.living(names)
	if err != nil {
		return err
	}
	for _, p := range ps {
		p.asleep = false
		for _, e := range p.pend {
			e.held = false
		}
	}
	s.run(rs, ps...)
	s.tick(s.now) // waits that were over long ago
	for _, p := range ps {
		s.report(p, nil)
		s.ended(p)
	}
	s.struck(rs)
	return nil
}

// kill ends a process where it stands.
func (s *Script) kill(name string, landing bool) error {
	ps, err := s.living([]string{name})
	if err != nil {
		return err
	}
	p := ps[0]
	flying := slices.Clone(p.pend)
	slices.SortFunc(flying, func(a, b *pending) int {
		if a.at.Less(b.at) {
			return -1
		}
		return 1
	})
	for _, e := range flying {
		if !e.op.Mutates() {
			continue
		}
		if landing {
			s.land(e, ", and nobody takes the reply")
		} else {
			s.say(e, "never lands")
		}
	}
	s.end(p, true)
	s.ended(p)
	return nil
}

// expireSession ends a live process's session.
func (s *Script) expireSession(name string) error {
	ps, err := s.living([]string{name})
	if err != nil {
		return err
	}
	s.W.Revoke(ps[0].session)
	s.printf("the session of %s ends%s", name, s.rowsGone())
	s.judged()
	s.session(ps[0])
	return nil
}
