package script

import (
	"fmt"
	"slices"
	"strings"

	"nova/core"
	"nova/sim/world"
)

// proc is one process: a root machine and what it has in flight.
type proc struct {
	name     string
	env      core.Env
	machine  core.Machine
	x        core.Exchange
	pend     []*pending
	session  string // "" where it could not be granted one
	sessions int
	skew     core.Ms
	asleep   bool // a rule stopped it
	ended    bool
	cut      bool
	notes    map[core.NoteKind]int64
	levels   []core.Note
	queue    []string // requests that it has not taken
	gave     func(val string)
	done     func() string // what to say at its end
	landed   int           // mutations of it that landed or were answered
}

// pending is one effect in flight.
type pending struct {
	p       *proc
	at      core.Path
	op      core.Op
	sentAt  core.Ms
	session string
	dead    bool
	held    bool // a rule keeps it on its way, until its process is told to go on
	slow    bool // it was held: a store may have let it in a service time before it lands
}

// start starts a process. Nothing of it lands yet.
func (s *Script) start(name string, skew core.Ms, boot func(e *core.Env) core.Machine) (*proc, error) {
	if p := s.procs[name]; p != nil && !p.ended {
		return nil, fmt.Errorf("%s runs", name)
	}
	s.clocks.Run(skew, &s.Dials)
	s.judge.Clocks(s.clocks.Spread())
	s.serial++
	p := &proc{name: name, skew: skew, notes: map[core.NoteKind]int64{}}
	p.env = core.Env{Dials: s.Dials, Stores: s.Stores, Process: fmt.Sprintf("%s#%d", name, s.serial), Generation: 1}
	p.machine = boot(&p.env)
	s.session(p)
	if s.procs[name] == nil {
		s.order = append(s.order, name)
	}
	s.procs[name] = p
	p.x.Now = s.now + skew
	s.turn(p, p.x.Start())
	return p, nil
}

// session gives a process a session, if the metastore has space for one.
func (s *Script) session(p *proc) {
	p.sessions++
	id := fmt.Sprintf("%s/%d", p.env.Process, p.sessions)
	if p.session = ""; s.W.Meta.Grant(id, s.now+s.Dials.SessionTTL) {
		p.session = id
	}
}

// turn steps a machine and takes up what it emits.
func (s *Script) turn(p *proc, t core.Turn) {
	done := p.machine.Step(t)
	if !p.x.Consumed() {
		s.fail("%s: the reply at %s found no call: a branch was dropped in flight", p.name, p.x.Ev.At)
	}
	for _, n := range p.x.Notes {
		s.note(p, n)
	}
	for i := range p.x.Out {
		e := &pending{p: p, at: p.x.Out[i].At, op: p.x.Out[i].Op, sentAt: s.now, session: p.session}
		p.pend = append(p.pend, e)
		s.seen(&e.op)
	}
	if done {
		if len(p.pend) > 0 {
			s.fail("%s ended with %s in flight", p.name, s.opText(&p.pend[0].op))
		}
		s.end(p, false)
	}
}

// seen numbers the incarnations that an operation names, whether or not it is
// printed.
func (s *Script) seen(op *core.Op) {
	switch {
	case op.IsStore():
		s.object(op.Key)
	case op.Kind == core.KTxn:
		for i := range op.Txn {
			s.key(op.Txn[i].At.Key)
		}
	}
}

// end ends a process. One that was cut leaves its session behind, for as long as
// a session lives without it.
func (s *Script) end(p *proc, cut bool) {
	p.ended, p.cut, p.machine = true, cut, nil
	for _, e := range p.pend {
		e.dead = true
	}
	p.pend = nil
	switch {
	case p.session == "":
	case cut:
		s.W.Meta.Renew(p.session, s.now+s.Dials.SessionTTL)
	default:
		s.W.Revoke(p.session)
		s.judged()
	}
}

// next is the effect that moves next: that of the lowest path, of those that are
// no waits.
func (p *proc) next() *pending {
	var best *pending
	for _, e := range p.pend {
		if e.held || e.op.Kind == core.KWait || e.op.Kind == core.KTake && len(p.queue) == 0 {
			continue
		}
		if best == nil || e.at.Less(best.at) {
			best = e
		}
	}
	return best
}

// runaway is how many effects one command may land of one process.
const runaway = 200_000

// run runs processes, in turns, until each is done, waits, or was stopped.
func (s *Script) run(rs []*rule, ps ...*proc) {
	for n := 0; ; n++ {
		moved := false
		for _, p := range ps {
			if p.ended || p.asleep {
				continue
			}
			if e := p.next(); e != nil {
				moved = true
				s.move(e, rs)
			}
		}
		if !moved {
			return
		}
		if s.err != nil {
			return
		}
		if n > runaway {
			s.fail("%s does not come to rest: %s", ps[0].name, s.opText(&ps[0].pend[0].op))
			return
		}
	}
}

// move lands one effect and delivers its reply, or does what a rule says.
func (s *Script) move(e *pending, rs []*rule) {
	p := e.p
	var r *rule
	if len(rs)+len(s.always) > 0 {
		text := s.opText(&e.op)
		if r = strike(rs, text); r == nil {
			r = strike(s.always, text)
		}
	}
	if e.op.Mutates() {
		p.landed++
	}
	if r == nil {
		s.deliver(e, s.land(e, ""))
		return
	}
	s.hit(e, r)
}

