package explore

import (
	"fmt"
	"math/bits"
	"strings"

	"nova/core"
)

// kind is what can happen next.
type kind uint8

const (
	answer   kind = iota // a reply that is here, or that needs nothing from outside, is delivered
	arrive               // an effect lands, and its reply is on its way
	edge                 // as arrive, of a request that its store let in at the last moment that it might
	unheard              // it lands, and its sender learns nothing
	vanish               // it does not land, and its sender learns nothing
	straggle             // its sender learns nothing, and it lands later, or never
	cut                  // a process is cut; of what it has in flight, any subset lands
	boot                 // a process that was cut is started again
	haunt                // a request whose sender knows no more lands
	exorcise             // such requests are lost for good
	tick                 // time moves on to when something is due
	kinds
)

var kindNames = [kinds]string{"answer", "land", "land at the last moment", "land, reply lost", "lost", "late", "cut", "boot", "late landing", "never lands", "tick"}

// move is one thing that can happen in a state.
type move struct {
	kind kind
	k    uint8  // process
	i    uint8  // effect, or ghost
	also uint8  // cut: effect that lands later, plus one
	mask uint32 // cut: effects that land
}

// moves lists what can happen. With reduce, moves that commute with everything
// else are taken alone (see alone).
func (x *tables) moves(s *state, out []move, reduce bool) []move {
	next, ticks := x.next(s)
	if reduce {
		for k := range x.of.Actors {
			if ms := x.alone(s, k, next, ticks, out); ms != nil {
				return ms
			}
		}
	}
	for k := range x.of.Actors {
		out = x.movesOf(s, k, out)
	}
	for i := range x.sets.all[s.ghosts] {
		out = append(out, move{kind: haunt, i: uint8(i)})
	}
	if ticks && (s.left.Pauses > 0 || !x.waited(s)) {
		return append(out, move{kind: tick})
	}
	if ticks {
		return out
	}
	for _, g := range x.sets.all[s.ghosts] {
		if !g.must {
			return append(out, move{kind: exorcise})
		}
	}
	return out
}

// movesOf lists what one process can do, and what can be done to it.
func (x *tables) movesOf(s *state, k int, out []move) []move {
	p := x.procs.all[s.p[k]]
	if p.done {
		return out
	}
	if p.down {
		return append(out, move{kind: boot, k: uint8(k)})
	}
	m := move{k: uint8(k)}
	for i := range p.pend {
		e := &p.pend[i]
		o := &x.ops.all[e.op]
		m.i = uint8(i)
		switch {
		case e.reply != 0 || o.local:
			m.kind = answer
			out = append(out, m)
			continue
		case o.op.Kind == core.KWait:
			if x.awake(s, k, o) {
				m.kind = answer
				out = append(out, m)
			}
			continue
		case o.op.Kind == core.KTake:
			continue
		}
		m.kind = arrive
		out = append(out, m)
		if now := x.times[s.clock]; o.mutates && o.op.Until > 0 && now > o.op.Until && now <= o.op.Until+x.of.Dials.Service {
			m.kind = edge
			out = append(out, m)
		}
		if s.left.Lost > 0 {
			m.kind = vanish
			out = append(out, m)
			if o.mutates {
				m.kind = unheard
				out = append(out, m)
			}
		}
		if s.left.Late > 0 && x.mayLand(o, s.clock) {
			m.kind = straggle
			out = append(out, m)
		}
	}
	return x.cutsOf(s, k, out)
}

// cuts lists the ways of cutting a process: every subset of what it has in flight
// lands at once; one of the others may land later.
func (x *tables) cuts(s *state, k int, lands uint32, out []move) []move {
	if bits.OnesCount32(lands) > x.of.Subset {
		// The whole, nothing, each alone, and all but each: what a wider group adds
		// are more of the same.
		for _, m := range few(lands) {
			out = append(out, move{kind: cut, k: uint8(k), mask: m})
		}
		return out
	}
	for sub := lands; ; sub = (sub - 1) & lands {
		out = append(out, move{kind: cut, k: uint8(k), mask: sub})
		if s.left.Late > 0 {
			for rest := lands &^ sub; rest != 0; rest &= rest - 1 {
				i := bits.TrailingZeros32(rest)
				if x.mayLand(&x.ops.all[x.procs.all[s.p[k]].pend[i].op], s.clock) {
					out = append(out, move{kind: cut, k: uint8(k), mask: sub, also: uint8(i) + 1})
				}
			}
		}
		if sub == 0 {
			return out
		}
	}
}

