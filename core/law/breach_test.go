package law

import (
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// breach is one way to break a law, and the near miss that does not.
type breach struct {
	name string
	law  int    // of the one breach that is found
	what string // part of what it says
	bad  func(w *world)
	near func(w *world) // nil: none
}

func (w *world) slotObj(store core.Store, epoch, n uint64) core.Obj {
	return core.Obj{Store: store, Key: keys.Slot("s1", epoch, n)}
}

func (w *world) head(epoch uint64, change func(*format.ChainHead)) {
	edit(w, keys.ChainHead("s1", epoch), format.DecodeChainHead, change)
}

func (w *world) cursors(epoch uint64, change func(*format.ChainTrim)) {
	edit(w, keys.ChainTrim("s1", epoch), format.DecodeChainTrim, change)
}

func (w *world) gone(star string, p format.GonePhase) {
	w.put(keys.Gone(star), format.Gone{Phase: p, Since: 1, Stores: both2}.Encode())
}

func (w *world) stream9(change func(*format.Stream)) {
	edit(w, keys.Stream(9), format.DecodeStream, change)
}

func (w *world) row(last uint64, change func(*format.Row)) {
	edit(w, keys.Ref(9, last), format.DecodeRow, change)
}

func (w *world) batch(change func(*format.BatchMark)) {
	edit(w, w.key("due/denorm/", ""), format.DecodeBatchMark, change)
}

var decodeBreaches = []breach{
	{"a row that does not decode", 0, "damaged", func(w *world) { w.put(keys.Name("b", "n"), "?") }, nil},
	{"a damaged number", 0, "damaged", func(w *world) { w.put(keys.CounterEpoch, "?") }, nil},
	{"a damaged mint", 0, "damaged", func(w *world) { w.put(keys.Mint("s1", core.Standard), "?") }, nil},
	{"a row of no kind", 0, "not a key", func(w *world) { w.put("refs/9", "") }, nil},
	{"a counter of no kind", 0, "no row of nova", func(w *world) { w.put("counter/x", format.EncodeNumber(1)) }, nil},
	{"a chain part of no kind", 0, "not a key", func(w *world) { w.put(keys.ChainPrefix("s1", 3)+"tail", "") }, nil},
	{"a lease of no kind", 0, "not a key", func(w *world) { w.put("lease/x", "") }, func(w *world) { w.put(keys.StreamLease(77), "anything") }},
	{"a due key of no kind", 0, "not a key", func(w *world) { w.put("due/settle/0000/soon", "") }, nil},
	{"a parked key of no kind", 0, "not a key", func(w *world) { w.put("park/gc/soon", "") }, nil},
	{"parked in another queue", 0, "another queue", func(w *world) {
		w.put(keys.Park(keys.GC, keys.DueReap(keys.ShardOfObject(oldAt.Key(), 4), 1, oldAt.Key())), format.Parked{}.Encode())
	}, nil},
	{"a foreign object", 0, "foreign", func(w *world) { w.bodies[core.Obj{Store: "a", Key: "hello"}] = "" }, nil},
	{"a foreign object in a chain", 0, "foreign", func(w *world) { w.bodies[core.Obj{Store: "a", Key: "chain/s1/x"}] = "" }, nil},
	{"an object without an incarnation", 0, "no incarnation", func(w *world) { w.bodies[w.obj(tailAt.Derived())] = "" }, nil},
	{"a reap marker without an incarnation", 0, "no incarnation", func(w *world) {
		w.due(keys.Due{Queue: keys.Reap, Object: tailAt.Derived().Key()}, format.ReapMark{}.Encode())
	}, nil},
	{"a damaged marker", 0, "damaged", func(w *world) { w.put(w.key("due/reap/", ""), "?") }, nil},
	{"a damaged intent", 0, "damaged", func(w *world) { w.put(w.key("due/orphan/", condemnedAt.Key()), "?") }, nil},
	{"a damaged batch marker", 0, "damaged", func(w *world) { w.put(w.key("due/denorm/", ""), "?") }, nil},
	{"a damaged irrevocable record", 0, "damaged", func(w *world) { w.put(keys.Gone("s1"), "?") }, func(w *world) { w.gone("s1", format.GoneDraining) }},
	{"a damaged descriptor", 0, "damaged", func(w *world) { w.put(keys.Stream(9), "?") }, nil},
	{"a damaged watermark", 0, "damaged", func(w *world) { w.put(keys.Trim(9), "?") }, nil},
	{"a damaged head", 0, "damaged", func(w *world) { w.put(keys.ChainHead("s1", 3), "?") }, nil},
	{"a damaged row", 0, "damaged", func(w *world) { w.put(keys.Ref(9, 4), "?") }, nil}, // and its object is not unwatched
	{"a row that ends elsewhere", 0, "ends elsewhere", func(w *world) {
		w.put(keys.Ref(9, 5), w.rows[keys.Ref(9, 4)].Val)
		w.del(keys.Ref(9, 4))
	}, nil},
	{"a row of another stream", 0, "another stream", func(w *world) {
		w.put(keys.Ref(11, 8), w.rows[keys.Ref(9, 8)].Val)
		w.put(keys.Stream(11), format.Stream{Bucket: "b"}.Encode())
	},
		nil},
	{"a condemned intent at a derived key", 0, "disagree", func(w *world) {
		w.intent(format.Intent{Store: "a", Condemned: true}, keys.Settled{Bucket: "b", Stream: 9}.Key())
	}, nil},
	{"a condemned intent of another incarnation", 0, "disagree on the incarnation", func(w *world) {
		edit(w, w.key("due/orphan/", condemnedAt.Key()), format.DecodeIntent, func(x *format.Intent) { x.Created++ })
	}, nil},
}

var watchBreaches = []breach{
	{"an object that nobody names", 1, "no ref, no intent", func(w *world) { w.settledObj(tailAt.At(inc(99)), chunk{9, 0, 2}) }, nil},
	{"the entry names another incarnation's object", 1, "no ref, no intent",
		func(w *world) {
			w.settledObj(keys.Settled{Bucket: "b", Stream: 9, Epoch: 3}.At(keys.Incarnation{Generation: 2, Created: 50}), chunk{9, 0, 2})
		}, nil},
	{"an object in another store than its class's", 1, "no ref, no intent", func(w *world) { w.bodies[core.Obj{Store: "b", Key: tailAt.Key()}] = w.bodies[w.obj(tailAt)] }, nil},
	{"the intent was announced anew", 1, "no ref, no intent", func(w *world) {
		delete(w.uploads, Upload{"a", freshAt.At(inc(w.rows[w.key("due/orphan/", freshAt.Key())].Rev)).Key(), "u1"})
		w.put(w.key("due/orphan/", freshAt.Key()), format.Intent{Store: "a"}.Encode())
	}, func(w *world) {
		k := w.key("due/orphan/", freshAt.Key())
		w.put(k, format.Intent{Store: "a", Shared: true, Generation: 1, Created: w.rows[k].Rev}.Encode())
	}},
	{"an upload whose intent is another's", 1, "no intent watches", func(w *world) { w.uploads[Upload{"a", sharedAt.At(inc(40)).Key(), "u"}] = true },
		func(w *world) { w.uploads[Upload{"a", sharedAt.Key(), "u"}] = true }},
	{"an upload in another store than its intent's", 1, "no intent watches", func(w *world) { w.uploads[Upload{"b", sharedAt.Key(), "u"}] = true }, nil},
	{"an upload that only a ref names", 1, "no intent watches", func(w *world) { w.uploads[Upload{"a", tailAt.Key(), "u"}] = true }, nil},
	{"an upload that only a reap marker names", 1, "no intent watches", func(w *world) { w.uploads[Upload{"a", oldAt.Key(), "u"}] = true }, nil},
	{"an upload of a slot", 1, "no settled object", func(w *world) { w.uploads[Upload{"a", keys.Slot("s1", 3, 4), "u"}] = true }, nil},
	{"the cluster's generation moved on", 1, "no ref, no intent", func(w *world) {
		delete(w.uploads, Upload{"a", freshAt.At(inc(w.rows[w.key("due/orphan/", freshAt.Key())].Rev)).Key(), "u1"})
		w.put(keys.GenerationKey, format.EncodeNumber(2))
	}, func(w *world) { w.put(keys.GenerationKey, format.EncodeNumber(1)) }},
	{"a condemned intent is relieved too early", 1, "no ref, no intent", func(w *world) {
		delete(w.uploads, Upload{"a", condemnedAt.Key(), "u2"})
		w.del(w.key("due/orphan/", condemnedAt.Key()))
		w.del(w.key("sched/orphan/", condemnedAt.Key()))
	}, func(w *world) {
		delete(w.uploads, Upload{"a", condemnedAt.Key(), "u2"})
		delete(w.bodies, w.obj(condemnedAt))
		w.del(w.key("due/orphan/", condemnedAt.Key()))
		w.del(w.key("sched/orphan/", condemnedAt.Key()))
	}},
	{"an intent off the schedule", 1, "no schedule row", func(w *world) { w.del(w.key("sched/orphan/", condemnedAt.Key())) }, func(w *world) {
		w.del(w.key("sched/orphan/", condemnedAt.Key()))
		w.park(w.key("due/orphan/", condemnedAt.Key()))
	}},
	{"a schedule row without an intent", 1, "no intent stands", func(w *world) {
		w.due(keys.Due{Queue: keys.Orphan, Sched: true, Object: tailAt.Key()}, "")
	}, nil},
	{"two schedule rows of one intent", 8, "more than one row", func(w *world) {
		w.due(keys.Due{Queue: keys.Orphan, Sched: true, At: 77, Object: condemnedAt.Key()}, "")
	}, nil},
	{"a reap marker is resolved too early", 1, "no ref, no intent", func(w *world) { w.del(w.key("due/reap/", "")) }, func(w *world) { w.park(w.key("due/reap/", "")) }},
	{"a GC marker is resolved too early", 1, "no ref, no intent", func(w *world) { w.del(w.key("due/gc/", "")) }, func(w *world) { w.park(w.key("due/gc/", "")) }},
	{"a reap marker of another class", 1, "no ref, no intent", func(w *world) { w.put(w.key("due/reap/", ""), format.ReapMark{Class: core.Express}.Encode()) }, nil},
	{"a parked marker goes", 1, "no ref, no intent", func(w *world) { w.del(w.key("park/reap", "")) }, nil},
	{"a marker in a shard where nobody looks", 1, "in a shard", func(w *world) {
		w.put(keys.DueSettle(1+keys.ShardOfChain("s1", 3, 4)%3, 1, "s1", 3), format.SettleMark{}.Encode())
	}, func(w *world) {
		w.due(keys.Due{Queue: keys.Settle, Star: "s1", Epoch: 3}, format.SettleMark{}.Encode())
	}},
	{"the rows of a stream that is gone", 1, "neither descriptor nor tombstone", func(w *world) { w.del(keys.Stream(10)) }, func(w *world) {
		w.del(keys.Stream(10))
		w.del(keys.Ref(10, 3))
		delete(w.bodies, w.obj(buriedAt))
	}},
	{"a tombstone without a teardown", 1, "no teardown", func(w *world) { w.del(w.key("due/teardown/", "")) }, func(w *world) { w.park(w.key("due/teardown/", "")) }},
	{"a retention marker of an earlier policy only", 1, "of that policy", func(w *world) {
		edit(w, keys.Stream(9), format.DecodeStream, func(x *format.Stream) { x.Policy++ })
	}, func(w *world) {
		edit(w, keys.Stream(9), format.DecodeStream, func(x *format.Stream) { x.Policy++ })
		w.due(keys.Due{Queue: keys.Retention, At: 901, Stream: 9}, format.RetentionMark{Policy: 1}.Encode())
	}},
	{"an age policy without a retention marker", 1, "no retention", func(w *world) { w.del(w.key("due/retention/", "")) }, func(w *world) {
		w.del(w.key("due/retention/", ""))
		w.stream9(func(s *format.Stream) { s.MaxAge = 0 })
	}},
	{"an age policy, and no rows yet", 1, "", nil, func(w *world) {
		w.put(keys.Stream(12), format.Stream{Bucket: "b", MaxAge: 5}.Encode())
	}},
}

var slotBreaches = []breach{
	{"a slot of a chain without a record", 1, "no record", func(w *world) { w.bodies[core.Obj{Store: "a", Key: keys.Slot("s9", 3, 1)}] = "" }, func(w *world) {
		w.bodies[core.Obj{Store: "a", Key: keys.Slot("s9", 3, 1)}] = ""
		w.gone("s9", format.GoneDraining)
	}},
	{"a slot that comes back once the star is decommissioned", 1, "no record", func(w *world) {
		w.bodies[core.Obj{Store: "a", Key: keys.Slot("s9", 3, 1)}] = ""
		w.gone("s9", format.GoneDone)
	}, func(w *world) {
		w.bodies[core.Obj{Store: "a", Key: keys.Slot("s9", 3, 1)}] = ""
		w.gone("s9", format.GoneSwept)
	}},
	{"a slot below trimmed of a star under decommission", 1, "below trimmed", func(w *world) {
		w.slot("s1", 3, 0, both2[:1], chunk{8, 0, 2}) // the chain is not settled: the sweep is not its watcher
		w.gone("s1", format.GoneDraining)
	}, func(w *world) {
		w.bodies[core.Obj{Store: "a", Key: keys.Slot("s0", 1, 0)}] = format.Fence("s0", 1, 0)
		w.gone("s0", format.GoneDraining)
	}},
	{"an incomplete record", 1, "incomplete", func(w *world) { w.del(keys.ChainTrim("s0", 1)) }, func(w *world) {
		for _, k := range []string{keys.ChainTrim("s0", 1), keys.ChainHead("s0", 1), keys.ChainConst("s0", 1)} {
			w.del(k)
		}
	}},
	{"a slot in a store outside of the set", 1, "bucket set", func(w *world) { w.bodies[w.slotObj("x", 3, 4)] = w.bodies[w.slotObj("a", 3, 4)] }, nil},
	{"no settle marker, and nothing above the checkpoint", 1, "no settle marker stands", func(w *world) {
		w.del(w.key("due/settle/", "0000000000000003"))
		for _, st := range both2 {
			delete(w.bodies, w.slotObj(st, 3, 4))
		}
		w.acks = nil
	}, func(w *world) { w.park(w.key("due/settle/", "0000000000000003")) }},
	{"a slot that comes back below trimmed", 1, "below trimmed", func(w *world) { w.slot("s1", 3, 0, both2[:1], chunk{8, 0, 2}) },
		func(w *world) { w.slot("s1", 3, 1, both2[:1], chunk{8, 0, 2}) }},
	{"a trim-check is resolved too early", 1, "neither a batch marker nor a trim-check", func(w *world) {
		w.del(w.key("due/trimcheck/", ""))
		delete(w.bodies, w.slotObj("b", 3, 1))
	}, func(w *world) { w.park(w.key("due/trimcheck/", "")) }},
	{"a slot that is too far above the cut", 1, "no sweep", func(w *world) { w.slot("s1", 2, 6, both2[:1], chunk{8, 0, 2}) },
		func(w *world) { w.slot("s1", 2, 5, both2[1:], chunk{8, 0, 2}) }},
	{"a slot of a settled chain", 1, "is settled", func(w *world) { w.bodies[core.Obj{Store: "a", Key: keys.Slot("s0", 1, 2)}] = format.Fence("s0", 1, 2) }, func(w *world) {
		w.bodies[core.Obj{Store: "a", Key: keys.Slot("s0", 1, 2)}] = format.Fence("s0", 1, 2)
		w.gone("s0", format.GoneDraining)
	}},
	{"a chain of a star that is decommissioned", 8, "a row of the chain stands", func(w *world) { w.gone("s0", format.GoneDone) }, func(w *world) { w.gone("s0", format.GoneSwept) }},
	{"a batch marker off the schedule", 1, "no schedule row", func(w *world) { w.del(w.key("sched/denorm/", "")) }, func(w *world) {
		w.del(w.key("sched/denorm/", ""))
		w.batch(func(m *format.BatchMark) { m.Parked = true })
	}},
	{"a schedule row without a batch marker", 1, "no batch marker", func(w *world) {
		w.due(keys.Due{Queue: keys.Denorm, Sched: true, Star: "s1", Epoch: 2, Slot: 1}, "")
	}, nil},
	{"a schedule row for another time", 8, "another time", func(w *world) {
		w.due(keys.Due{Queue: keys.Denorm, Sched: true, At: 501, Star: "s1", Epoch: 3, Slot: 2}, "")
	}, nil},
	{"a parked batch marker on the schedule", 8, "parked", func(w *world) { w.batch(func(m *format.BatchMark) { m.Parked = true }) }, nil},
	{"a damaged batch marker that is parked", 0, "damaged", func(w *world) {
		w.put(w.key("due/denorm/", ""), "?")
		w.park(w.key("due/denorm/", ""))
		w.del(w.key("sched/denorm/", ""))
	}, nil},
}

var refBreaches = []breach{
	{"one replica is gone, and the other", 2, "no store of the set", func(w *world) {
		delete(w.bodies, w.slotObj("a", 3, 3))
		delete(w.bodies, w.slotObj("b", 3, 3))
		w.acks = nil
	}, func(w *world) { delete(w.bodies, w.slotObj("a", 3, 3)) }},
	{"the batch marker that owes the slot is gone", 2, "no batch marker stands for the slot", func(w *world) { w.batch(func(m *format.BatchMark) { m.Slots = m.Slots[:1] }) }, nil},
	{"the slot's bytes are others", 2, "are not what the footer says", func(w *world) {
		for _, st := range both2 {
			b := []byte(w.bodies[w.slotObj(st, 3, 3)])
			b[0] ^= 1
			w.bodies[w.slotObj(st, 3, 3)] = string(b)
		}
	}, func(w *world) {
		b := []byte(w.bodies[w.slotObj("a", 3, 3)])
		b[0] ^= 1
		w.bodies[w.slotObj("a", 3, 3)] = string(b)
	}},
	{"the slot was replaced by another", 2, "does not have the chunk", func(w *world) { w.slot("s1", 3, 3, both2, chunk{9, 7, 8}, chunk{9, 8, 9}); w.acks = nil }, nil},
	{"a fence stands at the slot's key", 2, "is no slot", func(w *world) {
		w.bodies[w.slotObj("a", 3, 3)] = format.Fence("s1", 3, 3)
		delete(w.bodies, w.slotObj("b", 3, 3))
		w.acks = nil
	}, nil},
	{"the span's window is another", 2, "lies elsewhere", func(w *world) { w.row(8, func(r *format.Row) { r.Spans[1].Footer.Off++ }) }, nil},
	{"the chain of a row has nothing", 2, "no store of the set", func(w *world) { w.row(8, func(r *format.Row) { r.Star = "s5" }); w.acks = nil }, nil},
	{"the settled object is gone", 2, "does not stand", func(w *world) { delete(w.bodies, w.obj(tailAt)); w.acks = nil }, func(w *world) {
		delete(w.bodies, w.obj(tailAt))
		w.put(keys.Trim(9), format.EncodeNumber(5))
	}},
	{"the settled object is another incarnation", 2, "does not stand", func(w *world) {
		w.row(4, func(r *format.Row) { r.Entries[0].Created = 54 })
		w.due(keys.Due{Queue: keys.Reap, Object: tailAt.Key()}, format.ReapMark{}.Encode())
		w.acks = nil
	}, nil},
	{"what the entry names is a slot", 2, "no settled object", func(w *world) {
		w.bodies[w.obj(tailAt)], _, _ = build(format.SlotObject, []chunk{{9, 0, 2}, {9, 2, 5}})
	}, nil},
	{"the entry has another size", 2, "another size", func(w *world) { w.row(4, func(r *format.Row) { r.Entries[0].Bytes++ }) }, nil},
	{"the entry has another window", 2, "lies elsewhere", func(w *world) { w.row(4, func(r *format.Row) { r.Entries[0].Footer.Len++ }) }, nil},
	{"the object lacks a live record", 2, "does not hold record 2", func(w *world) {
		e := w.settledObj(tailAt, chunk{9, 0, 2}, chunk{9, 3, 5})
		e.LiveFrom = 2
		w.catalogRow(9, e)
		w.acks = nil
	}, func(w *world) { // the dead ones may be lacking
		e := w.settledObj(tailAt, chunk{9, 2, 5})
		e.Count, e.LiveFrom = 5, 2
		w.catalogRow(9, e)
	}},
	{"the object ends before its entry", 2, "does not hold record 4", func(w *world) {
		e := w.settledObj(tailAt, chunk{9, 0, 2}, chunk{9, 2, 4})
		e.Count++
		w.catalogRow(9, e)
		w.acks = nil
	}, nil},
	{"the object's bytes are others", 2, "are not what the footer says", func(w *world) {
		b := []byte(w.bodies[w.obj(tailAt)])
		b[8] ^= 1
		w.bodies[w.obj(tailAt)] = string(b)
	}, func(w *world) { // those of a dead chunk
		b := []byte(w.bodies[w.obj(tailAt)])
		b[0] ^= 1
		w.bodies[w.obj(tailAt)] = string(b)
	}},
	{"the lost range", 2, "", nil, func(w *world) {
		delete(w.bodies, w.obj(tailAt))
		w.row(4, func(r *format.Row) { r.Entries[0].Lost = true })
		w.acks = nil
	}},
	{"two rows name one object", 6, "another entry", func(w *world) {
		r, _ := format.DecodeRow(w.rows[keys.Ref(9, 4)].Val)
		r.End, r.Entries[0].Count = 2, 2
		w.put(keys.Ref(9, 1), r.Encode()) // it overlaps as well
	}, nil},
	{"rows overlap", 2, "overlaps", func(w *world) {
		w.put(keys.Ref(9, 1), format.Row{Kind: format.CatalogRow, First: 0, End: 2, Entries: []format.Entry{{First: 0, Count: 2, Lost: true}}}.Encode())
	}, func(w *world) {
		w.put(keys.Ref(8, 1), format.Row{Kind: format.CatalogRow, First: 0, End: 2, Entries: []format.Entry{{First: 0, Count: 2, Lost: true}}}.Encode())
		w.put(keys.Stream(8), format.Stream{Bucket: "b"}.Encode())
	}},
}

var ackBreaches = []breach{
	{"a gap between rows", 3, "are in none", func(w *world) {
		w.put(keys.Trim(9), format.EncodeNumber(1))
		w.row(4, func(r *format.Row) { r.First = 2; r.Entries[0].First = 2; r.Entries[0].Count = 3 })
		w.bodies[w.obj(keys.Settled{Bucket: "b", Stream: 9, Epoch: 3, First: 2}.At(inc(50)))] = w.bodies[w.obj(tailAt)]
		delete(w.bodies, w.obj(tailAt))
		w.acks = nil
	},
		func(w *world) {
			w.row(4, func(r *format.Row) { r.First = 2; r.Entries[0].First = 2; r.Entries[0].Count = 3 })
			w.bodies[w.obj(keys.Settled{Bucket: "b", Stream: 9, Epoch: 3, First: 2}.At(inc(50)))] = w.bodies[w.obj(tailAt)]
			delete(w.bodies, w.obj(tailAt))
		}},
	{"the last row goes", 3, "absorbed, and in no row", func(w *world) { w.del(keys.Ref(9, 8)); w.acks = w.acks[4:] },
		func(w *world) {
			w.del(keys.Ref(9, 8))
			w.put(keys.Trim(9), format.EncodeNumber(9))
			w.del(keys.Ref(9, 4))
			delete(w.bodies, w.obj(tailAt))
		}},
	{"a row beyond the writer's end", 3, "beyond the writer's end", func(w *world) { edit(w, keys.Writer(9), format.DecodeWriter, func(x *format.Writer) { x.End = 7 }) }, nil},
	{"an acknowledged slot is gone", 3, "[9, 11)", func(w *world) {
		for _, st := range both2 {
			delete(w.bodies, w.slotObj(st, 3, 4))
		}
	}, func(w *world) { delete(w.bodies, w.slotObj("b", 3, 4)) }},
	{"an acknowledged slot is above the cut", 3, "[9, 11)", func(w *world) { w.head(3, func(h *format.ChainHead) { h.State, h.Cut = format.ChainCut, 4 }) },
		func(w *world) { w.head(3, func(h *format.ChainHead) { h.State, h.Cut = format.ChainCut, 5 }) }},
	{"the checkpoint passes an acknowledged slot", 3, "[9, 11)", func(w *world) { w.head(3, func(h *format.ChainHead) { h.Checkpoint = 5 }) }, nil},
	{"an acknowledged chunk with other bytes", 3, "[9, 11)", func(w *world) { w.acks[4].CRC++ }, nil},
	{"an absorbed chunk with other bytes", 3, "[5, 7)", func(w *world) { w.acks[2].CRC++ }, nil},
	{"a settled chunk with other bytes", 3, "[2, 5)", func(w *world) { w.acks[1].CRC++ }, func(w *world) { w.acks[0].CRC++ }},
	{"live-from is above the watermark", 3, "[2, 3)", func(w *world) {
		w.row(4, func(r *format.Row) { r.Entries[0].LiveFrom = 3 })
	}, func(w *world) {
		w.row(4, func(r *format.Row) { r.Entries[0].LiveFrom = 3 })
		w.put(keys.Trim(9), format.EncodeNumber(3))
	}},
	{"an acknowledged chunk below live-from", 3, "[2, 5)", func(w *world) {
		w.row(4, func(r *format.Row) { r.Entries[0].LiveFrom = 5 })
		w.due(keys.Due{Queue: keys.Reap, Object: tailAt.Key()}, format.ReapMark{}.Encode())
	}, func(w *world) {
		w.row(4, func(r *format.Row) { r.Entries[0].LiveFrom = 5 })
		w.due(keys.Due{Queue: keys.Reap, Object: tailAt.Key()}, format.ReapMark{}.Encode())
		w.put(keys.Trim(9), format.EncodeNumber(5))
	}},
	{"an object of which nothing is live", 1, "no ref, no intent", func(w *world) {
		w.row(4, func(r *format.Row) { r.Entries[0].LiveFrom = 5 })
		w.put(keys.Trim(9), format.EncodeNumber(5))
	}, nil},
	{"an acknowledged chunk that is lost", 3, "they are lost", func(w *world) {
		w.row(4, func(r *format.Row) { r.Entries[0].Lost = true })
		w.due(keys.Due{Queue: keys.Reap, Object: tailAt.Key()}, format.ReapMark{}.Encode())
	}, nil},
	{"what was acknowledged of a deleted stream", 3, "", nil, func(w *world) { w.acks = append(w.acks, chunk{10, 0, 4}.ack()) }},
}

var cursorBreaches = []breach{
	{"trimmed above rewritten", 5, "trimmed is above", func(w *world) { w.cursors(2, func(c *format.ChainTrim) { c.Rewritten = 0 }) },
		nil},
	{"rewritten above the checkpoint", 5, "rewritten is above", func(w *world) { w.cursors(3, func(c *format.ChainTrim) { c.Rewritten = 5 }) },
		func(w *world) { w.cursors(3, func(c *format.ChainTrim) { c.Rewritten = 4 }) }},
	{"the checkpoint above the cut", 5, "checkpoint is above", func(w *world) {
		w.head(2, func(h *format.ChainHead) { h.Checkpoint = 3 })
		w.due(keys.Due{Queue: keys.TrimCheck, Star: "s1", Epoch: 2}, format.TrimMark{}.Encode())
	},
		func(w *world) { w.head(3, func(h *format.ChainHead) { h.Cut = 3 }) }}, // open: there is no cut
	{"swept, and not absorbed", 5, "not absorbed to its cut", func(w *world) { w.head(2, func(h *format.ChainHead) { h.State = format.ChainSwept }) }, func(w *world) {
		w.head(2, func(h *format.ChainHead) { h.State, h.Checkpoint = format.ChainSwept, 2 })
		w.due(keys.Due{Queue: keys.TrimCheck, Star: "s1", Epoch: 2}, format.TrimMark{}.Encode())
	}},
}

var streamBreaches = []breach{
	{"a watermark of a stream that is gone", 8, "neither descriptor", func(w *world) { w.put(keys.Trim(12), format.EncodeNumber(0)) }, func(w *world) {
		w.put(keys.Trim(12), format.EncodeNumber(0))
		w.put(keys.Stream(12), format.Stream{Bucket: "b"}.Encode())
	}},
	{"a last-writer record of a stream that is gone", 8, "neither descriptor", func(w *world) { w.put(keys.Writer(12), format.Writer{Star: "s1", Epoch: 3}.Encode()) }, nil},
	{"a producer handle of a stream that is gone", 8, "neither descriptor", func(w *world) { w.put(keys.Producer(12), "") }, func(w *world) { w.put(keys.Producer(10), "") }},
	{"an address of a stream that is gone", 8, "does not live", func(w *world) { w.put(keys.Name("b", "x"), format.EncodeNumber(12)) }, func(w *world) { w.del(keys.Name("b", "n")) }},
	{"an address of a tombstone", 8, "does not live", func(w *world) { w.put(keys.Name("b", "m"), format.EncodeNumber(10)) }, nil},
	{"an address of another's stream", 8, "has another", func(w *world) { w.put(keys.Name("b", "x"), format.EncodeNumber(9)) }, nil},
	{"a watermark above what is absorbed", 5, "is above the end 9", func(w *world) {
		w.put(keys.Trim(9), format.EncodeNumber(10))
		delete(w.bodies, w.obj(tailAt))
		w.acks = nil
	}, func(w *world) { w.put(keys.Trim(9), format.EncodeNumber(9)) }},
	{"a teardown that forgot when the stream was deleted", 8, "was deleted at 4", func(w *world) {
		w.put(w.key("due/teardown/", ""), format.TeardownMark{DeletedAt: 4}.Encode())
	}, func(w *world) {
		w.put(w.key("due/teardown/", ""), format.TeardownMark{DeletedAt: 3, Attempts: 2}.Encode())
	}},
	{"two retention markers of one policy", 8, "for the same policy", func(w *world) {
		w.due(keys.Due{Queue: keys.Retention, At: 901, Stream: 9}, format.RetentionMark{Attempts: 1}.Encode())
	}, func(w *world) {
		w.due(keys.Due{Queue: keys.Retention, At: 901, Stream: 9}, format.RetentionMark{Policy: 1}.Encode())
	}},
	{"a retention marker beside a parked one", 8, "for the same policy", func(w *world) {
		w.park(w.due(keys.Due{Queue: keys.Retention, At: 901, Stream: 9}, format.RetentionMark{Attempts: 1}.Encode()))
	}, nil},
	{"two settle markers of a live head", 8, "2 settle markers", func(w *world) {
		w.put(keys.Mint("s1", core.Standard), format.EncodeNumber(3)) // minted since the star registered
		w.due(keys.Due{Queue: keys.Settle, At: 701, Star: "s1", Epoch: 3}, format.SettleMark{}.Encode())
	}, func(w *world) {
		w.put(keys.Star("s1"), "") // it has come back, and will mint
		w.due(keys.Due{Queue: keys.Settle, At: 701, Star: "s1", Epoch: 3}, format.SettleMark{}.Encode())
	}},
	{"a settled object of another class", 6, "not in standard storage", func(w *world) {
		w.row(4, func(r *format.Row) { r.Entries[0].Class = core.Express })
		w.bodies[core.Obj{Store: "x", Key: tailAt.Key()}] = w.bodies[w.obj(tailAt)]
		delete(w.bodies, w.obj(tailAt))
	}, nil},
	{"an output that is announced in another class", 6, "elsewhere than in standard", func(w *world) {
		k := w.key("due/orphan/", freshAt.Key())
		w.uploads = nil
		delete(w.bodies, w.obj(freshAt.At(inc(w.rows[k].Rev))))
		edit(w, k, format.DecodeIntent, func(x *format.Intent) { x.Class, x.Store = core.Express, "x" })
	}, nil},
}

func allBreaches() (all []breach) {
	for _, t := range [][]breach{decodeBreaches, watchBreaches, slotBreaches, refBreaches, ackBreaches, cursorBreaches, streamBreaches} {
		all = append(all, t...)
	}
	return all
}

// TestBreaches: each breach is found, and nothing else; the near miss is none. A
// judge that sees the world change from sound says the same, and says it no
// longer once the world is sound again.
func TestBreaches(t *testing.T) {
	for _, c := range allBreaches() {
		t.Run(c.name, func(t *testing.T) {
			if c.bad != nil {
				w := sound()
				c.bad(w)
				got := w.judge()
				found := false
				for _, b := range got {
					found = found || b.Law == c.law
					if b.Law != c.law && !strings.Contains(b.What, "overlaps") || b.Law == c.law && !strings.Contains(b.What, c.what) {
						t.Errorf("found %s", b)
					}
				}
				if !found {
					t.Fatal("it was not found")
				}
				follow(t, w)
			}
			if c.near != nil {
				w := sound()
				c.near(w)
				for _, b := range w.judge() {
					t.Errorf("near miss: %s", b)
				}
				follow(t, w)
			}
		})
	}
}

// follow has a judge follow the changes from the sound world to w and back.
func follow(t *testing.T, w *world) {
	t.Helper()
	was := sound()
	m := newModel(was)
	m.become(w)
	m.agree(t)
	m.become(was)
	if bs := m.judge.standingNow(); len(bs) > 0 {
		t.Errorf("after going back: %v", bs)
	}
}
