package admin

import (
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/law"
	"nova/core/serve"
	"nova/sim/world"
)

// serving is a star that runs, and the client that uses it.
type serving struct {
	r    *rig
	p    *rigProc
	ids  uint64
	blob uint64
}

func (r *rig) star(name string) *serving {
	s := &serving{r: r, blob: uint64(r.starts) << 20}
	s.p = r.start(name, func(p *rigProc) func(core.Turn) bool {
		m := &serve.Star{Name: name}
		return func(t core.Turn) bool { return m.Step(t, &p.env) }
	})
	return s
}

func (s *serving) ask(q serve.Request) serve.Answer {
	s.r.t.Helper()
	s.ids++
	q.ID = s.ids
	s.p.queue = append(s.p.queue, q.Encode())
	find := func() *serve.Answer {
		for i := range s.p.answers {
			if s.p.answers[i].ID == q.ID {
				return &s.p.answers[i]
			}
		}
		return nil
	}
	s.r.until(fmt.Sprintf("an answer to %+v", q), func() bool { return find() != nil })
	return *find()
}

func (s *serving) open(id uint64) {
	s.r.t.Helper()
	if a := s.ask(serve.Request{Verb: serve.VerbOpen, Stream: id}); a.Outcome != serve.Opened {
		s.r.fail("open stream %d: %+v", id, a)
	}
}

// append gives a slot with one chunk of each stream.
func (s *serving) append(ids ...uint64) {
	s.r.t.Helper()
	q := serve.Request{Verb: serve.VerbAppend}
	for _, id := range ids {
		s.blob++
		q.Chunks = append(q.Chunks, serve.AppendChunk{Stream: id, Count: 2, CRC: world.BlobCRC(s.blob, 0, 30), Len: 30, Blob: s.blob, Oldest: s.r.now, Newest: s.r.now})
	}
	a := s.ask(q)
	if a.Outcome != serve.Acked {
		s.r.fail("append: %+v", a)
	}
	for i, k := range a.Acks {
		if k.Reason != serve.None {
			s.r.fail("append: %+v", a)
		}
		ack := law.Ack{Stream: ids[i], First: k.First, Count: 2, CRC: q.Chunks[i].CRC}
		s.r.acks = append(s.r.acks, ack)
		s.r.judge.Apply(law.Change{Kind: law.Acknowledged, Ack: ack})
	}
	s.r.changed("an acknowledgement")
}

func (s *serving) close() {
	s.r.t.Helper()
	if a := s.ask(serve.Request{Verb: serve.VerbClose}); a.Outcome != serve.Closed {
		s.r.fail("close: %+v", a)
	}
	s.r.until("the star ends", func() bool { return s.p.done })
}

func (r *rig) create(name string) uint64 {
	r.t.Helper()
	var c serve.Create
	p := r.start("client", func(p *rigProc) func(core.Turn) bool {
		return func(t core.Turn) bool {
			return c.Step(t, &p.env, serve.Spec{Bucket: "b", Name: name}) != core.Working
		}
	})
	r.until("create "+name, func() bool { return p.done })
	return c.ID
}

// drained is a cluster with one star, s1, of two epochs: the first was left by a
// crash, the second was closed. Two streams, a few slots on each, nothing settled.
func drained(r *rig) (a, b uint64) {
	a, b = r.create("a"), r.create("b")
	s := r.star("s1")
	s.open(a)
	s.open(b)
	s.append(a, b)
	s.append(a)
	s.append(b)
	s.p.leave()
	s = r.star("s1")
	s.open(a)
	s.append(a)
	s.append(a)
	s.close()
	return a, b
}

// content is the bytes of a stream, as the rows say; the laws have compared them
// with what was acknowledged.
func (r *rig) content(id uint64) (n uint64, spans int) {
	from, end := keys.RefRange(id, 0)
	r.w.Meta.Range(from, end, func(row core.Row) bool {
		x, err := format.DecodeRow(row.Val)
		if err != nil {
			r.fail("%s: %v", row.Key, err)
		}
		n += x.End - x.First
		spans += len(x.Spans)
		return true
	})
	return n, spans
}

func (r *rig) count(prefix string) (n int) {
	r.w.Meta.Range(prefix, keys.PrefixEnd(prefix), func(core.Row) bool { n++; return true })
	return n
}

func (r *rig) first(prefix string) (key string) {
	r.w.Meta.Range(prefix, keys.PrefixEnd(prefix), func(x core.Row) bool { key = x.Key; return false })
	return key
}

// objects counts what stands under a prefix, in all stores.
func (r *rig) objects(prefix string) (n int) {
	for _, b := range r.w.Buckets() {
		for i := range b.Len() {
			if k := b.Object(i).Key; len(k) >= len(prefix) && k[:len(prefix)] == prefix {
				n++
			}
		}
	}
	return n
}

// txn writes, as a test.
func (r *rig) txn(ws ...core.Write) {
	op := core.Txn(ws...)
	r.land(&op, "")
}

// parkBatch parks a batch marker, as a drain does; unparkBatch puts it back.
func (r *rig) parkBatch(key string) {
	d, _ := keys.ParseDue(key)
	val, _ := r.row(key)
	m, _ := format.DecodeBatchMark(val)
	sched := keys.SchedDenorm(d.Shard, m.Ready, d.Star, d.Epoch, d.Slot)
	m.Parked = true
	r.txn(core.Put(key, m.Encode()), core.Del(sched), core.Put(keys.Park(keys.Denorm, key), format.Parked{Reason: "it fails", Value: val}.Encode()))
}

func (r *rig) unparkBatch(key, val string) {
	d, _ := keys.ParseDue(key)
	m, _ := format.DecodeBatchMark(val)
	r.txn(core.Put(key, val), core.Put(keys.SchedDenorm(d.Shard, m.Ready, d.Star, d.Epoch, d.Slot), ""), core.Del(keys.Park(keys.Denorm, key)))
}

// intent puts a write intent, as a publish does.
func (r *rig) intent(at keys.Settled, condemned bool) string {
	shard := keys.ShardOfObject(at.Key(), r.dials.Shards)
	x := format.Intent{Store: "std-a", Birth: r.now, Attempt: "p/1", Condemned: condemned, Generation: at.Inc.Generation, Created: at.Inc.Created}
	key := keys.DueOrphan(shard, at.Key())
	r.txn(core.Put(key, x.Encode()), core.Put(keys.SchedOrphan(shard, r.now, at.Key()), ""))
	return key
}

func (r *rig) head(epoch uint64) format.ChainHead {
	v, _ := r.row(keys.ChainHead("s1", epoch))
	h, _ := format.DecodeChainHead(v)
	return h
}
