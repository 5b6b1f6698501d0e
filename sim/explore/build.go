package explore

import (
	"fmt"
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/law"
	"nova/sim/world"
)

// epoch is when every small world begins.
const epoch = core.Ms(1_000_000)

// recordSize is how long a record is: what it says follows from its number.
const recordSize = 16

func record(stream, seq uint64) string { return fmt.Sprintf("s%05d#%09d", stream, seq)[:recordSize] }

// builder makes what stands when a small world begins. It writes as the serving
// side does, without the machines: what they would leave behind.
type builder struct {
	w    *World
	now  core.Ms
	ends map[uint64]uint64 // records of each stream so far
}

// dials are small: one shard, one lane, times of seconds, and no pause before the
// next look but the next marker's own.
func dials() core.Dials {
	d := core.Spec()
	d.ReadGrace, d.PlanTTL, d.FooterLife = 2400, 1200, 1050
	d.RequestLife, d.Admission, d.Service, d.Skew = 1100, 500, 300, 150
	d.Confirm, d.OrphanGrace = 300, 1200
	d.Linger, d.AgeCap = [core.Classes]core.Ms{400, 300}, [core.Classes]core.Ms{1000, 1000}
	d.SizeTrigger, d.PartMin, d.PartMax, d.PartCount, d.PartWidth = 1<<20, 120, 500, 40, 1
	d.OutputCap, d.OutputChunks = 6000, 100
	d.MarkersPerEra, d.MemberWidth, d.MemberPlan, d.JobDeadline = 4, 1, 8, 1500
	d.ProbeWidth, d.GCMinDead, d.GCDeadPart, d.ReapBucket, d.DeleteBatch = 1, 8, 4, 150, 1
	d.GateRetry, d.Quiesce, d.TeardownGroup, d.TeardownWidth = 400, 700, 4, 1
	d.LiveHeadProbe, d.SettleBatch, d.StreamsPerTxn, d.FootersAbreast = 800, 4, 4, 1
	d.Pipeline, d.SessionTTL = 1, 300
	d.Shards, d.DrainWidth, d.ScanPage = 1, 1, 8
	d.PollEvery, d.BackoffFirst, d.BackoffMax, d.ParkAfter = never, 1500, 1500, 8
	return d
}

// small begins a world of these actors.
func small(name, about string, actors ...Actor) *builder {
	w := &World{
		Name: name, About: about, Dials: dials(), Actors: actors, Subset: 3, epoch: epoch, horizon: epoch + 12_000,
		Stores:  core.Stores{Of: [core.Classes][]core.Store{{"std"}, {"exp"}}},
		Dialect: world.Dialect{RepeatComplete: core.Absent, LateParts: true},
	}
	b := &builder{w: w, now: epoch, ends: map[uint64]uint64{}}
	w.made = world.New(world.LimitsOf(&w.Dials), w.Dialect, "std", "exp").Local()
	return b
}

// done is the world, with what its faults may be and what nobody takes away.
func (b *builder) done(f Budget, leaves ...string) *World {
	b.w.leaves = leaves
	b.w.made.Changes = nil
	b.w.Faults, b.w.States = f, counts[b.w.Name]
	return b.w
}

func (b *builder) put(key, val string) core.Mark {
	op := core.Txn(core.Put(key, val))
	r := b.w.made.Apply(&op, world.When{Now: b.now, Admitted: b.now})
	return core.Mark{Key: key, Rev: r.Rev}
}

func (b *builder) object(at core.Obj, bytes string) {
	op := core.Create(at, core.Bytes(bytes), never)
	if r := b.w.made.Apply(&op, world.When{Now: b.now, Admitted: b.now}); r.Outcome != core.OK {
		panic(fmt.Sprintf("explore: create %v: %v", at, r.Outcome))
	}
}

func (b *builder) val(key string) string {
	r, _ := b.w.made.Meta.Lookup(key)
	return r.Val
}

