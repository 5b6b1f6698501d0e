package law

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// world is a cluster to be judged: real bytes, so that checksums are.
type world struct {
	d       core.Dials
	st      core.Stores
	rev     int64
	rows    map[string]core.Row
	bodies  map[core.Obj]string
	uploads map[Upload]bool
	acks    []Ack
}

func empty() *world {
	w := &world{d: core.Spec(), rows: map[string]core.Row{}, bodies: map[core.Obj]string{}, uploads: map[Upload]bool{}, rev: 100}
	w.d.Shards = 4
	w.st.Of = [core.Classes][]core.Store{{"a", "b"}, {"x"}}
	return w
}

func (w *world) put(key, val string) core.Row {
	w.rev++
	w.rows[key] = core.Row{Mark: core.Mark{Key: key, Rev: w.rev}, Val: val}
	return w.rows[key]
}

func (w *world) del(key string) { delete(w.rows, key) }

// edit changes a row's value by its type.
func edit[T interface{ Encode() string }](w *world, key string, decode func(string) (T, error), change func(*T)) {
	v, err := decode(w.rows[key].Val)
	if err != nil {
		panic(key + ": " + err.Error())
	}
	change(&v)
	w.put(key, v.Encode())
}

// chunk is records [first, end) of a stream, with a body that says so.
type chunk struct{ stream, first, end uint64 }

func (c chunk) body() string {
	return strings.Repeat(string(rune('a'+c.first%26)), int(c.end-c.first)*3) + string(rune('A'+c.stream%26))
}

func (c chunk) ack() Ack {
	return Ack{c.stream, c.first, uint32(c.end - c.first), format.CRC([]byte(c.body()))}
}

func build(kind format.ObjectKind, cs []chunk) (body string, chunks []format.Chunk, w format.Window) {
	for _, c := range cs {
		b := c.body()
		chunks = append(chunks, format.Chunk{Stream: c.stream, First: c.first, Count: uint32(c.end - c.first), CRC: format.CRC([]byte(b)),
			Off: int64(len(body)), Len: int64(len(b)), Oldest: core.Ms(c.first), Newest: core.Ms(c.end)})
		body += b
	}
	tail, w := format.Finish(kind, int64(len(body)), chunks)
	return body + tail, chunks, w
}

// slot puts a slot into stores and returns the spans that name its chunks.
func (w *world) slot(star string, epoch, n uint64, stores []core.Store, cs ...chunk) []format.Span {
	body, chunks, win := build(format.SlotObject, cs)
	for _, st := range stores {
		w.bodies[core.Obj{Store: st, Key: keys.Slot(star, epoch, n)}] = body
	}
	var out []format.Span
	for _, c := range chunks {
		out = append(out, format.Span{Slot: n, Footer: win, Chunk: c})
	}
	return out
}

// settledObj puts a settled object and returns the entry that names it.
func (w *world) settledObj(at keys.Settled, cs ...chunk) format.Entry {
	body, _, win := build(format.SettledObject, cs)
	w.bodies[core.Obj{Store: "a", Key: at.Key()}] = body
	return format.Entry{Epoch: at.Epoch, First: at.First, Count: cs[len(cs)-1].end - at.First, LiveFrom: at.First, Revision: at.Revision,
		Generation: at.Inc.Generation, Created: at.Inc.Created, Footer: win, Bytes: int64(len(body))}
}

func (w *world) spanRow(id uint64, spans ...format.Span) string {
	r := format.Row{Kind: format.SpanRow, First: spans[0].Chunk.First, End: spans[len(spans)-1].Chunk.End(), Star: "s1", Epoch: 3, Stores: []core.Store{"a", "b"}, Spans: spans}
	key := keys.Ref(id, r.End-1)
	w.put(key, r.Encode())
	return key
}

func (w *world) catalogRow(id uint64, es ...format.Entry) string {
	r := format.Row{Kind: format.CatalogRow, First: es[0].First, End: es[len(es)-1].End(), Entries: es}
	key := keys.Ref(id, r.End-1)
	w.put(key, r.Encode())
	return key
}

