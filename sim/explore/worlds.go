package explore

import (
	"fmt"
	"strings"

	"nova/core"
	"nova/core/admin"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/serve"
	"nova/sim/world"
)

// deletes is a client that deletes a stream.
func deletes(id uint64) Actor {
	a := Does("deleter", func(m *serve.Delete, t core.Turn, e *core.Env) bool { return m.Step(t, e, id) != core.Working })
	a.Once = true
	return a
}

// trims is a client that trims a stream.
func trims(id, to uint64) Actor {
	a := Does("client", func(m *serve.Trim, t core.Turn, e *core.Env) bool { return m.Step(t, e, id, to) != core.Working })
	a.Once = true
	return a
}

// opens is a star that opens a stream on a chain of its own.
func opens(star string, epoch, id uint64) Actor {
	a := Does("opener", func(m *serve.Open, t core.Turn, e *core.Env) bool {
		return m.Step(t, e, star, epoch, id, core.Mark{}) != core.Working
	})
	a.Leased = true
	return a
}

// decommissions is an operator.
func decommissions(star string) Actor {
	return Does("operator", func(m *admin.Decommission, t core.Turn, e *core.Env) bool {
		return m.Step(t, e, &admin.Order{Star: star, Wait: true}) != core.Working
	})
}

// reading is a reader that plans, and uses its plan whenever it likes.
type reading struct {
	plan    serve.ReadPlan
	fetch   serve.Fetch
	planned bool
	wrong   string
}

func (m *reading) step(t core.Turn, e *core.Env, id uint64) bool {
	if !m.planned {
		switch m.plan.Step(t, e, id, 0, 100) {
		case core.Working:
			return false
		case core.Again:
			return true
		}
		switch m.planned = true; m.plan.Reason {
		case serve.None:
		case serve.Missing, serve.Damaged:
			m.wrong = fmt.Sprintf("the plan found a hole that no trim explains: reason %d", m.plan.Reason)
			return true
		default:
			return true
		}
	}
	if !m.fetch.Step(t, e, m.plan.Extents, m.plan.Until, 0) {
		return false
	}
	// A fetch that took longer than any request may is given up: what it met is no
	// matter.
	if late := t.Now > m.plan.Until+e.Dials.Service; !late && (m.fetch.Reason == serve.Missing || m.fetch.Reason == serve.Damaged) {
		m.wrong = fmt.Sprintf("extent %d of a plan that may still be used is not there: reason %d", m.fetch.Failed, m.fetch.Reason)
	}
	return true
}

// reads is a client that reads a stream from its beginning.
func reads(id uint64) Actor {
	a := Does("reader", func(m *reading, t core.Turn, e *core.Env) bool { return m.step(t, e, id) })
	a = Complains(a, func(m *reading) string { return m.wrong })
	a.Once = true
	return a
}

// What no actor of a world takes away, where it has none that does.
const (
	tombs   = "stream/"
	burials = "due/teardown/"
	writers = "writer/"
	points  = "trim/"
	orphans = "due/orphan/"
	births  = "sched/orphan/"
	batches = "due/denorm/"
	lingers = "sched/denorm/"
	reaps   = "due/reap/"
	checks  = "due/trimcheck/"
	settles = "due/settle/"
	chains  = "chain/"
	slots   = "std:chain/"
	objects = "std:data/"
)

// Worlds are the small worlds, by name, in order.
func Worlds() []*World {
	return []*World{
		reapTwo(), reapReader(), settleRetry(), settleTwo(), orphanLate(), orphanRetry(), uploadLeft(), trimTwo(), trimRewrite(), collect(), collectTwo(),
		age(), buryTwo(), buryUnsettled(), settleZombie(), settleOpen(), absorbRewrite(), retire(), settleWide(),
	}
}

// Find is the world of a name, or nil.
func Find(name string) *World {
	for _, w := range Worlds() {
		if w.Name == name {
			return w
		}
	}
	return nil
}

func reapTwo() *World {
	b := small("reap-two", "two auditors reap one object of two chunks while its stream is deleted",
		reaper("auditor-a"), reaper("auditor-b"), deletes(1))
	b.create(1, 0)
	e := b.settled(1, 2, 3)
	b.reaps(1, &e, epoch)
	return b.done(Budget{Cuts: 1, Lost: 1}, tombs, burials, writers, objects)
}