// mint makes a chain.
func (b *builder) mint(star string, epoch uint64, class core.Class, stores ...core.Store) {
	if len(stores) == 0 {
		stores = b.w.Stores.Of[class]
	}
	b.put(keys.ChainConst(star, epoch), format.ChainConst{Class: class, Stores: stores, Pipeline: uint32(b.w.Dials.Pipeline), Born: b.now}.Encode())
	b.put(keys.ChainHead(star, epoch), format.ChainHead{State: format.ChainOpen}.Encode())
	b.put(keys.ChainTrim(star, epoch), format.ChainTrim{}.Encode())
	b.put(keys.Mint(star, class), format.EncodeNumber(epoch))
	b.put(keys.CounterEpoch, format.EncodeNumber(epoch))
}

// settles arms the chain's settle marker.
func (b *builder) settles(star string, epoch uint64, at core.Ms) {
	b.put(keys.DueSettle(keys.ShardOfChain(star, epoch, 1), at, star, epoch), format.SettleMark{}.Encode())
}

// state sets how far a chain is settled.
func (b *builder) state(star string, epoch uint64, s format.ChainState) {
	h, _ := format.DecodeChainHead(b.val(keys.ChainHead(star, epoch)))
	h.State, h.Cut = s, h.Checkpoint
	b.put(keys.ChainHead(star, epoch), h.Encode())
}

// create makes a stream.
func (b *builder) create(id uint64, maxAge core.Ms) {
	b.put(keys.CounterStream, format.EncodeNumber(id))
	name := fmt.Sprint("n", id)
	b.put(keys.Stream(id), format.Stream{Bucket: "b", Name: name, MaxAge: maxAge, Born: b.now}.Encode())
	b.put(keys.Name("b", name), format.EncodeNumber(id))
}

// part is so many records of one stream in a slot.
type part struct {
	stream uint64
	count  int
}

// slot writes one slot of a chain, which is committed, acknowledged, and not
// absorbed.
func (b *builder) slot(star string, epoch, slot uint64, parts ...part) (format.Inventory, []format.Chunk) {
	c, err := format.DecodeChainConst(b.val(keys.ChainConst(star, epoch)))
	if err != nil {
		panic(err)
	}
	var body strings.Builder
	var chunks []format.Chunk
	for _, p := range parts {
		data := b.records(p.stream, p.count)
		chunks = append(chunks, format.Chunk{Stream: p.stream, First: b.ends[p.stream] - uint64(p.count), Count: uint32(p.count), CRC: format.CRC([]byte(data)),
			Off: int64(body.Len()), Len: int64(len(data)), Oldest: b.now, Newest: b.now})
		body.WriteString(data)
	}
	tail, w := format.Finish(format.SlotObject, int64(body.Len()), chunks)
	for _, st := range c.Stores {
		b.object(core.Obj{Store: st, Key: keys.Slot(star, epoch, slot)}, body.String()+tail)
	}
	return format.Inventory{Slot: slot, Footer: w}, chunks
}

// records are the next records of a stream, acknowledged.
func (b *builder) records(stream uint64, n int) (data string) {
	first := b.ends[stream]
	for range n {
		data += record(stream, b.ends[stream])
		b.ends[stream]++
	}
	b.w.acks = append(b.w.acks, law.Ack{Stream: stream, First: first, Count: uint32(n), CRC: format.CRC([]byte(data))})
	return data
}

// batch writes slots and absorbs them under one checkpoint.
func (b *builder) batch(star string, epoch uint64, crossing bool, slots ...[]part) {
	c, _ := format.DecodeChainConst(b.val(keys.ChainConst(star, epoch)))
	h, _ := format.DecodeChainHead(b.val(keys.ChainHead(star, epoch)))
	mark := format.BatchMark{Class: c.Class, Birth: b.now, Crossing: crossing, Ready: b.now + b.w.Dials.AgeCap[c.Class]}
	if crossing {
		mark.Ready = b.now + b.w.Dials.Linger[c.Class]
	}
	var order []uint64
	spans := map[uint64][]format.Span{}
	for i, ps := range slots {
		inv, chunks := b.slot(star, epoch, h.Checkpoint+uint64(i), ps...)
		mark.Slots = append(mark.Slots, inv)
		for _, ch := range chunks {
			if spans[ch.Stream] == nil {
				order = append(order, ch.Stream)
			}
			spans[ch.Stream] = append(spans[ch.Stream], format.Span{Slot: inv.Slot, Footer: inv.Footer, Chunk: ch})
		}
	}
	b.put(keys.DueDenorm(0, star, epoch, h.Checkpoint), mark.Encode())
	b.put(keys.SchedDenorm(0, mark.Ready, star, epoch, h.Checkpoint), "")
	for _, id := range order {
		ss := spans[id]
		end := ss[len(ss)-1].Chunk.End()
		b.put(keys.Ref(id, end-1), format.Row{Kind: format.SpanRow, First: ss[0].Chunk.First, End: end, Star: star, Epoch: epoch,
			Class: c.Class, Stores: c.Stores, Spans: ss}.Encode())
		b.put(keys.Writer(id), format.Writer{Star: star, Epoch: epoch, End: end}.Encode())
	}
	h.Checkpoint += uint64(len(slots))
	b.put(keys.ChainHead(star, epoch), h.Encode())
}