func (w *world) due(d keys.Due, val string) string {
	switch d.Queue {
	case keys.Settle, keys.TrimCheck, keys.Denorm:
		d.Shard = keys.ShardOfChain(d.Star, d.Epoch, w.d.Shards)
	case keys.Teardown, keys.Retention:
		d.Shard = keys.ShardOfStream(d.Stream, w.d.Shards)
	default:
		d.Shard = keys.ShardOfObject(d.Object, w.d.Shards)
	}
	w.put(d.Key(), val)
	return d.Key()
}

// park moves a marker where parked ones stand.
func (w *world) park(key string) string {
	d, err := keys.ParseDue(key)
	if err != nil {
		panic(err)
	}
	p := keys.Park(d.Queue, key)
	w.put(p, format.Parked{Reason: "it fails", Value: w.rows[key].Val}.Encode())
	if !d.Queue.Scheduled() {
		w.del(key)
	}
	return p
}

func (w *world) intent(x format.Intent, object string) (due, sched string) {
	due = w.due(keys.Due{Queue: keys.Orphan, Object: object}, x.Encode())
	return due, w.due(keys.Due{Queue: keys.Orphan, Sched: true, At: x.Birth, Object: object}, "")
}

func (w *world) checksum(o core.Obj, off, n int64) (uint32, bool) {
	b, ok := w.bodies[o]
	if !ok || off+n > int64(len(b)) {
		return 0, false
	}
	return format.CRC([]byte(b[off : off+n])), true
}

func (w *world) object(o core.Obj) Object {
	b := w.bodies[o]
	out := Object{Store: o.Store, Key: o.Key, Size: int64(len(b)), Tail: b[max(0, len(b)-format.TailRead):]}
	if t, err := format.ParseTail(b, out.Size); err == nil {
		out.Tail = b[t.Window.Off:]
	}
	return out
}

func (w *world) snapshot() *Snapshot {
	s := &Snapshot{}
	for _, k := range slices.Sorted(maps.Keys(w.rows)) {
		s.Rows = append(s.Rows, w.rows[k])
	}
	for o := range w.bodies {
		s.Objects = append(s.Objects, w.object(o))
	}
	slices.SortFunc(s.Objects, func(a, b Object) int { return strings.Compare(string(a.Store)+a.Key, string(b.Store)+b.Key) })
	for u := range w.uploads {
		s.Uploads = append(s.Uploads, u)
	}
	slices.SortFunc(s.Uploads, func(a, b Upload) int { return strings.Compare(a.Key+a.ID, b.Key+b.ID) })
	return s
}

func (w *world) judge() []Breach {
	s := w.snapshot()
	bs := append(Instant(s, &w.d, &w.st, w.checksum), Acked(s, w.acks, &w.d, &w.st, w.checksum)...)
	return sorted(bs)
}

func inc(created int64) keys.Incarnation { return keys.Incarnation{Generation: 1, Created: created} }

// Addresses of the sound world's objects.
var (
	tailAt      = keys.Settled{Bucket: "b", Stream: 9, Epoch: 3, First: 0}.At(inc(50))              // named by stream 9's row
	buriedAt    = keys.Settled{Bucket: "b", Stream: 10, Epoch: 3, First: 0}.At(inc(51))             // named by the tombstone's row
	freshAt     = keys.Settled{Bucket: "b", Stream: 9, Epoch: 3, First: 5}                          // published under a fresh intent
	sharedAt    = keys.Settled{Bucket: "b", Stream: 9, Epoch: 3, First: 7}.At(inc(52))              // published under a shared one
	condemnedAt = keys.Settled{Bucket: "b", Stream: 9, Epoch: 3, First: 8}.At(inc(53))              // under a condemned one
	oldAt       = keys.Settled{Bucket: "b", Stream: 9, Epoch: 3, First: 0, Revision: 7}.At(inc(54)) // to be reaped
	heavyAt     = keys.Settled{Bucket: "b", Stream: 9, Epoch: 2, First: 0, Revision: 1}.At(inc(55)) // to be moved out of
	parkedAt    = keys.Settled{Bucket: "b", Stream: 9, Epoch: 2, First: 0, Revision: 2}.At(inc(56)) // parked
	both2       = []core.Store{"a", "b"}
	acked       = chunk{9, 9, 11}
	spans1      = chunk{9, 5, 7}
	spans2      = chunk{9, 7, 9}
	denormSched = keys.Due{Queue: keys.Denorm, Sched: true, At: 500, Star: "s1", Epoch: 3, Slot: 2}
	denormDue   = keys.Due{Queue: keys.Denorm, Star: "s1", Epoch: 3, Slot: 2}
)