func reapReader() *World {
	b := small("reap-reader", "a teardown kills an object, a reap-check deletes it, and a reader holds a plan",
		reads(1), undertaker("auditor-a"), reaper("auditor-b"))
	b.create(1, 0)
	b.settled(1, 2)
	b.delete(1)
	return b.done(Budget{Cuts: 1, Pauses: 1})
}

func settleRetry() *World {
	b := small("settle-retry", "an auditor rewrites one batch of one slot; it is cut, or not answered, and begins anew",
		rewriter("auditor-a"))
	b.w.Dials.PartMin, b.w.Dials.PartMax, b.w.Dials.OutputCap = 60, 120, 4000 // an output of two parts
	b.create(1, 0)
	b.mint("star", 1, core.Standard)
	b.batch("star", 1, false, []part{{1, 2}})
	b.state("star", 1, format.ChainSettled)
	return b.done(Budget{Cuts: 1, Lost: 1}, orphans, births, checks, slots, objects)
}

func settleTwo() *World {
	b := small("settle-two", "two auditors rewrite one batch of one slot",
		rewriter("auditor-a"), rewriter("auditor-b"))
	b.create(1, 0)
	b.mint("star", 1, core.Standard)
	b.batch("star", 1, false, []part{{1, 2}})
	b.state("star", 1, format.ChainSettled)
	return b.done(Budget{Lost: 1}, orphans, births, checks, slots, objects)
}

func orphanLate() *World {
	b := small("orphan-late", "two auditors judge an intent whose object is still on its way",
		judge("auditor-a"), judge("auditor-b"))
	b.now = epoch - b.w.Dials.OrphanGrace
	b.create(1, 0)
	b.settled(1, 2)
	derived := keys.Settled{Bucket: "b", Stream: 1, Epoch: 2, First: 2}
	made := b.intent(derived.Key(), "gone#0/-/0")
	derived.Inc, derived.HasInc = keys.Incarnation{Generation: 1, Created: made.Rev}, true
	data := record(1, 2)
	tail, _ := format.Finish(format.SettledObject, int64(len(data)), []format.Chunk{{Stream: 1, First: 2, Count: 1,
		CRC: format.CRC([]byte(data)), Len: int64(len(data)), Oldest: b.now, Newest: b.now}})
	until := epoch + b.w.Dials.Admission
	b.w.flying = append(b.w.flying, flying{core.Create(core.Obj{Store: "std", Key: derived.Key()}, core.Bytes(data+tail), until), until + b.w.Dials.Service})
	return b.done(Budget{Cuts: 1})
}

func orphanRetry() *World {
	b := small("orphan-retry", "an auditor judges an intent that a cut process left, and a rewrite derives its key anew",
		judge("auditor-a"), rewriter("auditor-b"))
	b.now = epoch - b.w.Dials.OrphanGrace
	b.create(1, 0)
	b.mint("star", 1, core.Standard)
	b.batch("star", 1, false, []part{{1, 2}})
	b.state("star", 1, format.ChainSettled)
	b.intent(keys.Settled{Bucket: "b", Stream: 1, Epoch: 1}.Key(), "gone#0/-/0")
	b.w.horizon = epoch + 3_000
	return b.done(Budget{}, checks, slots)
}

func uploadLeft() *World {
	b := small("upload-left", "two auditors judge an intent whose upload a cut process left; one of its parts is still on its way",
		judge("auditor-a"), judge("auditor-b"))
	b.w.Dialect.LateParts = true
	b.w.made = world.New(world.LimitsOf(&b.w.Dials), b.w.Dialect, "std", "exp").Local()
	b.now = epoch - b.w.Dials.OrphanGrace
	b.create(1, 0)
	b.settled(1, 2)
	derived := keys.Settled{Bucket: "b", Stream: 1, Epoch: 2, First: 2}
	made := b.intent(derived.Key(), "gone#0/-/0")
	derived.Inc, derived.HasInc = keys.Incarnation{Generation: 1, Created: made.Rev}, true
	at := core.Obj{Store: "std", Key: derived.Key()}
	until := epoch + b.w.Dials.Admission
	begin := core.CreateUpload(at, until)
	upload := b.w.made.Apply(&begin, world.When{Now: b.now, Admitted: b.now}).Val
	data := strings.Repeat("x", int(b.w.Dials.PartMin))
	part := core.UploadPart(at, upload, 1, core.Bytes(data), until)
	b.w.made.Apply(&part, world.When{Now: b.now, Admitted: b.now})
	b.w.flying = append(b.w.flying, flying{core.UploadPart(at, upload, 2, core.Bytes(data), until), until + b.w.Dials.Service})
	return b.done(Budget{Cuts: 1, Lost: 1})
}

