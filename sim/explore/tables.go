package explore

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"nova/core"
	"nova/faults/boundaries"
	"nova/plain"
	"nova/sim/world"
)

// proc is one process: a machine and what it has in flight, sorted by path. It is
// immutable once it has a number.
type proc struct {
	actor uint8
	start uint8 // how often the actor was started before
	down  bool  // cut, and not started again yet
	done  bool
	m     unsafe.Pointer
	env   *core.Env
	pend  []pending
}

// pending is one effect in flight.
type pending struct {
	at    core.Path
	op    uint32
	reply uint32 // once it has landed: its reply, plus one
}

// operation is an operation as it is sent: for whom, and, once its sender has
// given it up, when it was let in.
type operation struct {
	op       core.Op
	session  string
	admitted core.Ms // 0: when it lands
	mutates  bool
	senders  uint8    // actors that send it
	writes   []string // what it was seen to change
}

// Widths of the numbers in the keys of the memos.
const (
	bitsProc, bitsPend, bitsReply, bitsClock = 24, 5, 20, 13
	bitsNode, bitsOp                         = 24, 20

	noClock = 1<<bitsClock - 1 // in the key of a step that does not depend on the time
)

// tables are the interned parts of states, and the two functions on them.
type tables struct {
	of      *World
	prints  *prints
	procs   pool[*proc]
	ops     pool[operation]
	replies pool[core.Reply]
	raws    pool[*raw]
	nodes   pool[*node]
	sets    pool[[]ghost]

	procLooks []procLook // by the numbers of processes, operations and nodes
	opLooks   []opLook
	nodeLooks []nodeLook
	sent      []sent // what processes have in flight, one process after another

	times    []core.Ms // the instants
	nows     []after   // the same
	instants []uint16  // their numbers, by time; noClock: none yet
	end      after     // the horizon
	service  after
	steps    memo // (process, effect, reply, time) → process
	lands    memo // (node, operation that writes, time) → node and reply
	txns     memo // (world, transaction) → world and reply
	looks    memo // (world, operation that reads) → reply
	starts   map[uint64]uint32
	downs    map[[2]uint8]uint32 // (actor, start) → the process that was cut
	seances  map[rite]uint32
	envs     map[[2]uint8]*core.Env

	follower *follower
	exchange core.Exchange
	buf      []byte
	ok       uint32 // the replies OK and Unknown
	unknown  uint32
	last     uint16 // the last instant of all
	found    *Breach
	stale    bool // something was relied on that turned out to be otherwise
	notes    map[core.NoteKind]int64
	sites    map[uintptr]bool // of the code, where effects were emitted
	judged   [law10]int64
	newSteps int64 // steps and landings that were met for the first time
}

const law10 = 10

var (
	planOp    = plain.For[core.Op]()
	planReply = plain.For[core.Reply]()
	planPath  = plain.For[core.Path]()
)

func newTables(w *World, p *prints) *tables {
	x := &tables{of: w, prints: p, follower: newFollower(w), starts: map[uint64]uint32{}, downs: map[[2]uint8]uint32{}, seances: map[rite]uint32{}, envs: map[[2]uint8]*core.Env{}, notes: map[core.NoteKind]int64{}, sites: map[uintptr]bool{}}
	x.end, x.service = x.after(w.horizon), after(w.Dials.Service)
	x.instants = slices.Repeat([]uint16{noClock}, int(x.end)+1)
	x.exchange.Where = boundaries.Emitted
	x.ok = x.reply(core.Reply{})
	x.unknown = x.reply(core.Reply{Outcome: core.Unknown})
	x.sets.id(nil, func() []ghost { return nil })
	x.last = x.instant(x.end)
	return x
}

// breach notes the first thing that is wrong; the search ends there.
func (x *tables) breach(law int, format string, args ...any) {
	if x.found == nil {
		x.found = &Breach{Law: law, What: fmt.Sprintf(format, args...)}
	}
}

// instant numbers an instant between the epoch and the horizon.
func (x *tables) instant(t after) uint16 {
	if i := x.instants[t]; i != noClock {
		return i
	}
	i := uint16(len(x.times))
	if i >= noClock {
		panic("explore: too many instants: a world whose time never ends")
	}
	x.instants[t] = i
	x.times, x.nows = append(x.times, x.of.epoch+core.Ms(t)), append(x.nows, t)
	return i
}

func (x *tables) reply(r core.Reply) uint32 {
	x.buf = planReply.Append(x.buf[:0], unsafe.Pointer(&r))
	id := x.replies.id(x.buf, func() core.Reply { return r })
	if id >= 1<<bitsReply-1 {
		panic("explore: too many replies")
	}
	return id
}

