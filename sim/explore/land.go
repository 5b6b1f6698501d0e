package explore

import (
	"nova/core"
	"nova/sim/world"
)

// land applies an operation to a node: the node it becomes, and the reply.
func (x *tables) land(n, op uint32, clock uint16) (uint32, uint32) {
	if !x.opLooks[op].mutates {
		return n, x.look(x.nodeLooks[n].raw, op)
	}
	key := uint64(n) | uint64(op)<<bitsNode | uint64(clock)<<(bitsNode+bitsOp)
	v, ok := x.lands.get(key)
	if !ok {
		to, reply := x.write(n, op, x.times[clock])
		v = uint64(to) | uint64(reply)<<32
		x.lands.put(key, v)
	}
	return uint32(v), uint32(v >> 32)
}

// look is the reply to a read, which is no matter of time, nor of who died when.
func (x *tables) look(raw, op uint32) uint32 {
	key := uint64(raw) | uint64(op)<<bitsNode
	v, ok := x.looks.get(key)
	if !ok {
		x.newSteps++
		v = uint64(x.reply(x.apply(x.raws.all[raw].w, op, x.of.epoch)))
		x.looks.put(key, v)
	}
	return uint32(v)
}

// write applies an operation that may change something. What a transaction does is
// no matter of time either: only when it is that something dies of it.
func (x *tables) write(n, op uint32, now core.Ms) (to, reply uint32) {
	old := x.nodes.all[n]
	if x.ops.all[op].op.Kind != core.KTxn {
		raw, reply := x.change(old, op, now)
		return x.become(n, raw, now), reply
	}
	key := uint64(old.raw) | uint64(op)<<bitsNode
	v, ok := x.txns.get(key)
	if !ok {
		raw, reply := x.change(old, op, now)
		v = uint64(raw) | uint64(reply)<<32
		x.txns.put(key, v)
	}
	return x.become(n, uint32(v), now), uint32(v >> 32)
}

// change applies an operation to the world of a node, and judges what it changes:
// the world that comes of it, and the reply.
func (x *tables) change(old *node, op uint32, now core.Ms) (raw, reply uint32) {
	x.newSteps++
	was := x.raws.all[old.raw]
	w := was.w.Clone()
	reply = x.reply(x.apply(w, op, now))
	if cs := w.Changes; len(cs) > 0 {
		w.Changes = nil
		x.changed(op, cs)
		for i := range cs {
			x.judgeChange(was, old, &cs[i], now)
		}
	} else if x.ops.all[op].op.Kind != core.KNone { // sessions are no rows
		return old.raw, reply
	}
	return x.raw(w), reply
}

// apply lands an operation on a world that is nobody else's, or that it only reads.
func (x *tables) apply(w *world.World, op uint32, now core.Ms) (r core.Reply) {
	o := &x.ops.all[op]
	when := world.When{Now: now, Admitted: now, Session: o.session}
	if o.admitted > 0 {
		when.Admitted = min(o.admitted, now)
	}
	switch {
	case o.op.Kind != core.KNone:
		r = w.Apply(&o.op, when)
	case o.op.Key == grant:
		w.Meta.Grant(o.session, never)
	default:
		w.Revoke(o.session)
	}
	if w.Contract != nil {
		x.breach(0, "%s: %v", &o.op, w.Contract)
	}
	return r
}

// Operations of the simulator's own: a session begins, or ends.
const (
	grant  = "grant"
	revoke = "revoke"
)

// seance numbers one of them.
func (x *tables) seance(verb string, actor, start uint8) uint32 {
	k := rite{verb, actor, start}
	op, ok := x.seances[k]
	if !ok {
		op = x.operation(&core.Op{Key: verb}, session(&x.of.Actors[actor], start), 0)
		x.sends(op, nobody)
		x.seances[k] = op
	}
	return op
}

// rite is what happens to whose session.
type rite struct {
	verb         string
	actor, start uint8
}