func trimTwo() *World {
	b := small("trim-two", "two auditors trim a chain whose only batch is rewritten",
		trimmer("auditor-a"), trimmer("auditor-b"))
	b.create(1, 0)
	b.mint("star", 1, core.Standard)
	b.slot("star", 1, 0, part{1, 1})
	b.w.acks = nil // its stream is another's matter: the slot was rewritten, and the stream deleted
	b.put(keys.ChainHead("star", 1), format.ChainHead{State: format.ChainSettled, Checkpoint: 1, Cut: 1}.Encode())
	b.put(keys.DueTrimCheck(0, epoch, "star", 1), format.TrimMark{}.Encode())
	b.put(keys.DueTrimCheck(0, epoch+1000, "star", 1), format.TrimMark{}.Encode())
	return b.done(Budget{Cuts: 1})
}

func trimRewrite() *World {
	b := small("trim-rewrite", "an auditor trims a chain while another rewrites its batch, and a reader holds a plan",
		trimmer("auditor-a"), rewriter("auditor-b"), reads(1))
	b.create(1, 0)
	b.mint("star", 1, core.Standard)
	b.batch("star", 1, false, []part{{1, 1}})
	b.state("star", 1, format.ChainSettled)
	b.put(keys.DueTrimCheck(0, epoch+500, "star", 1), format.TrimMark{}.Encode())
	return b.done(Budget{Pauses: 1}, orphans, births, objects)
}

func collect() *World {
	b := small("collect", "an object that is half dead is collected while its stream is deleted",
		collector("auditor-a"), deletes(1))
	b.create(1, 0)
	b.collects(1)
	return b.done(Budget{Cuts: 1}, tombs, burials, writers, points, reaps, orphans, births, objects)
}

// collects puts an object of a stream whose first chunk is trimmed, and the marker
// that has it collected.
func (b *builder) collects(id uint64) {
	e := b.settled(id, 3, 2)
	b.put(keys.Trim(id), format.EncodeNumber(3))
	key := objectKey(id, &e)
	b.put(keys.DueGC(keys.ShardOfObject(key, 1), 48, key), format.ReapMark{Footer: e.Footer, Dead: 48}.Encode())
}

func collectTwo() *World {
	b := small("collect-two", "two auditors collect one object that is half dead",
		collector("auditor-a"), collector("auditor-b"))
	b.create(1, 0)
	b.collects(1)
	return b.done(Budget{Cuts: 1}, reaps, orphans, births, objects)
}

func settleWide() *World {
	once := rewriter("auditor-a")
	once.Once = true // begun anew, three members beside each other are some millions of states
	b := small("settle-wide", "an auditor rewrites one batch of three streams, two of them side by side; it is cut, and nobody goes on",
		once)
	b.w.Dials.MemberWidth = 2
	for id := range uint64(3) {
		b.create(id+1, 0)
	}
	b.mint("star", 1, core.Standard)
	b.batch("star", 1, false, []part{{1, 1}, {2, 1}, {3, 1}})
	b.state("star", 1, format.ChainSettled)
	return b.done(Budget{Cuts: 1}, batches, lingers, orphans, births, checks, slots, objects)
}

func age() *World {
	b := small("age", "two auditors enforce an age policy while a client trims; the policy looks again for ever, so none of it comes to rest",
		ager("auditor-a"), ager("auditor-b"), trims(1, 1))
	b.now = epoch - 3000
	b.create(1, 2000)
	b.settled(1, 2)
	b.put(keys.DueRetention(keys.ShardOfStream(1, 1), epoch, 1), format.RetentionMark{}.Encode())
	b.w.horizon = epoch + 4_500
	return b.done(Budget{Cuts: 1}, reaps, objects)
}

