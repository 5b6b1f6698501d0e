//go:build unix

package bench

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"nova/core"
	"nova/core/duty"
	"nova/core/format"
	"nova/core/keys"
	"nova/prod/embedded"
	"nova/prod/etcdmeta"
	"nova/prod/exec"
	"nova/prod/s3store"
)

const (
	kib    = 1 << 10
	mib    = 1 << 20
	bucket = "nova-standard"
	store  = core.Store(bucket)
	star   = "star"
	epoch  = 1
)

// shape is what a chain's batch holds: so many slots, each with the same chunks
// of every stream, one stream's after the other's.
type shape struct {
	slots, streams int
	chunks         int // of a stream in a slot
	size           int // of a chunk
}

// window is how many bytes of a stream the batch holds: an output's data.
func (s shape) window() int64 { return int64(s.slots * s.chunks * s.size) }

func (s shape) bytes() int64 { return int64(s.streams) * s.window() }

func (s shape) String() string {
	return fmt.Sprintf("%d slots of %.1f MiB, %d streams, chunks of %d KiB", s.slots, float64(s.bytes())/float64(s.slots)/mib, s.streams, s.size/kib)
}

// rig is an auditor's driver over the embedded servers, with the daemon's dials
// and the daemon's cache, and one chain whose batch is due.
type rig struct {
	shape
	stack *embedded.Stack
	plain *s3.Client
	meta  *etcdmeta.Store
	opts  exec.Options
	env   core.Env
	rows  []core.Write // of the batch, as an absorb leaves them
}

func newRig(b *testing.B, s shape) *rig {
	b.Helper()
	stack, err := embedded.Start(b.Context(), embedded.Config{Dir: b.TempDir(), Buckets: []string{bucket}, NoFsync: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := stack.Close(); err != nil {
			b.Error(err)
		}
	})
	log := slog.New(slog.DiscardHandler)
	r := &rig{shape: s, stack: stack}
	r.env = core.Env{Dials: core.Spec(), Process: "auditor-1", Generation: 1}
	r.env.Stores.Of = [core.Classes][]core.Store{{store}, {store}}
	r.meta, err = etcdmeta.Open(etcdmeta.Config{Client: stack.Client(), Prefix: "nova/", SessionTTL: r.env.Dials.SessionTTL, Log: log})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.meta.Close(context.Background()) })
	end, err := s3store.Connect(s3store.Config{URL: stack.S3.URL, Region: stack.S3.Region, AccessKey: stack.S3.AccessKey, SecretKey: stack.S3.SecretKey})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(end.Close)
	objects, err := end.Store(store, s3store.Bucket{Name: bucket})
	if err != nil {
		b.Fatal(err)
	}
	r.plain = plainClient(b, stack.S3)
	r.opts = exec.Options{Dials: r.env.Dials, Meta: r.meta, Stores: map[core.Store]exec.ObjectStore{store: objects}, Log: log}
	r.write(b)
	return r
}

// write writes the slots, and keeps the rows that name them.
func (r *rig) write(b *testing.B) {
	b.Helper()
	now := core.Ms(time.Now().UnixMilli())
	rnd := rand.NewChaCha8([32]byte{1})
	mark := format.BatchMark{Birth: now - r.env.Dials.AgeCap[core.Standard], Ready: now}
	spans := make([][]format.Span, r.streams)
	next := make([]uint64, r.streams)
	for slot := range uint64(r.slots) {
		body := make([]byte, 0, r.bytes()/int64(r.slots)+mib)
		var chunks []format.Chunk
		for id := range r.streams {
			for range r.chunks {
				off := len(body)
				body = body[:off+r.size]
				_, _ = rnd.Read(body[off:])
				chunks = append(chunks, format.Chunk{Stream: uint64(id + 1), First: next[id], Count: 100, CRC: format.CRC(body[off:]),
					Off: int64(off), Len: int64(r.size), Oldest: now, Newest: now})
				next[id] += 100
			}
		}
		tail, w := format.Finish(format.SlotObject, int64(len(body)), chunks)
		for i := range chunks {
			id := chunks[i].Stream - 1
			spans[id] = append(spans[id], format.Span{Slot: slot, Footer: w, Chunk: chunks[i]})
		}
		mark.Slots = append(mark.Slots, format.Inventory{Slot: slot, Footer: w})
		put(b, r.plain, keys.Slot(star, epoch, slot), append(body, tail...))
	}
	r.rows = append(r.rows,
		core.Put(keys.ChainConst(star, epoch), format.ChainConst{Stores: []core.Store{store}, Pipeline: 4, Born: now}.Encode()),
		core.Put(keys.ChainHead(star, epoch), format.ChainHead{State: format.ChainOpen, Checkpoint: uint64(r.slots)}.Encode()),
		core.Put(keys.ChainTrim(star, epoch), format.ChainTrim{}.Encode()))
	shard := keys.ShardOfChain(star, epoch, r.env.Dials.Shards)
	r.rows = append(r.rows,
		core.Put(keys.DueDenorm(shard, star, epoch, 0), mark.Encode()),
		core.Put(keys.SchedDenorm(shard, mark.Ready, star, epoch, 0), ""))
	for i, ss := range spans {
		id := uint64(i + 1)
		r.rows = append(r.rows,
			core.Put(keys.Stream(id), format.Stream{Bucket: "b", Name: fmt.Sprint("n", id), Born: now}.Encode()),
			core.Put(keys.Writer(id), format.Writer{Star: star, Epoch: epoch, End: next[i]}.Encode()))
		for len(ss) > 0 {
			n := min(len(ss), r.env.Dials.SpansPerRow)
			row := format.Row{Kind: format.SpanRow, First: ss[0].Chunk.First, End: ss[n-1].Chunk.End(), Star: star, Epoch: epoch,
				Stores: []core.Store{store}, Spans: ss[:n]}
			r.rows = append(r.rows, core.Put(keys.Ref(id, row.End-1), row.Encode()))
			ss = ss[n:]
		}
	}
}

