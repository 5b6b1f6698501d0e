package law

import (
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// resting is a world in which everything has drained: a live stream of a live
// star, all of it settled.
func resting() *world {
	w := empty()
	for k, n := range map[string]uint64{keys.CounterEpoch: 3, keys.CounterStream: 10, keys.Mint("s1", core.Standard): 3, keys.Trim(9): 2} {
		w.put(k, format.EncodeNumber(n))
	}
	w.put(keys.Star("s1"), "")
	w.put(keys.StreamLease(9), "s1")
	for epoch, state := range map[uint64]format.ChainState{2: format.ChainSettled, 3: format.ChainOpen} {
		w.put(keys.ChainConst("s1", epoch), format.ChainConst{Stores: both2, Pipeline: 2}.Encode())
		w.put(keys.ChainHead("s1", epoch), format.ChainHead{State: state, Checkpoint: 4, Cut: 4}.Encode())
		w.put(keys.ChainTrim("s1", epoch), format.ChainTrim{Trimmed: 4, Rewritten: 4}.Encode())
	}
	w.due(keys.Due{Queue: keys.Settle, At: 7000, Star: "s1", Epoch: 3}, format.SettleMark{}.Encode())
	w.put(keys.Stream(9), format.Stream{Bucket: "b", Name: "n", MaxAge: 1000}.Encode())
	w.due(keys.Due{Queue: keys.Retention, At: 9000, Stream: 9}, format.RetentionMark{}.Encode())
	w.catalogRow(9, w.settledObj(tailAt, chunk{9, 0, 2}, chunk{9, 2, 5}))
	return w
}

func TestAtRest(t *testing.T) {
	if bs := AtRest(resting().snapshot()); len(bs) > 0 {
		t.Fatalf("the resting world: %v", bs)
	}
	for _, c := range []struct {
		name, what string
		do         func(w *world)
	}{
		{"a marker", "a marker is left", func(w *world) { w.due(keys.Due{Queue: keys.TrimCheck, Star: "s1", Epoch: 3}, "") }},
		{"an intent", "a marker is left", func(w *world) { w.due(keys.Due{Queue: keys.Orphan, Object: oldAt.Key()}, "") }},
		{"a schedule row", "a marker is left", func(w *world) { w.due(denormSched, "") }},
		{"a parked marker", "parked", func(w *world) { w.put(keys.Park(keys.GC, "due/gc/0000/x"), "") }},
		{"the settle clock of an old epoch", "a marker is left", func(w *world) { w.due(keys.Due{Queue: keys.Settle, At: 7000, Star: "s1", Epoch: 2}, "") }},
		{"a second settle clock", "another clock", func(w *world) { w.due(keys.Due{Queue: keys.Settle, At: 7001, Star: "s1", Epoch: 3}, "") }},
		{"a second retention clock", "another clock", func(w *world) { w.due(keys.Due{Queue: keys.Retention, At: 9001, Stream: 9}, "") }},
		{"the retention clock of a stream without a policy", "a marker is left", func(w *world) {
			edit(w, keys.Stream(9), format.DecodeStream, func(s *format.Stream) { s.MaxAge = 0 })
		}},
		{"an open epoch of a dead star", "not settled", func(w *world) { w.del(keys.Star("s1")); w.del(w.key("due/settle/", "")) }},
		{"an open epoch that is not the newest", "not settled", func(w *world) {
			w.put(keys.ChainHead("s1", 2), format.ChainHead{State: format.ChainSwept, Checkpoint: 4, Cut: 4}.Encode())
		}},
		{"a tombstone", "tombstone", func(w *world) { w.put(keys.Stream(10), format.Stream{Deleted: true}.Encode()) }},
		{"a watermark of no stream", "does not live", func(w *world) { w.put(keys.Trim(11), format.EncodeNumber(1)) }},
		{"a last-writer record of no stream", "does not live", func(w *world) { w.put(keys.Writer(11), format.Writer{}.Encode()) }},
		{"a producer handle of no stream", "does not live", func(w *world) { w.put(keys.Producer(11), "") }},
		{"an address of no stream", "does not live", func(w *world) { w.put(keys.Name("b", "x"), format.EncodeNumber(11)) }},
		{"a decommission under way", "not finished", func(w *world) { w.gone("s9", format.GoneSwept) }},
		{"a mint row of a decommissioned star", "is decommissioned", func(w *world) {
			w.put(keys.Mint("s9", core.Express), format.EncodeNumber(3))
			w.gone("s9", format.GoneDone)
		}},
		{"a decommissioned star that is alive", "is decommissioned", func(w *world) {
			w.put(keys.Star("s9"), "")
			w.gone("s9", format.GoneDone)
		}},
		{"an upload", "upload", func(w *world) { w.uploads[Upload{"a", oldAt.Key(), "u"}] = true }},
		{"a slot", "no settled", func(w *world) { w.slot("s1", 3, 4, both2[:1], acked) }},
		{"an object that no row names", "no row names", func(w *world) { w.settledObj(oldAt, spans1) }},
	} {
		w := resting()
		c.do(w)
		if bs := AtRest(w.snapshot()); len(bs) != 1 || bs[0].Law != 8 || !strings.Contains(bs[0].What, c.what) {
			t.Errorf("%s: %v, want %q", c.name, bs, c.what)
		}
	}
}

func TestQuiet(t *testing.T) {
	w := resting()
	d := w.d
	orphan := func(birth core.Ms) { w.intent(format.Intent{Birth: birth}, freshAt.Key()) }
	orphan(5000)
	w.due(keys.Due{Queue: keys.GC, Dead: 5, Object: oldAt.Key()}, format.ReapMark{NotBefore: 6000}.Encode())
	for _, c := range []struct {
		now  core.Ms
		want int
	}{{5999, 0}, {6000, 1}, {7000, 2}, {9000, 3}, {4999 + d.OrphanGrace, 3}, {5000 + d.OrphanGrace, 4}} {
		if bs := Quiet(w.snapshot(), c.now, &d); len(bs) != c.want {
			t.Errorf("at %d: %v, want %d", c.now, bs, c.want)
		}
	}
}

func TestFixed(t *testing.T) {
	was := resting().snapshot()
	for _, c := range []struct {
		name, what string // "": lawful
		do         func(w *world)
	}{
		{"nothing", "", func(*world) {}},
		{"the clocks tick", "", func(w *world) {
			w.del(w.key("due/settle/", ""))
			w.due(keys.Due{Queue: keys.Settle, At: 8000, Star: "s1", Epoch: 3}, format.SettleMark{Attempts: 1}.Encode())
			w.del(w.key("due/retention/", ""))
			w.due(keys.Due{Queue: keys.Retention, At: 10000, Stream: 9}, format.RetentionMark{}.Encode())
		}},
		{"leases come and go", "", func(w *world) { w.del(keys.StreamLease(9)); w.put(keys.Auditor("a"), "") }},
		{"a clock stops", "deleted", func(w *world) { w.del(w.key("due/retention/", "")) }},
		{"a row is written again", "written again", func(w *world) { w.put(keys.Trim(9), w.rows[keys.Trim(9)].Val) }},
		{"a row is written", "was written", func(w *world) { w.due(denormSched, "") }},
		{"a row is deleted", "deleted", func(w *world) { w.del(keys.Trim(9)) }},
		{"an object is written", "an object was written", func(w *world) { w.settledObj(oldAt, spans1) }},
		{"an object goes", "an object went", func(w *world) { delete(w.bodies, w.obj(tailAt)) }},
		{"an upload begins", "an upload was written", func(w *world) { w.uploads[Upload{"a", oldAt.Key(), "u"}] = true }},
	} {
		w := resting()
		for k, r := range w.rows { // the same revisions: maps are walked at random
			for _, old := range was.Rows {
				if old.Key == k {
					r.Rev = old.Rev
					w.rows[k] = r
				}
			}
		}
		w.rev += 1000
		c.do(w)
		bs := Fixed(was, w.snapshot())
		if c.what == "" && len(bs) > 0 || c.what != "" && (len(bs) != 1 || bs[0].Law != 8 || !strings.Contains(bs[0].What, c.what)) {
			t.Errorf("%s: %v, want %q", c.name, bs, c.what)
		}
	}
}