func buryTwo() *World {
	b := small("bury-two", "two auditors tear down a stream",
		undertaker("auditor-a"), undertaker("auditor-b"))
	b.create(1, 0)
	b.settled(1, 2)
	b.delete(1)
	return b.done(Budget{Cuts: 1, Lost: 1}, reaps, objects)
}

func buryUnsettled() *World {
	b := small("bury-unsettled", "a stream is torn down that was deleted while its batch waits to be rewritten; most orders end at the horizon",
		undertaker("auditor-a"), rewriter("auditor-b"))
	b.create(1, 0)
	b.mint("star", 1, core.Standard)
	b.batch("star", 1, false, []part{{1, 1}})
	b.state("star", 1, format.ChainSettled)
	b.delete(1)
	b.w.horizon = epoch + 3_000 // some orders come to rest: at 2,400 none does, and at 3,600 there are 4.5 million states
	return b.done(Budget{}, orphans, births, checks, slots, reaps, objects)
}

// zombie is a slot that a writer put on its way before it was paused.
func (b *builder) zombie(star string, epoch, slot uint64, p part) {
	id := p.stream
	data := ""
	for i := range p.count {
		data += record(id, b.ends[id]+uint64(i))
	}
	ch := format.Chunk{Stream: id, First: b.ends[id], Count: uint32(p.count), CRC: format.CRC([]byte(data)), Len: int64(len(data)), Oldest: b.now, Newest: b.now}
	tail, _ := format.Finish(format.SlotObject, int64(len(data)), []format.Chunk{ch})
	until := b.now + b.w.Dials.Admission
	op := core.Create(core.Obj{Store: "std", Key: keys.Slot(star, epoch, slot)}, core.Bytes(data+tail), until)
	b.w.flying = append(b.w.flying, flying{op, until + b.w.Dials.Service})
}

func settleZombie() *World {
	b := small("settle-zombie", "an auditor settles the chain of a dead star, whose last slot is on its way, and is cut",
		settler("auditor-a"))
	b.create(1, 0)
	b.mint("star", 1, core.Standard)
	b.put(keys.Writer(1), format.Writer{Star: "star", Epoch: 1}.Encode())
	b.zombie("star", 1, 0, part{1, 1})
	b.settles("star", 1, epoch)
	return b.done(Budget{Cuts: 1}, batches, lingers, slots)
}

func settleOpen() *World {
	b := small("settle-open", "another star opens a stream whose last epoch an auditor settles; its own chain waits beyond the horizon, so none of it comes to rest",
		settler("auditor-a"), opens("other", 2, 1))
	b.create(1, 0)
	b.mint("star", 1, core.Standard)
	b.put(keys.Writer(1), format.Writer{Star: "star", Epoch: 1}.Encode())
	b.slot("star", 1, 0, part{1, 1})
	b.mint("other", 2, core.Standard)
	b.star("other")
	b.settles("star", 1, epoch)
	b.settles("other", 2, epoch+90_000)
	b.w.horizon = epoch + 2_500
	return b.done(Budget{}, batches, lingers, slots, settles, chains)
}

func absorbRewrite() *World {
	b := small("absorb-rewrite", "a chain is cut and absorbed while what it absorbs is rewritten",
		settler("auditor-a"), rewriter("auditor-b"))
	b.create(1, 0)
	b.mint("star", 1, core.Standard)
	b.put(keys.Writer(1), format.Writer{Star: "star", Epoch: 1}.Encode())
	b.slot("star", 1, 0, part{1, 1})
	b.settles("star", 1, epoch)
	return b.done(Budget{}, orphans, births, checks, slots, objects)
}

func retire() *World {
	b := small("retire", "an operator decommissions a dead star while an auditor settles its chain",
		decommissions("star"), settler("auditor-a"))
	b.create(1, 0)
	b.mint("star", 1, core.Standard)
	b.settles("star", 1, epoch)
	return b.done(Budget{})
}