// operation numbers an operation that a session sends.
func (x *tables) operation(op *core.Op, session string, admitted core.Ms) uint32 {
	if !slices.ContainsFunc(op.Txn, func(w core.Write) bool { return w.Verb == core.VPutLeased }) && op.Kind != core.KNone {
		session = ""
	}
	x.buf = planOp.Append(x.buf[:0], unsafe.Pointer(op))
	x.buf = append(binary.AppendVarint(x.buf, int64(admitted)), session...)
	id := x.ops.id(x.buf, func() operation {
		x.lookAtOp(op)
		return operation{op: *op, session: session, admitted: admitted, mutates: mutates(op)}
	})
	if id >= 1<<bitsOp-1 {
		panic("explore: too many operations")
	}
	return id
}

// let is an operation that a store let in at a time, though it lands later.
func (x *tables) let(op uint32, admitted core.Ms) uint32 {
	o := x.ops.all[op]
	id := x.operation(&o.op, o.session, admitted)
	x.sends(id, o.senders)
	return id
}

// sends notes who sends an operation: what it changes, they change.
func (x *tables) sends(op uint32, actors uint8) {
	o := &x.ops.all[op]
	if o.senders|actors == o.senders {
		return
	}
	o.senders |= actors
	for _, place := range o.writes {
		x.writes(place, o.senders)
	}
}

// changed notes what an operation changed.
func (x *tables) changed(op uint32, cs []world.Change) {
	o := &x.ops.all[op]
	for i := range cs {
		place := x.prints.place(&cs[i])
		if !slices.Contains(o.writes, place) {
			o.writes = append(o.writes, place)
			x.writes(place, o.senders)
		}
	}
}

// writes notes that actors write a place. Where a read of it was let through on the
// ground that they do not, the search is stale.
func (x *tables) writes(place string, actors uint8) {
	if !x.prints.add(place, actors) {
		return
	}
	for i := range x.opLooks {
		if o := &x.opLooks[i]; o.read {
			o.touch = x.prints.writers(&x.ops.all[i].op)
			x.stale = x.stale || o.touch&^o.may != 0
		}
	}
}

// again begins a search anew, under what is known by now of who writes what. The
// tables stay: what a step and a landing lead to is no matter of that; and what
// they were seen to write is noted for good.
func (x *tables) again() {
	x.stale = false
	for i := range x.opLooks {
		x.opLooks[i].may = everybody
	}
}

// session is the name of a process's session, and of the process.
func session(a *Actor, start uint8) string { return fmt.Sprintf("%s#%d", a.Name, start) }

func (x *tables) env(actor, start uint8) *core.Env {
	k := [2]uint8{actor, start}
	e := x.envs[k]
	if e == nil {
		e = &core.Env{Dials: x.of.Dials, Stores: x.of.Stores, Process: session(&x.of.Actors[actor], start), Generation: 1}
		x.envs[k] = e
	}
	return e
}

// proc numbers a process.
func (x *tables) proc(p *proc) uint32 {
	b := append(x.buf[:0], p.actor, p.start, flags(p.down, p.done))
	if p.m != nil {
		b = x.of.Actors[p.actor].plan.Append(b, p.m)
	}
	for i := range p.pend {
		e := &p.pend[i]
		b = planPath.Append(b, unsafe.Pointer(&e.at))
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(e.op)), uint64(e.reply))
	}
	x.buf = b
	id := x.procs.id(b, func() *proc {
		x.lookAtProc(p)
		return p
	})
	if id >= 1<<bitsProc-1 {
		panic("explore: too many process states")
	}
	return id
}

func flags(a, b bool) (f byte) {
	if a {
		f |= 1
	}
	if b {
		f |= 2
	}
	return f
}

// cutDown is a process that was cut: its actor's next, not started yet, or nothing.
func (x *tables) cutDown(p uint32) uint32 {
	old := x.procs.all[p]
	k := [2]uint8{old.actor, old.start}
	id, ok := x.downs[k]
	if !ok {
		n := &proc{actor: old.actor, start: old.start + 1, down: true}
		if x.of.Actors[old.actor].Once {
			n.down, n.done = false, true
		}
		id = x.proc(n)
		x.downs[k] = id
	}
	return id
}

// start starts a process at a time.
func (x *tables) start(actor, start uint8, clock uint16) uint32 {
	key := uint64(actor)<<32 | uint64(start)<<16 | uint64(clock)
	if p, ok := x.starts[key]; ok {
		return p
	}
	a := &x.of.Actors[actor]
	p := &proc{actor: actor, start: start, m: a.fresh(), env: x.env(actor, start)}
	x.exchange.Now = x.times[clock] + a.Skew
	x.turn(p, x.exchange.Start())
	id := x.proc(p)
	x.starts[key] = id
	return id
}

