package admin

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nova/core"
	"nova/core/duty"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/law"
	"nova/core/serve"
	"nova/sim/world"
)

// rig is a cluster in one thread: a world, the processes that use it, and the laws
// held after every change.
type rig struct {
	t      *testing.T
	w      *world.World
	dials  core.Dials
	stores core.Stores
	now    core.Ms
	rng    *rand.Rand // nil: effects are answered in order
	procs  []*rigProc
	judge  *law.Judge
	acks   []law.Ack
	starts int
	trace  []string
	lists  int // listings that were answered

	lax      string                                             // breaches that say this are a test's own doing
	unjudged bool                                               // no law is held
	deny     func(p *rigProc, op *core.Op) (core.Outcome, bool) // answers in the world's stead
	seen     func(op *core.Op)                                  // after every change, once the laws were held
}

// rigProc is one process.
type rigProc struct {
	r       *rig
	env     core.Env
	m       core.Machine
	x       core.Exchange
	pending []core.Effect
	queue   []string
	answers []serve.Answer
	notes   map[core.NoteKind]int64
	done    bool
	frozen  bool // it stands still
	effects int
}

type machine func(core.Turn) bool

func (m machine) Step(t core.Turn) bool { return m(t) }

func rigDials() core.Dials {
	d := core.Spec()
	d.ReadGrace, d.PlanTTL, d.FooterLife = 4000, 2000, 1700
	d.RequestLife, d.Admission, d.Service, d.Skew, d.Confirm = 1800, 700, 500, 250, 300
	d.OrphanGrace, d.ReapBucket = 2500, 250
	d.Linger, d.AgeCap = [core.Classes]core.Ms{700, 500}, [core.Classes]core.Ms{60_000, 40_000}
	d.PartMin, d.PartMax, d.PartCount, d.OutputCap, d.SizeTrigger = 120, 500, 12, 4000, 1<<20
	d.ScanPage, d.DeleteBatch, d.Shards, d.DrainWidth = 2, 3, 2, 3
	d.SettleBatch, d.Pipeline, d.AbsorbEvery = 2, 2, 100
	d.LiveHeadProbe, d.PollEvery, d.BackoffFirst, d.BackoffMax = 1500, 1000, 150, 2400
	d.SessionTTL, d.JobDeadline = 1000, 2500
	return d
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, dials: rigDials(), now: 1_000_000}
	r.stores.Of = [core.Classes][]core.Store{{"std-a", "std-b"}, {"exp-a"}}
	r.w = world.New(world.LimitsOf(&r.dials), world.Dialect{}, "std-a", "std-b", "exp-a")
	r.judge = law.NewJudge(&r.dials, &r.stores, r.checksum)
	r.judge.Clocks(0) // there is one
	r.put(keys.GenerationKey, format.EncodeNumber(1))
	return r
}

// clone copies the world, without its processes.
func (r *rig) clone() *rig {
	c := &rig{t: r.t, dials: r.dials, stores: r.stores, now: r.now, w: r.w.Clone(), acks: r.acks, starts: r.starts}
	c.judge = law.Of(c.snapshot(), &c.dials, &c.stores, c.checksum)
	for _, a := range c.acks {
		c.judge.Apply(law.Change{Kind: law.Acknowledged, Ack: a})
	}
	c.judge.Clocks(0)
	c.judge.Now(c.now)
	return c
}

func (r *rig) fail(format string, args ...any) {
	r.t.Helper()
	n := max(0, len(r.trace)-60)
	r.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(r.trace[n:], "\n"))
}

func (r *rig) checksum(o core.Obj, off, n int64) (uint32, bool) {
	x := r.w.Bucket(o.Store).Lookup(o.Key)
	if x == nil || off+n > x.Size() {
		return 0, false
	}
	return x.Body.CRC(off, n), true
}

func object(st core.Store, o *world.Object) law.Object {
	x := law.Object{Store: st, Key: o.Key, Size: o.Size(), Tail: o.Tail(o.Size())}
	if t, err := format.ParseTail(x.Tail, x.Size); err == nil {
		x.Tail = o.Tail(t.Window.Len + format.TrailerSize)
	}
	return x
}

func (r *rig) snapshot() *law.Snapshot {
	var s law.Snapshot
	for i := range r.w.Meta.Len() {
		s.Rows = append(s.Rows, r.w.Meta.Row(i))
	}
	for _, b := range r.w.Buckets() {
		for i := range b.Len() {
			s.Objects = append(s.Objects, object(b.Name, b.Object(i)))
		}
		for _, u := range b.Uploads() {
			s.Uploads = append(s.Uploads, law.Upload{Store: b.Name, Key: u.Key, ID: u.ID})
		}
	}
	return &s
}