// settled puts a settled object with chunks of so many records of a stream, and
// the catalog row that names it.
func (b *builder) settled(id uint64, chunks ...int) format.Entry {
	first := b.ends[id]
	e := format.Entry{Epoch: 1, First: first, LiveFrom: first, Generation: 1, Created: int64(first) + 1}
	var body string
	var cs []format.Chunk
	for _, n := range chunks {
		data := b.records(id, n)
		cs = append(cs, format.Chunk{Stream: id, First: b.ends[id] - uint64(n), Count: uint32(n), CRC: format.CRC([]byte(data)),
			Off: int64(len(body)), Len: int64(len(data)), Oldest: b.now, Newest: b.now})
		body += data
	}
	tail, w := format.Finish(format.SettledObject, int64(len(body)), cs)
	e.Count, e.Footer, e.Bytes = b.ends[id]-first, w, int64(len(body)+len(tail))
	e.Oldest, e.Newest = cs[0].Oldest, cs[len(cs)-1].Newest
	b.object(core.Obj{Store: "std", Key: objectKey(id, &e)}, body+tail)
	b.put(keys.Ref(id, e.End()-1), format.Row{Kind: format.CatalogRow, First: e.First, End: e.End(), Entries: []format.Entry{e}}.Encode())
	b.put(keys.Writer(id), format.Writer{Star: "star", Epoch: 1, End: e.End()}.Encode())
	return e
}

func objectKey(id uint64, e *format.Entry) string {
	return keys.Settled{Bucket: "b", Stream: id, Epoch: e.Epoch, First: e.First, Revision: e.Revision,
		Inc: keys.Incarnation{Generation: e.Generation, Created: e.Created}, HasInc: true}.Key()
}

// reaps arms a reap-check of a settled object.
func (b *builder) reaps(id uint64, e *format.Entry, at core.Ms) {
	key := objectKey(id, e)
	b.put(keys.DueReap(keys.ShardOfObject(key, 1), at, key), format.ReapMark{Footer: e.Footer}.Encode())
}

// intent announces an output that was, or was not, published: what a process that
// is gone has left.
func (b *builder) intent(derived string, attempt string) core.Mark {
	in := format.Intent{Store: "std", Birth: b.now, Attempt: attempt, Generation: 1}
	m := b.put(keys.DueOrphan(keys.ShardOfObject(derived, 1), derived), in.Encode())
	b.put(keys.SchedOrphan(keys.ShardOfObject(derived, 1), b.now, derived), "")
	return m
}

// star registers a star under a session that outlives the world.
func (b *builder) star(name string) { b.put(keys.Star(name), "star") }

// delete makes a stream a tombstone, with its teardown armed.
func (b *builder) delete(id uint64) {
	s, err := format.DecodeStream(b.val(keys.Stream(id)))
	if err != nil {
		panic(err)
	}
	s.Deleted, s.DeletedAt = true, b.now
	name := core.Txn(core.Del(keys.Name(s.Bucket, s.Name)))
	b.w.made.Apply(&name, world.When{Now: b.now, Admitted: b.now})
	b.put(keys.DueTeardown(keys.ShardOfStream(id, 1), b.now, id, false), format.TeardownMark{DeletedAt: b.now}.Encode())
	b.put(keys.Stream(id), s.Encode())
}
