package serve

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
)

// world is a metastore, a few stores and the processes that use them, driven by
// hand: one effect at a time, in an order that a seed chooses.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	now     core.Ms
	dials   core.Dials
	stores  core.Stores
	rev     int64
	rows    map[string]rowOf
	objects map[core.Obj]string
	down    map[core.Store]bool
	blobs   map[uint64]string
	sinks   map[int]string
	procs   []*proc
	late    []lateOp
	heads   map[string]format.ChainHead // as last seen
	ended   map[string]bool             // processes that are dead, and their sessions over
	notes   map[core.NoteKind]int64
	log     []string
	effects int

	// fate decides what becomes of an effect; nil: it is answered.
	fate func(p *proc, ef *core.Effect) fate
	// check runs after every effect that changed something.
	check func()
}

// logTail is how many effects a failure shows.
const logTail = 80

type rowOf struct {
	val   string
	rev   int64
	owner string // process whose session it goes with
}

type lateOp struct {
	proc string
	op   core.Op
}

type fate uint8

const (
	landed   fate = iota // applied and answered
	lost                 // applied, the reply is lost
	dropped              // not applied, no reply
	delayed              // no reply; it may land later
	cutHere              // the process dies before the effect
	cutAfter             // the process dies after it, before the reply
	frozen               // it stays where it is: its process was paused
)

// proc is one process: a root machine and what it waits for.
type proc struct {
	w       *world
	env     core.Env
	skew    core.Ms
	x       core.Exchange
	step    func(core.Turn) bool
	pending []core.Effect
	queue   []string // requests
	answers []Answer
	paused  bool
	dead    bool
	done    bool
}

func newWorld(t *testing.T, seed uint64, stores ...core.Store) *world {
	if len(stores) == 0 {
		stores = []core.Store{"a"}
	}
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)), now: 1_000_000, dials: core.Spec(),
		rows: map[string]rowOf{}, objects: map[core.Obj]string{}, down: map[core.Store]bool{},
		blobs: map[uint64]string{}, sinks: map[int]string{}, notes: map[core.NoteKind]int64{}, ended: map[string]bool{}, heads: map[string]format.ChainHead{},
	}
	for c := range w.stores.Of {
		w.stores.Of[c] = stores
	}
	return w
}

func (w *world) start(name string, machine func(p *proc) func(core.Turn) bool) *proc {
	p := &proc{w: w, env: core.Env{Dials: w.dials, Stores: w.stores, Process: name, Generation: 1}}
	w.procs = append(w.procs, p)
	p.step = machine(p)
	p.turn(func() core.Turn { return p.x.Start() })
	return p
}

func (p *proc) turn(begin func() core.Turn) {
	p.x.Now = p.w.now + p.skew
	t := begin()
	p.x.Now = p.w.now + p.skew
	p.done = p.step(t)
	if !p.x.Consumed() {
		p.w.fail("%s dropped the reply at %s", p.env.Process, p.x.Ev.At)
	}
	for _, n := range p.x.Notes {
		p.w.notes[n.Kind] += n.N
	}
	for _, ef := range p.x.Out {
		for _, q := range p.pending {
			if q.At == ef.At {
				p.w.fail("%s has two effects at %s", p.env.Process, ef.At)
			}
		}
		p.pending = append(p.pending, ef)
	}
	if p.done && len(p.pending) > 0 {
		p.w.fail("%s is done with %d effects pending: %s", p.env.Process, len(p.pending), p.pending[0].Op)
	}
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	n := max(0, len(w.log)-logTail)
	w.t.Fatalf("%s\nlast effects:\n%s", fmt.Sprintf(format, args...), strings.Join(w.log[n:], "\n"))
}

// kill ends a process; its session goes by expire. Of what is in flight any subset
// lands, now or later.
func (p *proc) kill() {
	for i := range p.pending {
		op := p.pending[i].Op
		if !op.Mutates() || p.w.rng.IntN(2) == 0 {
			continue
		}
		p.w.late = append(p.w.late, lateOp{p.env.Process, op})
		if p.w.rng.IntN(2) == 0 {
			p.w.landLate(len(p.w.late) - 1)
		}
	}
	p.dead, p.pending = true, nil
}

// expire ends the session of a process.
func (w *world) expire(process string) {
	for _, p := range w.procs {
		w.ended[process] = w.ended[process] || p.env.Process == process && p.dead
	}
	for k, r := range w.rows {
		if r.owner == process {
			w.rev++
			delete(w.rows, k)
		}
	}
}

