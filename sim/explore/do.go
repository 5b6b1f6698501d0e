package explore

import (
	"nova/core"
)

// next is the next instant at which something becomes due, if there is one
// before the horizon.
func (x *tables) next(s *state) (uint16, bool) {
	now := x.nows[s.clock]
	at := x.dueAt(s.w, now)
	for k := range x.of.Actors {
		at = min(at, x.dueTo(k, s.p[k], now))
	}
	if s.ghosts != 0 {
		for _, g := range x.sets.all[s.ghosts] {
			if g.must {
				until := x.after(g.until)
				if until <= now {
					return 0, false // it must land before time moves on
				}
				at = min(at, until)
			}
		}
	}
	if at > x.end {
		return 0, false
	}
	return x.instant(at), true
}

// beyond reports whether something is due only after the horizon: where nothing
// moves before that, a state is not at rest, but at the end of what is looked at.
func (x *tables) beyond(s *state) bool {
	for k := range x.of.Actors {
		p := x.procs.all[s.p[k]]
		for i := range p.pend {
			if o := &x.ops.all[p.pend[i].op]; o.op.Kind == core.KWait && o.op.Until > x.of.horizon && o.op.Until < never {
				return true
			}
		}
	}
	due := x.raws.all[x.nodes.all[s.w].raw].due
	return len(due) > 0 && due[len(due)-1] > x.of.horizon
}

// waited reports whether a reply waits for its process.
func (x *tables) waited(s *state) bool {
	for k := range x.of.Actors {
		if x.procLooks[s.p[k]].reply {
			return true
		}
	}
	return false
}

// do is the state that a move leads to.
func (x *tables) do(s *state, m move, reduce bool) state {
	n := *s
	switch m.kind {
	case answer:
		e := x.sentBy(s.p[m.k])[m.i]
		reply := x.ok
		if e.reply != 0 {
			reply = e.reply - 1
		}
		n.p[m.k] = x.deliver(s.p[m.k], int(m.i), reply, s.clock)
	case arrive:
		e := x.sentBy(s.p[m.k])[m.i]
		w, reply := x.land(s.w, e.op, s.clock)
		n.w = w
		x.reach(&n, m, reply, reduce)
	case edge:
		e := x.sentBy(s.p[m.k])[m.i]
		w, reply := x.land(s.w, x.let(e.op, x.ops.all[e.op].op.Until), s.clock)
		n.w = w
		x.reach(&n, m, reply, reduce)
	case unheard:
		n.left.Lost--
		n.w, _ = x.land(s.w, x.sentBy(s.p[m.k])[m.i].op, s.clock)
		x.reach(&n, m, x.unknown, reduce)
	case vanish:
		n.left.Lost--
		x.reach(&n, m, x.unknown, reduce)
	case straggle:
		n.left.Late--
		n.ghosts = x.haunt(s.ghosts, x.ghost(x.sentBy(s.p[m.k])[m.i].op, s.clock))
		x.reach(&n, m, x.unknown, reduce)
	case cut:
		x.fell(&n, m)
	case boot:
		p := x.procs.all[s.p[m.k]]
		if x.of.Actors[m.k].Leased {
			n.w, _ = x.land(n.w, x.seance(grant, m.k, p.start), s.clock)
		}
		n.p[m.k] = x.start(m.k, p.start, s.clock)
	case haunt:
		g := x.sets.all[s.ghosts][m.i]
		n.w, _ = x.land(s.w, g.op, s.clock)
		n.ghosts = x.lay(s.ghosts, int(m.i))
	case exorcise:
		n.ghosts = x.expire(s.ghosts, never)
	case tick:
		if x.waited(s) {
			n.left.Pauses--
		}
		n.clock, _ = x.next(s)
		n.ghosts = x.expire(s.ghosts, x.times[n.clock])
	}
	return n
}

// reach brings a reply on its way; with reduce, and where its time makes no
// difference, at once.
func (x *tables) reach(n *state, m move, reply uint32, reduce bool) {
	p, i := n.p[m.k], int(m.i)
	if reduce {
		to := x.deliver(p, i, reply, n.clock)
		if n.left.Pauses == 0 {
			n.p[m.k] = to
			return
		}
		s := *n
		s.p[m.k] = x.landed(p, i, reply)
		if next, ticks := x.next(&s); x.timeless(p, i, reply, to, next, ticks) {
			n.p[m.k] = to
			return
		}
	}
	n.p[m.k] = x.landed(p, i, reply)
}

// ghost is a request that goes on without its sender.
func (x *tables) ghost(op uint32, clock uint16) ghost {
	o := &x.ops.all[op]
	now := x.times[clock]
	g := ghost{op: op, admitted: now, until: now + x.of.Dials.RequestLife}
	if o.op.Until > 0 {
		g.admitted = min(now, o.op.Until)
		g.until = o.op.Until + x.of.Dials.Service
	}
	g.op = x.let(op, g.admitted)
	return g
}

// expire drops the ghosts that can land no more.
func (x *tables) expire(set uint32, now core.Ms) uint32 {
	for i, g := range x.sets.all[set] {
		if g.until < now && !g.must {
			return x.expire(x.lay(set, i), now)
		}
	}
	return set
}

// fell cuts a process.
func (x *tables) fell(n *state, m move) {
	id := n.p[m.k]
	p := x.procs.all[id]
	n.left.Cuts--
	for i := range p.pend {
		switch {
		case m.mask&(1<<i) != 0:
			n.w, _ = x.land(n.w, p.pend[i].op, n.clock)
		case int(m.also) == i+1:
			n.left.Late--
			n.ghosts = x.haunt(n.ghosts, x.ghost(p.pend[i].op, n.clock))
		}
	}
	if a := &x.of.Actors[m.k]; a.Leased {
		end := ghost{op: x.seance(revoke, m.k, p.start), until: x.times[n.clock] + x.of.Dials.SessionTTL, must: true}
		n.ghosts = x.haunt(n.ghosts, end)
	}
	n.p[m.k] = x.cutDown(id)
}