func (s *Script) hit(e *pending, r *rule) {
	p := e.p
	switch r.act {
	case cutBefore:
		s.say(e, "cut before it")
		s.end(p, true)
	case cutSilent:
		s.land(e, ", and cut")
		s.end(p, true)
	case cutAfter:
		s.deliver(e, s.land(e, ", and cut after its reply"))
		if !p.ended {
			s.end(p, true)
		}
	case cutLate:
		s.say(e, "cut, and it is still on its way")
		s.lates = append(s.lates, late{s.now + r.wait, e, p.name})
		s.end(p, true)
	case lose:
		s.land(e, ", and the answer is "+r.outcome.String())
		s.deliver(e, core.Reply{Outcome: r.outcome})
	case drop:
		s.say(e, "lost on its way, no answer")
		s.deliver(e, core.Reply{Outcome: core.Unknown})
	case landLate:
		s.say(e, "no answer, and it is still on its way")
		s.lates = append(s.lates, late{s.now + r.wait, e, p.name})
		s.deliver(e, core.Reply{Outcome: core.Unknown})
	case answer:
		s.say(e, "answered "+r.outcome.String())
		s.deliver(e, core.Reply{Outcome: r.outcome})
	case hold:
		s.say(e, "on its way")
		e.held, e.slow = true, true
	case stopBefore:
		s.say(e, "stopped before it")
		p.asleep = true
	case stopAfter:
		s.deliver(e, s.land(e, ", and stopped"))
		p.asleep = true
	}
}

// land lands an effect and prints it; more is what befalls its process.
func (s *Script) land(e *pending, more string) core.Reply {
	p := e.p
	switch e.op.Kind {
	case core.KTake:
		v := p.queue[0]
		p.queue = p.queue[1:]
		return core.Reply{Val: v}
	case core.KGive:
		if p.gave != nil {
			p.gave(e.op.Val)
		}
		return core.Reply{}
	case core.KStage:
		return core.Reply{}
	}
	admitted := s.now
	if e.slow {
		admitted = max(e.sentAt, s.now-s.Dials.Service)
	}
	r := s.apply(&e.op, e.session, admitted)
	switch {
	case more != "":
		s.say(e, r.Outcome.String()+more)
	case s.verbose && e.op.Kind == core.KScan:
		s.say(e, fmt.Sprintf("%s, %d rows", r.Outcome, len(r.Rows)))
	case s.verbose, e.op.Mutates() && !s.brief, s.brief && e.op.IsStore() && e.op.Mutates():
		s.say(e, r.Outcome.String())
	}
	s.judged()
	return r
}

// say prints an effect and what came of it.
func (s *Script) say(e *pending, what string) {
	if s.silent {
		return
	}
	if e.op.Kind != core.KTxn {
		s.printf("%s %s: %s", e.p.name, s.opText(&e.op), what)
		return
	}
	s.printf("%s txn: %s", e.p.name, what)
	for _, l := range s.txnLines(e.op.Txn) {
		s.printf("    %s", l)
	}
}

// deliver hands a reply to the machine.
func (s *Script) deliver(e *pending, r core.Reply) {
	p := e.p
	if e.dead {
		return
	}
	p.pend = slices.DeleteFunc(p.pend, func(x *pending) bool { return x == e })
	e.dead = true
	p.x.Now = s.now + p.skew
	s.turn(p, p.x.Deliver(e.at, r))
}

// tick lets time go by, and everything that it brings.
func (s *Script) tick(to core.Ms) {
	for {
		at, what := s.soonest(to)
		if what == nil {
			break
		}
		s.pass(max(s.now, at))
		what()
		if s.err != nil {
			return
		}
	}
	s.pass(to)
}

func (s *Script) pass(to core.Ms) {
	s.now = to
	s.judge.Now(to)
}

// soonest is the first thing that time brings, up to a time.
func (s *Script) soonest(to core.Ms) (at core.Ms, what func()) {
	at = to + 1
	for i, l := range s.lates {
		if l.at < at {
			at, what = l.at, func() {
				s.lates = slices.Delete(slices.Clone(s.lates), i, i+1)
				s.landLate(l)
			}
		}
	}
	if t, ok := s.W.Meta.NextExpiry(); ok && t < at {
		at, what = t, s.expire
	}
	for _, name := range s.order {
		p := s.procs[name]
		if p.ended || p.asleep {
			continue
		}
		for _, e := range p.pend {
			if e.op.Kind == core.KWait && e.op.Until-p.skew < at {
				at, what = e.op.Until-p.skew, func() {
					s.deliver(e, core.Reply{})
					s.run(nil, p)
				}
			}
		}
	}
	return at, what
}

// landLate lands what nobody waits for any more. A store is done with what it lets
// in within its service time; it lets nothing in after its NotAfter.
func (s *Script) landLate(l late) {
	r := s.apply(&l.e.op, l.e.session, max(l.e.sentAt, s.now-s.Dials.Service))
	s.say(l.e, "late, "+r.Outcome.String())
	s.judged()
}

// expire ends the sessions whose time has come. Who lives has renewed its own.
func (s *Script) expire() {
	for _, name := range s.order {
		if p := s.procs[name]; !p.ended && p.session != "" {
			s.W.Meta.Renew(p.session, s.now+s.Dials.SessionTTL)
		}
	}
	for _, id := range s.W.Expire(s.now) {
		name, _, _ := strings.Cut(id, "#")
		s.printf("the session of %s ends%s", name, s.rowsGone())
	}
	s.judged()
}

// rowsGone prints the rows that have just gone with a session.
func (s *Script) rowsGone() string {
	var gone []string
	for i := range s.W.Changes {
		if c := &s.W.Changes[i]; c.Kind == world.RowDel {
			gone = append(gone, s.key(c.Key))
		}
	}
	if gone == nil {
		return ""
	}
	return ", and with it " + strings.Join(gone, " ")
}
