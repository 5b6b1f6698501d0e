package explore

import (
	"unsafe"

	"nova/core"
	"nova/core/duty"
	"nova/core/format"
	"nova/core/keys"
	"nova/plain"
	"nova/sim/world"
)

// Actor is a role in a small world: a machine, and how its processes start.
type Actor struct {
	Name   string
	Skew   core.Ms // what its clock is ahead of the true time
	Once   bool    // it is not started again after a cut
	Leased bool    // its processes hold a session

	plan  *plain.Plan
	fresh func() unsafe.Pointer
	step  func(m unsafe.Pointer, t core.Turn, e *core.Env) (done bool)
	bad   func(m unsafe.Pointer) string
	queue keys.Queue // Audits: whose ripe markers nudge its waits
	audit bool
}

// Does is an actor of any machine whose state is M.
func Does[M any](name string, step func(m *M, t core.Turn, e *core.Env) (done bool)) Actor {
	return Actor{
		Name:  name,
		plan:  plain.For[M](),
		fresh: func() unsafe.Pointer { return unsafe.Pointer(new(M)) },
		step:  func(m unsafe.Pointer, t core.Turn, e *core.Env) bool { return step((*M)(m), t, e) },
	}
}

// Complains makes what bad says of the machine's state a breach of law 4: it is
// for readers.
func Complains[M any](a Actor, bad func(m *M) string) Actor {
	a.bad = func(m unsafe.Pointer) string { return bad((*M)(m)) }
	return a
}

// Audits is an auditor that drains one queue for ever. While it waits, a marker
// that is ripe wakes it.
func Audits[M any](name string, q keys.Queue, run duty.Run[M]) Actor {
	a := Does(name, func(d *duty.Drain[M], t core.Turn, e *core.Env) bool {
		d.Step(t, e, q, run)
		return false
	})
	a.queue, a.audit = q, true
	a.Leased = q == keys.Denorm || q == keys.Settle
	return a
}

// The auditors by their queues.
func reaper(name string) Actor     { return Audits(name, keys.Reap, (*duty.ReapCheck).Step) }
func trimmer(name string) Actor    { return Audits(name, keys.TrimCheck, (*duty.TrimCheck).Step) }
func rewriter(name string) Actor   { return Audits(name, keys.Denorm, (*duty.Era).Step) }
func collector(name string) Actor  { return Audits(name, keys.GC, (*duty.GCRewrite).Step) }
func judge(name string) Actor      { return Audits(name, keys.Orphan, (*duty.Orphan).Step) }
func undertaker(name string) Actor { return Audits(name, keys.Teardown, (*duty.Teardown).Step) }
func settler(name string) Actor    { return Audits(name, keys.Settle, (*duty.Settle).Step) }
func ager(name string) Actor       { return Audits(name, keys.Retention, (*duty.Retention).Step) }

// never is a time beyond every horizon.
const never = core.Ms(1) << 50

// ripeAt is when a row of a queue is ripe, and of which queue it is; never where
// it is no marker that a drain scans.
func ripeAt(r *core.Row, d *core.Dials) (keys.Queue, core.Ms) {
	due, err := keys.ParseDue(r.Key)
	if err != nil || due.Queue.Scheduled() && !due.Sched {
		return 0, never
	}
	switch due.Queue {
	case keys.Orphan:
		return due.Queue, due.At + d.OrphanGrace
	case keys.GC:
		m, err := format.DecodeReapMark(r.Val)
		if err != nil {
			return due.Queue, 0
		}
		return due.Queue, m.NotBefore
	}
	return due.Queue, due.At
}

// due gathers when what stands becomes ripe: the first of each queue, and all
// instants in order.
func due(w *world.World, d *core.Dials) (first [keys.Queues]core.Ms, at []core.Ms) {
	for q := range first {
		first[q] = never
	}
	for _, p := range [...]string{"due/", "sched/"} {
		w.Meta.Range(p, keys.PrefixEnd(p), func(r core.Row) bool {
			if q, t := ripeAt(&r, d); t < never {
				first[q] = min(first[q], t)
				at = append(at, t)
			}
			return true
		})
	}
	return first, at
}