// changed holds the laws on what has changed.
func (r *rig) changed(what string) {
	r.t.Helper()
	if r.unjudged {
		r.w.Changes = nil
		return
	}
	r.judge.Now(r.now)
	for i := range r.w.Changes {
		c := &r.w.Changes[i]
		row := core.Row{Mark: core.Mark{Key: c.Key, Rev: c.Rev}, Val: c.Val}
		up := law.Upload{Store: c.Store, Key: c.Key}
		switch c.Kind {
		case world.RowPut:
			r.judge.Apply(law.Change{Kind: law.RowPut, Row: row})
		case world.RowDel:
			r.judge.Apply(law.Change{Kind: law.RowGone, Row: row})
		case world.ObjectPut:
			r.judge.Apply(law.Change{Kind: law.ObjectPut, Object: object(c.Store, c.Object)})
		case world.ObjectDel:
			r.judge.Apply(law.Change{Kind: law.ObjectGone, Object: law.Object{Store: c.Store, Key: c.Key}})
		case world.UploadPut:
			up.ID = c.Upload.ID
			r.judge.Apply(law.Change{Kind: law.UploadPut, Upload: up})
		default:
			up.ID = c.Upload.ID
			r.judge.Apply(law.Change{Kind: law.UploadGone, Upload: up})
		}
	}
	r.w.Changes = r.w.Changes[:0]
	for _, b := range r.judge.Check() {
		if r.lax == "" || !strings.Contains(b.What, r.lax) {
			r.fail("after %s: %s", what, b)
		}
	}
}

func (r *rig) land(op *core.Op, session string) core.Reply {
	rep := r.w.Apply(op, world.When{Now: r.now, Admitted: r.now, Session: session})
	if r.w.Contract != nil {
		r.fail("%v", r.w.Contract)
	}
	if op.Mutates() {
		r.changed(op.String())
		if r.seen != nil {
			r.seen(op)
		}
	}
	return rep
}

// put writes a row, as a test.
func (r *rig) put(key, val string) {
	op := core.Txn(core.Put(key, val))
	r.land(&op, "")
}

// object puts an object, as a test.
func (r *rig) object(o core.Obj, body string) {
	op := core.Create(o, core.Bytes(body), r.now)
	r.land(&op, "")
}

func (r *rig) row(key string) (string, bool) {
	x, ok := r.w.Meta.Lookup(key)
	return x.Val, ok
}

func (r *rig) start(name string, make func(p *rigProc) func(core.Turn) bool) *rigProc {
	r.starts++
	p := &rigProc{r: r, notes: map[core.NoteKind]int64{}}
	p.env = core.Env{Dials: r.dials, Stores: r.stores, Process: fmt.Sprintf("%s#%d", name, r.starts), Generation: 1}
	r.w.Meta.Grant(p.env.Process, 1<<60)
	p.m = machine(make(p))
	r.procs = append(r.procs, p)
	p.x.Now = r.now
	p.turn(p.x.Start())
	return p
}

func (p *rigProc) turn(t core.Turn) {
	p.done = p.m.Step(t)
	if !p.x.Consumed() {
		p.r.fail("%s: the event at %s found no call", p.env.Process, p.x.Ev.At)
	}
	for _, n := range p.x.Notes {
		p.notes[n.Kind] += n.N
	}
	for _, e := range p.x.Out {
		for _, q := range p.pending {
			if q.At == e.At {
				p.r.fail("%s: two effects at %s: %s and %s", p.env.Process, e.At, q.Op, e.Op)
			}
		}
		p.pending = append(p.pending, e)
	}
	if p.done && len(p.pending) > 0 {
		p.r.fail("%s: done with %s in flight", p.env.Process, p.pending[0].Op)
	}
	if p.done {
		p.leave()
	}
}

// leave ends the process: its session goes.
func (p *rigProc) leave() {
	p.done, p.pending = true, nil
	p.r.w.Revoke(p.env.Process)
	p.r.changed("the end of " + p.env.Process)
}

// answer lands effect i and delivers the reply.
func (p *rigProc) answer(i int) {
	e := p.pending[i]
	p.deliver(i, p.do(&e.Op))
}

