package explore

import (
	"math"

	"nova/core"
)

// What a search asks at each state of its parts, in so few bytes and so close
// together that it stays in the processor's caches. The whole of a part is wanted
// only where something is met for the first time.

// after is a time, as milliseconds after the world's epoch; late for all that is
// beyond every horizon.
type after int32

const late = after(math.MaxInt32)

func (x *tables) after(t core.Ms) after {
	return after(max(min(t-x.of.epoch, core.Ms(late)), math.MinInt32))
}

// dueIn is a stretch of time, and when the first thing is due after any instant of
// it.
type dueIn struct{ from, next after }

// holds reports whether it says what is due after now.
func (d dueIn) holds(now after) bool { return d.from <= now && now < d.next }

// meet takes an instant at which something is due into the stretch about now.
func (d *dueIn) meet(t, now after) {
	if t > now {
		d.next = min(d.next, t)
	} else {
		d.from = max(d.from, t)
	}
}

// procLook is what is asked of a process.
type procLook struct {
	due   dueIn  // among what it waits for: the answer to the last question
	pend  uint32 // where its effects in flight begin among all
	lands uint32 // effects that have not landed and would write, a bit for each
	n     uint8  // effects in flight
	down  bool
	done  bool
	reply bool // it has a reply that waits for it
}

// sent is an effect in flight.
type sent struct{ op, reply uint32 }

// opLook is what is asked of an operation.
type opLook struct {
	until   after
	kind    core.Kind
	mutates bool
	local   bool
	read    bool
	touch   uint8 // read: who writes what it reads, as far as is known
	may     uint8 // read: who may write it, for all that was relied on
}

// nodeLook is what is asked of a world.
type nodeLook struct {
	due  dueIn
	ripe [MaxActors]after // when the first marker of each auditor's queue is ripe
	raw  uint32
}

// lookAtProc is the look of a process that was just numbered.
func (x *tables) lookAtProc(p *proc) {
	l := procLook{due: dueIn{late, 0}, pend: uint32(len(x.sent)), n: uint8(len(p.pend)), down: p.down, done: p.done}
	for i := range p.pend {
		e := &p.pend[i]
		o := &x.opLooks[e.op]
		x.sent = append(x.sent, sent{e.op, e.reply})
		l.reply = l.reply || e.reply != 0 || o.local
		if e.reply == 0 && o.mutates {
			l.lands |= 1 << i
		}
	}
	x.procLooks = append(x.procLooks, l)
}

// sentBy is what a process has in flight.
func (x *tables) sentBy(p uint32) []sent {
	l := &x.procLooks[p]
	return x.sent[l.pend : l.pend+uint32(l.n)]
}

// noUntil is the until of an operation that has none.
const noUntil = after(math.MinInt32)

// lookAtOp is the look of an operation that is just being numbered.
func (x *tables) lookAtOp(op *core.Op) {
	l := opLook{until: noUntil, kind: op.Kind, mutates: mutates(op), may: everybody}
	if op.Until != 0 || op.Kind == core.KWait {
		l.until = x.after(op.Until)
	}
	l.local = op.Kind == core.KStage || op.Kind == core.KGive
	l.read = !l.mutates && (op.IsMeta() || op.IsStore())
	l.touch = x.prints.writers(op)
	x.opLooks = append(x.opLooks, l)
}

// mutates reports whether an operation changes a world; beginning a session, and
// ending one, does.
func mutates(op *core.Op) bool { return op.Mutates() || op.Kind == core.KNone }

func (x *tables) lookAtNode(n *node) {
	l := nodeLook{due: dueIn{late, 0}, raw: n.raw}
	for k := range x.of.Actors {
		if a := &x.of.Actors[k]; a.audit {
			l.ripe[k] = x.after(x.raws.all[n.raw].first[a.queue])
		}
	}
	x.nodeLooks = append(x.nodeLooks, l)
}

// dueTo is when the first thing is due that process k waits for: the end of a wait,
// and, where time stops there, the last moment at which a request may land.
func (x *tables) dueTo(k int, p uint32, now after) after {
	l := &x.procLooks[p]
	if l.due.holds(now) {
		return l.due.next
	}
	d := dueIn{math.MinInt32, late}
	skew := x.of.Actors[k].Skew
	for _, e := range x.sentBy(p) {
		switch o := &x.ops.all[e.op]; {
		case o.op.Kind == core.KWait && e.reply == 0:
			d.meet(x.after(o.op.Until-skew), now)
		case x.of.Edges && o.mutates && o.op.Until > 0:
			d.meet(x.after(o.op.Until+x.of.Dials.Service), now)
		}
	}
	l.due = d
	return d.next
}

// dueAt is when the first thing is due in a world, by anyone's clock.
func (x *tables) dueAt(n uint32, now after) after {
	l := &x.nodeLooks[n]
	if l.due.holds(now) {
		return l.due.next
	}
	d := dueIn{math.MinInt32, late}
	for _, t := range x.raws.all[l.raw].due {
		for k := range x.of.Actors {
			d.meet(x.after(t-x.of.Actors[k].Skew), now)
		}
	}
	l.due = d
	return d.next
}