// turnOnce delivers one effect, or moves the clock; false: nothing will happen.
func (w *world) turnOnce() bool {
	type choice struct {
		p *proc
		i int
	}
	var ready []choice
	wake := core.Ms(0)
	for _, p := range w.procs {
		if p.dead || p.paused {
			continue
		}
		for i := range p.pending {
			op := &p.pending[i].Op
			switch {
			case op.Kind == core.KTake && len(p.queue) == 0:
			case op.Kind == core.KWait && op.Until > w.now+p.skew:
				if at := op.Until - p.skew; wake == 0 || at < wake {
					wake = at
				}
			default:
				ready = append(ready, choice{p, i})
			}
		}
	}
	if len(w.late) > 0 && w.rng.IntN(8) == 0 {
		w.landLate(w.rng.IntN(len(w.late)))
		return true
	}
	if len(ready) == 0 {
		if wake == 0 {
			return false
		}
		w.now = wake
		return true
	}
	c := ready[w.rng.IntN(len(ready))]
	w.deliver(c.p, c.i)
	return true
}

func (w *world) landLate(i int) {
	l := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	if l.op.IsStore() && w.now > l.op.Until+w.dials.Service {
		return
	}
	op := l.op
	for i := range op.Txn { // a session that has gone takes no more keys
		if op.Txn[i].Verb == core.VPutLeased && w.ended[l.proc] {
			return
		}
	}
	r := w.apply(l.proc, &op, true)
	w.log = append(w.log, fmt.Sprintf("%8d %s LATE %s → %s", w.now, l.proc, l.op, r.Outcome))
	if w.check != nil {
		w.check()
	}
}

func (w *world) deliver(p *proc, i int) {
	ef := p.pending[i]
	f := landed
	if w.fate != nil {
		f = w.fate(p, &ef)
	}
	if f == cutHere {
		p.kill()
		return
	}
	if f == frozen {
		return
	}
	p.pending = slices.Delete(p.pending, i, i+1)
	var r core.Reply
	switch f {
	case dropped:
		r = core.Reply{Outcome: core.Unknown}
	case delayed:
		w.late = append(w.late, lateOp{p.env.Process, ef.Op})
		r = core.Reply{Outcome: core.Unknown}
	default:
		r = w.do(p, &ef.Op)
		if f == lost {
			r = core.Reply{Outcome: core.Unknown}
		}
	}
	w.effects++
	w.log = append(w.log, fmt.Sprintf("%8d %s %s %s → %s %d", w.now, p.env.Process, ef.At, ef.Op, r.Outcome, f))
	if len(w.log) > 40000 {
		w.log = w.log[20000:]
	}
	if w.check != nil && ef.Op.Mutates() {
		w.check()
	}
	if f == cutAfter {
		p.kill()
		return
	}
	p.turn(func() core.Turn { return p.x.Deliver(ef.At, r) })
}

func (w *world) do(p *proc, op *core.Op) core.Reply {
	switch op.Kind {
	case core.KWait, core.KStage:
		return core.Reply{}
	case core.KTake:
		v := p.queue[0]
		p.queue = p.queue[1:]
		return core.Reply{Val: v}
	case core.KGive:
		a, err := DecodeAnswer(op.Val)
		if err != nil {
			w.fail("answer: %v", err)
		}
		p.answers = append(p.answers, a)
		return core.Reply{}
	}
	return w.apply(p.env.Process, op, false)
}

func (w *world) apply(process string, op *core.Op, late bool) core.Reply {
	if op.IsStore() {
		return w.store(op, late)
	}
	switch op.Kind {
	case core.KGet:
		if r, ok := w.rows[op.Key]; ok {
			return core.Reply{Val: r.val, Rev: r.rev}
		}
		return core.Reply{Outcome: core.Absent}
	case core.KScan:
		var ks []string
		for k := range w.rows {
			if k >= op.Key && k < op.End {
				ks = append(ks, k)
			}
		}
		sort.Strings(ks)
		r := core.Reply{More: len(ks) > int(op.Num)}
		for _, k := range ks[:min(len(ks), int(op.Num))] {
			r.Rows = append(r.Rows, core.Row{Mark: core.Mark{Key: k, Rev: w.rows[k].rev}, Val: w.rows[k].val})
		}
		return r
	case core.KTxn:
		return w.txn(process, op.Txn)
	}
	w.fail("no such operation: %s", op)
	return core.Reply{}
}