func (p *rigProc) do(op *core.Op) (rep core.Reply) {
	r := p.r
	denied := false
	if r.deny != nil {
		rep.Outcome, denied = r.deny(p, op)
	}
	if !denied {
		switch op.Kind {
		case core.KTake:
			rep.Val = p.queue[0]
			p.queue = p.queue[1:]
		case core.KGive:
			a, err := serve.DecodeAnswer(op.Val)
			if err != nil {
				r.fail("answer: %v", err)
			}
			p.answers = append(p.answers, a)
		case core.KWait, core.KStage:
		default:
			rep = r.land(op, p.env.Process)
		}
	}
	if op.Kind == core.KList {
		r.lists++
	}
	r.trace = append(r.trace, fmt.Sprintf("%8d %s %s → %s", r.now, p.env.Process, op, rep.Outcome))
	return rep
}

func (p *rigProc) deliver(i int, rep core.Reply) {
	at := p.pending[i].At
	p.pending = append(p.pending[:i:i], p.pending[i+1:]...)
	p.effects++
	p.x.Now = p.r.now
	p.turn(p.x.Deliver(at, rep))
}

// next is the effect that is answered next, of all processes; ok is false where
// only time helps, and wake is then when.
func (r *rig) next() (p *rigProc, i int, wake core.Ms, ok bool) {
	type choice struct {
		p *rigProc
		i int
	}
	var all []choice
	for _, p := range r.procs {
		for i := range p.pending {
			if p.frozen {
				break
			}
			switch op := &p.pending[i].Op; {
			case op.Kind == core.KTake && len(p.queue) == 0:
			case op.Kind == core.KWait && op.Until > r.now:
				if wake == 0 || op.Until < wake {
					wake = op.Until
				}
			default:
				all = append(all, choice{p, i})
			}
		}
	}
	if len(all) == 0 {
		return nil, 0, wake, false
	}
	c := all[0]
	if r.rng != nil {
		c = all[r.rng.IntN(len(all))]
	}
	return c.p, c.i, 0, true
}

// until runs until a condition holds.
func (r *rig) until(what string, cond func() bool) {
	r.t.Helper()
	for range 300_000 {
		if cond() {
			return
		}
		p, i, wake, ok := r.next()
		switch {
		case ok:
			p.answer(i)
		case wake == 0:
			r.fail("quiet before: %s", what)
		default:
			r.now = wake
		}
		if n := len(r.trace); n > 4000 {
			r.trace = append([]string(nil), r.trace[n-200:]...)
		}
	}
	r.fail("never: %s", what)
}

// rest lets so much time go by.
func (r *rig) rest(long core.Ms) {
	r.t.Helper()
	end := r.now + long
	r.start("rest", func(*rigProc) func(core.Turn) bool {
		var c core.Call
		return func(t core.Turn) bool { _, ok := c.Await(t, core.Wait(end)); return ok }
	})
	r.until("a rest", func() bool { return r.now >= end })
}

func (r *rig) auditor() *rigProc {
	return r.start("auditor", func(p *rigProc) func(core.Turn) bool {
		a := &duty.Auditor{}
		return func(t core.Turn) bool { return a.Step(t, &p.env) }
	})
}

// operator runs a decommission.
func (r *rig) operator(o Order) (*rigProc, *Decommission, *core.Verdict) {
	d, v := &Decommission{}, new(core.Verdict)
	p := r.start("operator", func(p *rigProc) func(core.Turn) bool {
		return func(t core.Turn) bool {
			*v = d.Step(t, &p.env, &o)
			return *v != core.Working
		}
	})
	return p, d, v
}

// decommission runs a decommission to its end.
func (r *rig) decommission(o Order) (*Decommission, core.Verdict) {
	r.t.Helper()
	p, d, v := r.operator(o)
	r.until("the end of the decommission", func() bool { return p.done })
	return d, *v
}

// keysOf is every key of the metastore that names a star, and every object under
// its prefix.
func (r *rig) keysOf(star string) (all []string) {
	for i := range r.w.Meta.Len() {
		key := r.w.Meta.Row(i).Key
		if strings.Contains(key, "/"+star+"/") || strings.Contains(key, "~"+star+"~") || strings.HasSuffix(key, "/"+star) || strings.Contains(key, "/"+star+"~") {
			all = append(all, key)
		}
	}
	for _, b := range r.w.Buckets() {
		for i := range b.Len() {
			if k := b.Object(i).Key; strings.HasPrefix(k, keys.StarPrefix(star)) {
				all = append(all, string(b.Name)+":"+k)
			}
		}
	}
	return all
}
