package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// QueueSet says which drains an auditor runs. The zero set means all of them.
type QueueSet uint16

// Only is the set of these queues.
func Only(qs ...keys.Queue) (s QueueSet) {
	for _, q := range qs {
		s |= 1 << q
	}
	return s
}

// Has reports whether the queue's drain runs.
func (s QueueSet) Has(q keys.Queue) bool { return s == 0 || s&(1<<q) != 0 }

// Auditor is the root of an audit process: it registers itself, so that the
// shards are shared out among those that are alive, and runs the eight drains
// side by side, for ever. Its zero value runs all of them.
type Auditor struct {
	Queues QueueSet

	registrar registrar
	teardown  Drain[Teardown]
	settle    Drain[Settle]
	retention Drain[Retention]
	reap      Drain[ReapCheck]
	trimCheck Drain[TrimCheck]
	denorm    Drain[Era]
	gc        Drain[GCRewrite]
	orphan    Drain[Orphan]
}

// Step never finishes.
func (a *Auditor) Step(t core.Turn, e *core.Env) bool {
	a.registrar.step(t.In(core.Slot(keys.Queues)), e)
	for q := range keys.Queue(keys.Queues) {
		if a.Queues.Has(q) {
			a.drain(q, t.In(core.Slot(q)), e)
		}
	}
	return false
}

func (a *Auditor) drain(q keys.Queue, t core.Turn, e *core.Env) {
	switch q {
	case keys.Teardown:
		a.teardown.Step(t, e, q, (*Teardown).Step)
	case keys.Settle:
		a.settle.Step(t, e, q, (*Settle).Step)
	case keys.Retention:
		a.retention.Step(t, e, q, (*Retention).Step)
	case keys.Reap:
		a.reap.Step(t, e, q, (*ReapCheck).Step)
	case keys.TrimCheck:
		a.trimCheck.Step(t, e, q, (*TrimCheck).Step)
	case keys.Denorm:
		a.denorm.Step(t, e, q, (*Era).Step)
	case keys.GC:
		a.gc.Step(t, e, q, (*GCRewrite).Step)
	case keys.Orphan:
		a.orphan.Step(t, e, q, (*Orphan).Step)
	}
}

// registrar keeps auditor/{id} standing while the process lives: its session may
// be lost, and the row with it, and come back. Without space in the metastore it
// cannot register, and audits all the same (placement is an optimisation).
type registrar struct {
	at   registrarStep
	call core.Call
}

type registrarStep uint8

const (
	registrarLook registrarStep = iota
	registrarPut
	registrarWait
)

func (g *registrar) step(t core.Turn, e *core.Env) {
	for {
		switch g.at {
		case registrarLook:
			r, ok := g.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Auditor(e.Process)) })
			if !ok {
				return
			}
			if g.at = registrarWait; r.Outcome == core.Absent {
				g.at = registrarPut
			}
		case registrarPut:
			_, ok := g.call.AwaitFunc(t, func() core.Op {
				key := keys.Auditor(e.Process)
				return core.Txn(core.Missing(key), core.PutLeased(key, format.EncodeNumber(uint64(max(t.Now, 0)))))
			})
			if !ok {
				return
			}
			g.at = registrarWait
		case registrarWait:
			if _, ok := g.call.AwaitFunc(t, func() core.Op { return core.Wait(t.Now + e.Dials.SessionTTL) }); !ok {
				return
			}
			g.at = registrarLook
		}
	}
}