// mayLand reports whether a request that is on its way can still land.
func (x *tables) mayLand(o *operation, clock uint16) bool {
	return o.mutates && (o.op.Until == 0 || x.times[clock] <= o.op.Until+x.of.Dials.Service)
}

func few(lands uint32) []uint32 {
	out := []uint32{0, lands}
	for rest := lands; rest != 0; rest &= rest - 1 {
		one := rest & -rest
		out = append(out, one, lands&^one)
	}
	return out
}

// awake reports whether a wait is over: its time has come, or a marker of the
// process's queue is ripe.
func (x *tables) awake(s *state, k int, o *operation) bool {
	a := &x.of.Actors[k]
	now := x.times[s.clock] + a.Skew
	return o.op.Until <= now || a.audit && x.raws.all[x.nodes.all[s.w].raw].first[a.queue] <= now
}

// alone is what can happen in a state where one process has a move that commutes
// with every move of every other, now and later: a reply that is here, or a read
// of what nobody else writes (see prints). It may be taken first, and the others need not be tried
// before it, if the time of its delivery makes no difference either; nil where
// there is none. What may become of the move itself, by a fault, is listed too.
func (x *tables) alone(s *state, k int, next uint16, ticks bool, out []move) []move {
	p := x.procs.all[s.p[k]]
	if p.done || p.down {
		return nil
	}
	for i := range p.pend {
		e := &p.pend[i]
		o := &x.ops.all[e.op]
		m := move{k: uint8(k), i: uint8(i)}
		reply, still := x.ok, s.left.Pauses == 0 // whether time stands still until it is delivered
		switch {
		case e.reply != 0:
			reply = e.reply - 1
		case o.local:
		case o.read && x.quiet(o, k):
			m.kind, still = arrive, false
			_, reply = x.land(s.w, e.op, s.clock)
		default:
			continue
		}
		to := x.deliver(s.p[k], i, reply, s.clock)
		if !still && !x.timeless(s.p[k], i, reply, to, next, ticks) {
			continue
		}
		out = append(out, m)
		if m.kind == arrive && s.left.Lost > 0 {
			out = append(out, move{kind: vanish, k: uint8(k), i: uint8(i)})
		}
		if x.procs.all[to].done { // it can be cut no more afterwards
			out = x.cutsOf(s, k, out)
		}
		return out
	}
	return nil
}

// quiet reports whether nobody but the reader itself writes what a read reads. Its
// own late requests are somebody else's.
func (x *tables) quiet(o *operation, k int) bool {
	if x.of.Faults.Late == 0 && len(x.of.flying) == 0 {
		return o.touch&^(1<<k) == 0
	}
	return o.touch == 0
}

// cutsOf lists the ways of cutting a process, if one may be cut.
func (x *tables) cutsOf(s *state, k int, out []move) []move {
	if s.left.Cuts == 0 {
		return out
	}
	lands := uint32(0)
	p := x.procs.all[s.p[k]]
	for i := range p.pend {
		if p.pend[i].reply == 0 && x.ops.all[p.pend[i].op].mutates {
			lands |= 1 << i
		}
	}
	return x.cuts(s, k, lands, out)
}

// timeless reports whether a delivery leads to the same process now, when time
// has moved on, and at the end of all time: what others do may make time move that
// stands still now.
func (x *tables) timeless(p uint32, i int, reply, to uint32, next uint16, ticks bool) bool {
	return x.deliver(p, i, reply, x.late) == to && (!ticks || x.deliver(p, i, reply, next) == to)
}

// next is the next instant at which something becomes due, if there is one
// before the horizon.
func (x *tables) next(s *state) (uint16, bool) {
	now, at := x.times[s.clock], never
	for k := range x.of.Actors {
		p := x.procs.all[s.p[k]]
		for i := range p.pend {
			o := &x.ops.all[p.pend[i].op]
			if o.op.Kind != core.KWait || p.pend[i].reply != 0 {
				if last := o.op.Until + x.of.Dials.Service; x.of.Edges && o.mutates && o.op.Until > 0 && last > now {
					at = min(at, last)
				}
				continue
			}
			if t := o.op.Until - x.of.Actors[k].Skew; t > now {
				at = min(at, t)
			}
		}
	}
	for _, t := range x.raws.all[x.nodes.all[s.w].raw].due {
		for k := range x.of.Actors { // ripe by each clock
			if t := t - x.of.Actors[k].Skew; t > now {
				at = min(at, t)
			}
		}
		if t > now {
			break
		}
	}
	for _, g := range x.sets.all[s.ghosts] {
		if g.must {
			if g.until <= now {
				return 0, false // it must land before time moves on
			}
			at = min(at, g.until)
		}
	}
	if at > x.of.horizon {
		return 0, false
	}
	return x.time(at), true
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
		p := x.procs.all[s.p[k]]
		for i := range p.pend {
			if p.pend[i].reply != 0 || x.ops.all[p.pend[i].op].local {
				return true
			}
		}
	}
	return false
}