// turn steps a process that is nobody else's, and takes up what it emits.
func (x *tables) turn(p *proc, t core.Turn) {
	a := &x.of.Actors[p.actor]
	p.done = a.step(p.m, t, p.env)
	x.newSteps++
	if !x.exchange.Consumed() {
		x.breach(0, "%s: the reply at %s found no call", p.env.Process, x.exchange.Ev.At)
	}
	for i := range x.exchange.Notes {
		x.notes[x.exchange.Notes[i].Kind] += x.exchange.Notes[i].N
	}
	for _, pc := range x.exchange.Sites {
		x.sites[pc] = true
	}
	for i := range x.exchange.Out {
		e := &x.exchange.Out[i]
		k, taken := slices.BinarySearchFunc(p.pend, e.At, func(q pending, at core.Path) int {
			switch {
			case q.at.Less(at):
				return -1
			case at.Less(q.at):
				return 1
			}
			return 0
		})
		if taken {
			x.breach(0, "%s: two effects are in flight at %s", p.env.Process, e.At)
			return
		}
		op := x.operation(&e.Op, p.env.Process, 0)
		x.sends(op, 1<<p.actor)
		p.pend = slices.Insert(p.pend, k, pending{at: e.At, op: op})
	}
	x.judged[7]++
	switch {
	case len(p.pend) >= 1<<bitsPend:
		x.breach(7, "%s has %d effects in flight", p.env.Process, len(p.pend))
	case p.done && len(p.pend) > 0:
		x.breach(0, "%s ended with an effect in flight at %s", p.env.Process, p.pend[0].at)
	case a.bad != nil:
		x.judged[4]++
		if why := a.bad(p.m); why != "" {
			x.breach(4, "%s: %s", p.env.Process, why)
		}
	}
}

// deliver is the process that one becomes when effect i is answered.
func (x *tables) deliver(p uint32, i int, reply uint32, clock uint16) uint32 {
	key := uint64(p) | uint64(i)<<bitsProc | uint64(reply)<<(bitsProc+bitsPend) | uint64(clock)<<(bitsProc+bitsPend+bitsReply)
	if v, ok := x.steps.get(key); ok {
		return uint32(v)
	}
	old := x.procs.all[p]
	a := &x.of.Actors[old.actor]
	n := &proc{actor: old.actor, start: old.start, env: old.env, m: a.plan.Clone(old.m), pend: slices.Delete(slices.Clone(old.pend), i, i+1)}
	x.exchange.Now = x.times[clock] + a.Skew
	x.turn(n, x.exchange.Deliver(old.pend[i].at, x.replies.all[reply]))
	id := x.proc(n)
	x.steps.put(key, uint64(id))
	return id
}

// landed is the process whose effect i has landed, and whose reply is on its way.
func (x *tables) landed(p uint32, i int, reply uint32) uint32 {
	key := uint64(p) | uint64(i)<<bitsProc | uint64(reply)<<(bitsProc+bitsPend) | uint64(noClock)<<(bitsProc+bitsPend+bitsReply)
	if v, ok := x.steps.get(key); ok {
		return uint32(v)
	}
	n := *x.procs.all[p]
	n.pend = slices.Clone(n.pend)
	n.pend[i].reply = reply + 1
	id := x.proc(&n)
	x.steps.put(key, uint64(id))
	return id
}

// set numbers a set of ghosts.
func (x *tables) set(gs []ghost) uint32 {
	b := x.buf[:0]
	for i := range gs {
		b = binary.AppendUvarint(b, uint64(gs[i].op))
		b = binary.AppendVarint(b, int64(gs[i].until))
	}
	x.buf = b
	return x.sets.id(b, func() []ghost { return gs })
}

// haunt adds a ghost to a set.
func (x *tables) haunt(set uint32, g ghost) uint32 {
	gs := slices.Clone(x.sets.all[set])
	i, _ := slices.BinarySearchFunc(gs, g, func(a, b ghost) int {
		if a.op != b.op {
			return int(a.op) - int(b.op)
		}
		return int(a.until - b.until)
	})
	return x.set(slices.Insert(gs, i, g))
}

// lay takes ghost i out of a set.
func (x *tables) lay(set uint32, i int) uint32 {
	return x.set(slices.Delete(slices.Clone(x.sets.all[set]), i, i+1))
}
