package explore

import (
	"math/bits"

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
	p := &x.procLooks[s.p[k]]
	if p.done {
		return out
	}
	if p.down {
		return append(out, move{kind: boot, k: uint8(k)})
	}
	m := move{k: uint8(k)}
	for i, e := range x.sentBy(s.p[k]) {
		o := &x.opLooks[e.op]
		m.i = uint8(i)
		switch {
		case e.reply != 0 || o.local:
			m.kind = answer
			out = append(out, m)
			continue
		case o.kind == core.KWait:
			if x.awake(s, k, e.op) {
				m.kind = answer
				out = append(out, m)
			}
			continue
		case o.kind == core.KTake:
			continue
		}
		m.kind = arrive
		out = append(out, m)
		if o.mutates && x.atLast(e.op, s.clock) {
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
		if s.left.Late > 0 && x.mayLand(e.op, s.clock) {
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
				if x.mayLand(x.sentBy(s.p[k])[i].op, s.clock) {
					out = append(out, move{kind: cut, k: uint8(k), mask: sub, also: uint8(i) + 1})
				}
			}
		}
		if sub == 0 {
			return out
		}
	}
}

// atLast reports whether a request that its store let in at the last moment would
// still be under way now.
func (x *tables) atLast(op uint32, clock uint16) bool {
	until := x.opLooks[op].until
	return until > noUntil && x.nows[clock] > until && x.nows[clock] <= until+x.service
}

// mayLand reports whether a request that is on its way can still land.
func (x *tables) mayLand(op uint32, clock uint16) bool {
	o := &x.ops.all[op]
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
func (x *tables) awake(s *state, k int, op uint32) bool {
	a := &x.of.Actors[k]
	now := x.nows[s.clock] + after(a.Skew)
	return x.opLooks[op].until <= now || a.audit && x.nodeLooks[s.w].ripe[k] <= now
}

// alone is what can happen in a state where one process has a move that commutes
// with every move of every other, now and later: a reply that is here, or a read
// of what nobody else writes (see prints). It may be taken first, and the others need not be tried
// before it, if the time of its delivery makes no difference either; nil where
// there is none. What may become of the move itself, by a fault, is listed too.
func (x *tables) alone(s *state, k int, next uint16, ticks bool, out []move) []move {
	if p := &x.procLooks[s.p[k]]; p.done || p.down {
		return nil
	}
	for i, e := range x.sentBy(s.p[k]) {
		o := &x.opLooks[e.op]
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
		if m.kind == arrive && !x.rely(e.op, k) {
			continue
		}
		out = append(out, m)
		if m.kind == arrive && s.left.Lost > 0 {
			out = append(out, move{kind: vanish, k: uint8(k), i: uint8(i)})
		}
		if x.procLooks[to].done { // it can be cut no more afterwards
			out = x.cutsOf(s, k, out)
		}
		return out
	}
	return nil
}

// quiet reports whether nobody but the reader itself writes what a read reads, as
// far as is known.
func (x *tables) quiet(o *opLook, k int) bool { return o.touch&^x.own(k) == 0 }

// rely notes that a read is let through because it is quiet, unless what came of it
// has shown otherwise.
func (x *tables) rely(op uint32, k int) bool {
	o := &x.opLooks[op]
	if !x.quiet(o, k) {
		return false
	}
	o.may &= x.own(k)
	return true
}

// own is the reader itself among those who write. Its own late requests are
// somebody else's.
func (x *tables) own(k int) uint8 {
	if x.of.Faults.Late == 0 && len(x.of.flying) == 0 {
		return 1 << k
	}
	return 0
}

// cutsOf lists the ways of cutting a process, if one may be cut.
func (x *tables) cutsOf(s *state, k int, out []move) []move {
	if s.left.Cuts == 0 {
		return out
	}
	return x.cuts(s, k, x.procLooks[s.p[k]].lands, out)
}

// timeless reports whether a delivery leads to the same process now, when time
// has moved on, and at the end of all time: what others do may make time move that
// stands still now.
func (x *tables) timeless(p uint32, i int, reply, to uint32, next uint16, ticks bool) bool {
	return x.deliver(p, i, reply, x.last) == to && (!ticks || x.deliver(p, i, reply, next) == to)
}