func (w *world) txn(process string, ws []core.Write) core.Reply {
	if err := core.CheckTxn(ws); err != nil {
		w.fail("%s: %v", process, err)
	}
	for i := range ws {
		if ws[i].Verb == core.VIf && w.rows[ws[i].At.Key].rev != ws[i].At.Rev {
			return core.Reply{Outcome: core.Conflict}
		}
	}
	w.rev++
	for i := range ws {
		switch x := &ws[i]; x.Verb {
		case core.VPut:
			w.rows[x.At.Key] = rowOf{x.Val, w.rev, ""}
		case core.VPutLeased:
			w.rows[x.At.Key] = rowOf{x.Val, w.rev, process}
		case core.VDel:
			delete(w.rows, x.At.Key)
		case core.VDelRange:
			for k := range w.rows {
				if k >= x.At.Key && k < x.Val {
					delete(w.rows, k)
				}
			}
		}
	}
	return core.Reply{Rev: w.rev}
}

func (w *world) store(op *core.Op, late bool) core.Reply {
	if w.down[op.Store] && !late {
		return core.Reply{Outcome: core.Unknown}
	}
	obj := op.Obj()
	body, there := w.objects[obj]
	n := int64(len(body))
	switch op.Kind {
	case core.KCreate:
		switch {
		case w.now > op.Until && !late:
			return core.Reply{Outcome: core.Refused}
		case there:
			return core.Reply{Outcome: core.Exists}
		}
		w.objects[obj] = w.bytes(op.Body)
		return core.Reply{}
	case core.KDelete:
		delete(w.objects, obj)
		return core.Reply{}
	}
	switch {
	case !there:
		return core.Reply{Outcome: core.Absent}
	case op.Kind == core.KStat:
		return core.Reply{Size: n}
	case op.Kind == core.KReadTail:
		if n == 0 {
			return core.Reply{Outcome: core.OutOfRange}
		}
		return core.Reply{Size: n, Val: body[max(0, n-op.Len):]}
	case op.Off >= n:
		return core.Reply{Outcome: core.OutOfRange}
	}
	got := body[op.Off:min(n, op.Off+op.Len)]
	if op.Kind == core.KFetch {
		if int64(len(got)) != op.Len || format.CRC([]byte(got)) != op.CRC {
			return core.Reply{Outcome: core.Damaged}
		}
		w.sinks[int(op.Num)] = got
		return core.Reply{}
	}
	return core.Reply{Val: got}
}

func (w *world) bytes(body []core.Piece) string {
	var b strings.Builder
	for _, p := range body {
		switch p.Kind {
		case core.Literal:
			b.WriteString(p.Bytes)
		case core.Blob:
			s := w.blobs[p.Blob][p.Off : p.Off+p.Len]
			if format.CRC([]byte(s)) != p.CRC {
				w.fail("blob %d has another checksum", p.Blob)
			}
			b.WriteString(s)
		default:
			w.fail("a slot is made of ranges")
		}
	}
	return b.String()
}

// until runs the world until a condition holds; it fails when it never will.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	for range 200_000 {
		if cond() {
			return
		}
		if !w.turnOnce() {
			w.fail("quiet before: %s", what)
		}
	}
	w.fail("never: %s", what)
}

// settleDown runs the world until nothing happens any more, or for so long.
func (w *world) run(forMs core.Ms) {
	for end := w.now + forMs; w.now < end; {
		if !w.turnOnce() {
			w.now = end
		}
	}
}

// once runs a machine that ends with a verdict on a process of its own.
func once(w *world, name string, step func(t core.Turn, e *core.Env) core.Verdict) core.Verdict {
	w.t.Helper()
	v := core.Working
	p := w.start(name, func(p *proc) func(core.Turn) bool {
		return func(t core.Turn) bool {
			if v == core.Working {
				v = step(t, &p.env)
			}
			return v != core.Working
		}
	})
	w.until(name, func() bool { return p.done || p.dead })
	w.procs = slices.DeleteFunc(w.procs, func(q *proc) bool { return q == p })
	return v
}

func (w *world) keys(prefix string) (ks []string) {
	for k := range w.rows {
		if strings.HasPrefix(k, prefix) {
			ks = append(ks, k)
		}
	}
	sort.Strings(ks)
	return ks
}