// absorbed puts the metastore back to where the batch was just absorbed.
func (r *rig) absorbed(b *testing.B) {
	b.Helper()
	from, end := keys.RefsRange()
	r.txn(b, core.DelRange(from, end))
	for rows := r.rows; len(rows) > 0; {
		n := min(len(rows), 16)
		r.txn(b, rows[:n]...)
		rows = rows[n:]
	}
}

func (r *rig) txn(b *testing.B, ws ...core.Write) {
	b.Helper()
	if reply, err := r.meta.Txn(b.Context(), ws); reply.Outcome != core.OK {
		b.Fatalf("%s: %v", reply.Outcome, err)
	}
}

// stepper makes a function a root machine.
type stepper func(core.Turn) bool

// Step calls the function.
func (s stepper) Step(t core.Turn) bool { return s(t) }

// settle runs the denorm drain once, in a fresh process, and returns what it noted.
func (r *rig) settle(b *testing.B) *[core.NoteKinds]int64 {
	b.Helper()
	var notes [core.NoteKinds]int64
	o := r.opts
	o.Cache = exec.NewCache(256 * mib)
	o.Requests = exec.NewBudget(0, 64)
	o.OnNote = func(n core.Note) { notes[n.Kind] += n.N }
	var drain duty.Drain[duty.Era]
	err := exec.Run(b.Context(), stepper(func(t core.Turn) bool {
		return drain.Pass(t, &r.env, keys.Denorm, (*duty.Era).Step)
	}), o)
	if err != nil {
		b.Fatal(err)
	}
	if notes[core.NoteSettleBytes] != r.bytes() {
		b.Fatalf("the era has moved %d of %d bytes: %v", notes[core.NoteSettleBytes], r.bytes(), notes)
	}
	return &notes
}

// clean deletes every object but the slots.
func (r *rig) clean(b *testing.B) {
	b.Helper()
	for _, prefix := range []string{"data/", "plain/"} {
		deleteAll(b, r.plain, prefix)
	}
}

// settled checks that the stream's rows lead to what was written.
func (r *rig) settled(b *testing.B, id uint64) {
	b.Helper()
	from, end := keys.RefRange(id, 0)
	reply, err := r.meta.Scan(b.Context(), from, end, 100)
	if reply.Outcome != core.OK || len(reply.Rows) == 0 {
		b.Fatalf("%s, %d rows: %v", reply.Outcome, len(reply.Rows), err)
	}
	var got, want bytes.Buffer
	for i := range reply.Rows {
		row, err := format.DecodeRow(reply.Rows[i].Val)
		if err != nil || row.Kind != format.CatalogRow {
			b.Fatalf("row %s is not of the catalog: %v", reply.Rows[i].Key, err)
		}
		for k := range row.Entries {
			e := &row.Entries[k]
			key := keys.Settled{Bucket: "b", Stream: id, Epoch: e.Epoch, First: e.First, Revision: e.Revision,
				Inc: keys.Incarnation{Generation: e.Generation, Created: e.Created}, HasInc: true}.Key()
			got.Write(get(b, r.plain, key, 0, e.Footer.Off))
		}
	}
	run := int64(r.chunks * r.size)
	for slot := range uint64(r.slots) {
		want.Write(get(b, r.plain, keys.Slot(star, epoch, slot), int64(id-1)*run, run))
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		b.Fatalf("stream %d: %d bytes settled, %d written, and they differ", id, got.Len(), want.Len())
	}
}