// do is the state that a move leads to.
func (x *tables) do(s *state, m move, reduce bool) state {
	n := *s
	switch m.kind {
	case answer:
		e := &x.procs.all[s.p[m.k]].pend[m.i]
		reply := x.ok
		if e.reply != 0 {
			reply = e.reply - 1
		}
		n.p[m.k] = x.deliver(s.p[m.k], int(m.i), reply, s.clock)
	case arrive:
		e := &x.procs.all[s.p[m.k]].pend[m.i]
		w, reply := x.land(s.w, e.op, s.clock)
		n.w = w
		x.reach(&n, m, reply, reduce)
	case edge:
		e := &x.procs.all[s.p[m.k]].pend[m.i]
		w, reply := x.land(s.w, x.let(e.op, x.ops.all[e.op].op.Until), s.clock)
		n.w = w
		x.reach(&n, m, reply, reduce)
	case unheard:
		n.left.Lost--
		n.w, _ = x.land(s.w, x.procs.all[s.p[m.k]].pend[m.i].op, s.clock)
		x.reach(&n, m, x.unknown, reduce)
	case vanish:
		n.left.Lost--
		x.reach(&n, m, x.unknown, reduce)
	case straggle:
		n.left.Late--
		n.ghosts = x.haunt(s.ghosts, x.ghost(x.procs.all[s.p[m.k]].pend[m.i].op, s.clock))
		x.reach(&n, m, x.unknown, reduce)
	case cut:
		x.fell(&n, m)
	case boot:
		p := x.procs.all[s.p[m.k]]
		if x.of.Actors[m.k].Leased {
			n.w, _ = x.land(n.w, x.seance("grant", session(&x.of.Actors[m.k], p.start)), s.clock)
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
		end := ghost{op: x.seance("revoke", session(a, p.start)), until: x.times[n.clock] + x.of.Dials.SessionTTL, must: true}
		n.ghosts = x.haunt(n.ghosts, end)
	}
	n.p[m.k] = x.cutDown(id)
}

// describe is a move in words.
func (x *tables) describe(s *state, m move) string {
	at := fmt.Sprintf("%6d", x.times[s.clock]-x.of.epoch)
	switch m.kind {
	case tick:
		t, _ := x.next(s)
		return fmt.Sprintf("%s time moves on to %d", at, x.times[t]-x.of.epoch)
	case exorcise:
		return at + " what is still on its way is lost"
	case haunt:
		g := x.sets.all[s.ghosts][m.i]
		return fmt.Sprintf("%s late landing: %s", at, x.words(g.op))
	}
	p := x.procs.all[s.p[m.k]]
	who := session(&x.of.Actors[m.k], p.start)
	switch m.kind {
	case boot:
		return fmt.Sprintf("%s %s starts", at, who)
	case cut:
		var lands []string
		for i := range p.pend {
			switch {
			case m.mask&(1<<i) != 0:
				lands = append(lands, "lands: "+x.words(p.pend[i].op))
			case int(m.also) == i+1:
				lands = append(lands, "lands later: "+x.words(p.pend[i].op))
			}
		}
		return fmt.Sprintf("%s %s is CUT; %s", at, who, strings.Join(lands, "; "))
	}
	e := &p.pend[m.i]
	text := fmt.Sprintf("%s %s: %s (%s at %s)", at, who, x.words(e.op), kindNames[m.kind], e.at)
	switch {
	case m.kind == arrive:
		_, r := x.land(s.w, e.op, s.clock)
		text += " → " + x.replies.all[r].Outcome.String()
	case m.kind == answer && e.reply != 0:
		text += " → " + x.replies.all[e.reply-1].Outcome.String()
	}
	return text
}

func (x *tables) words(op uint32) string {
	o := &x.ops.all[op]
	if o.op.Kind == core.KNone {
		return o.op.Key + " session " + o.session
	}
	return o.op.String()
}
