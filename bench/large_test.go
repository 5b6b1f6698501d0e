//go:build unix

package bench

import (
	"fmt"
	"testing"
	"time"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/sim"
	"nova/sim/world"
)

// The world "large" is the world "small" in a cluster where 10,000 keys stand
// already: streams that nobody touches, with a descriptor, a name, a writer, two
// rows, and five settled objects each.
const (
	largeStreams = 1000
	largeObjects = 5
	largeFirst   = 1 << 40 // the first id: beyond those that are given out
)

func large(seed uint64) sim.Config {
	c := small(seed)
	c.Scene = func(s *sim.Sim) {
		sim.Nova(s)
		dormant(s)
	}
	return c
}

// dormant puts the streams that nobody touches, and lets the laws see them.
func dormant(s *sim.Sim) {
	home := s.Stores.Home(core.Standard)
	apply := func(op core.Op) {
		if r := s.W.Apply(&op, world.When{Now: s.Now(), Admitted: s.Now()}); r.Outcome != core.OK {
			panic(fmt.Sprintf("bench: %s: %s %s", &op, r.Outcome, r.Val))
		}
	}
	for id := uint64(largeFirst); id < largeFirst+largeStreams; id++ {
		name := fmt.Sprint("dormant-", id)
		ws := []core.Write{
			core.Put(keys.Stream(id), format.Stream{Bucket: "b", Name: name}.Encode()),
			core.Put(keys.Name("b", name), format.EncodeNumber(id)),
			core.Put(keys.Writer(id), format.Writer{Star: "dormant", Epoch: 1, End: largeObjects}.Encode()),
		}
		var row format.Row
		for n := range uint64(largeObjects) {
			body := fmt.Sprintf("%s %d", name, n)
			tail, w := format.Finish(format.SettledObject, int64(len(body)), []format.Chunk{
				{Stream: id, First: n, Count: 1, CRC: format.CRC([]byte(body)), Len: int64(len(body))}})
			at := keys.Settled{Bucket: "b", Stream: id, Epoch: 1, First: n}.At(keys.Incarnation{Generation: 1, Created: 1})
			// The intent comes before the object, and goes with the row that names it.
			apply(core.Txn(intent(s, at, home)...))
			apply(core.Create(core.Obj{Store: home, Key: at.Key()}, []core.Piece{{Bytes: body + tail}}, s.Now()+1))
			row.Entries = append(row.Entries, format.Entry{Epoch: 1, First: n, Count: 1, LiveFrom: n, Generation: 1, Created: 1,
				Footer: w, Bytes: int64(len(body) + len(tail))})
			ws = append(ws, forget(s, at)...)
			if n == 2 || n == largeObjects-1 {
				row.Kind, row.First, row.End = format.CatalogRow, row.Entries[0].First, n+1
				ws = append(ws, core.Put(keys.Ref(id, n), row.Encode()))
				row = format.Row{}
			}
		}
		apply(core.Txn(ws...))
		s.Laws.Changed(s, nil, s.W.Changes)
		s.W.Changes = s.W.Changes[:0]
	}
}

func intent(s *sim.Sim, at keys.Settled, home core.Store) []core.Write {
	d := at.Derived().Key()
	shard := keys.ShardOfObject(d, s.Dials.Shards)
	x := format.Intent{Store: home, Shared: true, Generation: 1, Created: at.Inc.Created}
	return []core.Write{core.Put(keys.DueOrphan(shard, d), x.Encode()), core.Put(keys.SchedOrphan(shard, 0, d), "")}
}

func forget(s *sim.Sim, at keys.Settled) []core.Write {
	d := at.Derived().Key()
	shard := keys.ShardOfObject(d, s.Dials.Shards)
	return []core.Write{core.Del(keys.DueOrphan(shard, d)), core.Del(keys.SchedOrphan(shard, 0, d))}
}

// BenchmarkLarge is BenchmarkSmall's first two figures in the world "large". What
// it takes to put the 10,000 keys, and to judge them, is not in them.
func BenchmarkLarge(b *testing.B) {
	var judged, unjudged []time.Duration
	var effects int64
	for b.Loop() {
		effects = 0
		for _, laws := range []bool{true, false} {
			var all time.Duration
			for _, seed := range smallSeeds {
				c := large(seed)
				c.NoLaws = !laws
				scene := c.Scene
				var put time.Duration
				c.Scene = func(s *sim.Sim) { put = took(func() { scene(s) }) }
				var n int64
				all += took(func() { n = run(b, c).Count.Effects }) - put
				if laws {
					effects += n
				}
			}
			if laws {
				judged = append(judged, all)
			} else {
				unjudged = append(unjudged, all)
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rate(effects, median(judged)), "effects/cpu-s")
	b.ReportMetric(rate(effects, median(unjudged)), "unjudged/cpu-s")
}