// sound is a world in the middle of everything, with nothing wrong.
func sound() *world {
	w := empty()
	for k, n := range map[string]uint64{keys.CounterEpoch: 3, keys.CounterStream: 10, keys.GenerationKey: 1,
		keys.Mint("s1", core.Standard): 3, keys.Name("b", "n"): 9, keys.Trim(9): 2} {
		w.put(k, format.EncodeNumber(n))
	}
	w.put(keys.Star("s1"), "")
	w.put(keys.Auditor("a1"), "")
	w.put(keys.StreamLease(9), "s1")
	w.put(keys.ChainLease("s1", 3), "")
	w.put(keys.SettleClaim("s1", 2), "")
	w.put(keys.Producer(9), "")

	// Epoch 3 of s1: 1 is rewritten, 2 and 3 are owed, 4 is not absorbed.
	consts := format.ChainConst{Stores: both2, Pipeline: 2}
	w.put(keys.ChainConst("s1", 3), consts.Encode())
	w.put(keys.ChainHead("s1", 3), format.ChainHead{State: format.ChainOpen, Checkpoint: 4}.Encode())
	w.put(keys.ChainTrim("s1", 3), format.ChainTrim{Trimmed: 1, Rewritten: 2}.Encode())
	w.due(keys.Due{Queue: keys.Settle, At: 700, Star: "s1", Epoch: 3}, format.SettleMark{}.Encode())
	w.due(keys.Due{Queue: keys.TrimCheck, At: 700, Star: "s1", Epoch: 3}, format.TrimMark{}.Encode())
	w.slot("s1", 3, 1, both2, chunk{9, 2, 5})
	s2 := w.slot("s1", 3, 2, both2, spans1, chunk{10, 4, 6})
	s3 := w.slot("s1", 3, 3, both2, spans2)
	w.slot("s1", 3, 4, both2, acked)
	mark := format.BatchMark{Birth: 1, Ready: 500, Slots: []format.Inventory{{Slot: 2, Footer: s2[0].Footer}, {Slot: 3, Footer: s3[0].Footer}}}
	w.due(denormDue, mark.Encode())
	w.due(denormSched, "")

	// Epoch 2 of s1: its cut is published, 1 is below it, 2 and 3 are fenced.
	w.put(keys.ChainConst("s1", 2), consts.Encode())
	w.put(keys.ChainHead("s1", 2), format.ChainHead{State: format.ChainCut, Checkpoint: 1, Cut: 2, CutAt: 5}.Encode())
	w.put(keys.ChainTrim("s1", 2), format.ChainTrim{Trimmed: 1, Rewritten: 1}.Encode())
	w.due(keys.Due{Queue: keys.Settle, At: 5, Star: "s1", Epoch: 2}, format.SettleMark{}.Encode())
	w.slot("s1", 2, 1, both2, chunk{8, 0, 2})
	for n := range uint64(2) {
		w.bodies[core.Obj{Store: "a", Key: keys.Slot("s1", 2, 2+n)}] = format.Fence("s1", 2, 2+n)
	}
	// Epoch 1 of s0 is settled, and nothing is left of it.
	w.put(keys.ChainConst("s0", 1), consts.Encode())
	w.put(keys.ChainHead("s0", 1), format.ChainHead{State: format.ChainSettled, Checkpoint: 2, Cut: 2}.Encode())
	w.put(keys.ChainTrim("s0", 1), format.ChainTrim{Trimmed: 2, Rewritten: 2}.Encode())

	// Stream 9 lives: a settled object, two spans, and records not absorbed.
	w.put(keys.Stream(9), format.Stream{Bucket: "b", Name: "n", MaxAge: 1000}.Encode())
	w.due(keys.Due{Queue: keys.Retention, At: 900, Stream: 9}, format.RetentionMark{}.Encode())
	e := w.settledObj(tailAt, chunk{9, 0, 2}, chunk{9, 2, 5})
	e.LiveFrom = 2
	w.catalogRow(9, e)
	w.spanRow(9, s2[0], s3[0])
	w.put(keys.Writer(9), format.Writer{Star: "s1", Epoch: 3, End: 9}.Encode())
	w.acks = []Ack{chunk{9, 0, 2}.ack(), chunk{9, 2, 5}.ack(), spans1.ack(), spans2.ack(), acked.ack()}

	// Stream 10 is deleted, and not yet walked.
	w.put(keys.Stream(10), format.Stream{Bucket: "b", Name: "m", Deleted: true, DeletedAt: 3}.Encode())
	w.due(keys.Due{Queue: keys.Teardown, At: 3, Stream: 10}, format.TeardownMark{DeletedAt: 3}.Encode())
	w.catalogRow(10, w.settledObj(buriedAt, chunk{10, 0, 4}))

	// Objects and uploads that no row names.
	due, _ := w.intent(format.Intent{Store: "a", Birth: 5, Attempt: "p/1"}, freshAt.Key())
	fresh := freshAt.At(inc(w.rows[due].Rev))
	w.settledObj(fresh, spans1)
	w.uploads[Upload{"a", fresh.Key(), "u1"}] = true
	w.intent(format.Intent{Store: "a", Birth: 6, Shared: true, Generation: 1, Created: 52}, sharedAt.Derived().Key())
	w.settledObj(sharedAt, spans2)
	w.intent(format.Intent{Store: "a", Birth: 7, Condemned: true, Generation: 1, Created: 53, Look: format.LookDead}, condemnedAt.Key())
	w.settledObj(condemnedAt, chunk{9, 8, 9})
	w.uploads[Upload{"a", condemnedAt.Key(), "u2"}] = true
	w.settledObj(oldAt, chunk{9, 0, 2})
	w.due(keys.Due{Queue: keys.Reap, At: 30000, Object: oldAt.Key()}, format.ReapMark{}.Encode())
	w.settledObj(heavyAt, chunk{9, 0, 2})
	w.due(keys.Due{Queue: keys.GC, Dead: 77, Object: heavyAt.Key()}, format.ReapMark{Dead: 77}.Encode())
	w.settledObj(parkedAt, chunk{9, 0, 2})
	w.park(w.due(keys.Due{Queue: keys.Reap, At: 30000, Object: parkedAt.Key()}, format.ReapMark{}.Encode()))
	return w
}

// key finds the one row whose key begins with a prefix, and holds a text.
func (w *world) key(prefix, text string) string {
	found := ""
	for k := range w.rows {
		if strings.HasPrefix(k, prefix) && strings.Contains(k, text) {
			if found != "" {
				panic("two rows of " + prefix + " with " + text)
			}
			found = k
		}
	}
	if found == "" {
		panic("no row of " + prefix + " with " + text)
	}
	return found
}

// remake puts a settled object again, with other chunks.
func (w *world) obj(at keys.Settled) core.Obj { return core.Obj{Store: "a", Key: at.Key()} }

func TestSoundWorld(t *testing.T) {
	w := sound()
	for _, b := range w.judge() {
		t.Error(b)
	}
	j := Of(w.snapshot(), &w.d, &w.st, w.checksum)
	for _, a := range w.acks {
		j.Apply(Change{Kind: Acknowledged, Ack: a})
	}
	if bs := j.Check(); bs != nil {
		t.Error(bs)
	}
	for _, law := range []int{0, 1, 2, 3, 5, 6} {
		if j.Report().Evaluated[law] == 0 {
			t.Errorf("law %d was evaluated on nothing", law)
		}
	}
}
