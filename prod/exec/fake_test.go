package exec

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sort"
	"sync"
	"testing"
	"time"

	"nova/core"
)

// fakeMeta is a metastore in memory.
type fakeMeta struct {
	mu     sync.Mutex
	rows   map[string]core.Row
	rev    int64
	gets   [][]string // the keys of each transaction of gets
	before func(what string) core.Outcome
}

func (f *fakeMeta) fault(what string) core.Outcome {
	if f.before == nil {
		return core.OK
	}
	return f.before(what)
}

func (f *fakeMeta) Get(_ context.Context, keys []string) ([]core.Reply, error) {
	f.mu.Lock()
	f.gets = append(f.gets, slices.Clone(keys))
	f.mu.Unlock()
	replies := make([]core.Reply, len(keys))
	if o := f.fault("get"); o != core.OK {
		for i := range replies {
			replies[i].Outcome = o
		}
		return replies, errors.New("fault")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, k := range keys {
		r, ok := f.rows[k]
		if !ok {
			replies[i].Outcome = core.Absent
			continue
		}
		replies[i] = core.Reply{Val: r.Val, Rev: r.Rev}
	}
	return replies, nil
}

func (f *fakeMeta) Scan(_ context.Context, from, end string, limit int) (core.Reply, error) {
	if o := f.fault("scan"); o != core.OK {
		return core.Reply{Outcome: o}, errors.New("fault")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var reply core.Reply
	for _, k := range slices.Sorted(maps.Keys(f.rows)) {
		if k >= from && k < end {
			reply.Rows = append(reply.Rows, f.rows[k])
		}
	}
	if len(reply.Rows) > limit {
		reply.Rows, reply.More = reply.Rows[:limit], true
	}
	return reply, nil
}

func (f *fakeMeta) Txn(_ context.Context, ws []core.Write) (core.Reply, error) {
	if o := f.fault("txn"); o != core.OK {
		return core.Reply{Outcome: o}, errors.New("fault")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rev++
	for _, w := range ws {
		if w.Verb == core.VPut {
			f.rows[w.At.Key] = core.Row{Mark: core.Mark{Key: w.At.Key, Rev: f.rev}, Val: w.Val}
		}
	}
	return core.Reply{Rev: f.rev}, nil
}

// fakeStore is an object store in memory.
type fakeStore struct {
	mu       sync.Mutex
	objects  map[string][]byte
	opens    map[string]int
	deletes  [][]string
	sums     []uint32 // announced with creates
	copyless bool
	// Faults: before an operation on a key; what to do to a read's bytes.
	before func(op core.Op) (core.Outcome, error)
	reader func(key string, r io.Reader) io.Reader
}

func newFakeStore() *fakeStore {
	return &fakeStore{objects: map[string][]byte{}, opens: map[string]int{}}
}

func (f *fakeStore) fault(op core.Op) (core.Outcome, error) {
	if f.before == nil {
		return core.OK, nil
	}
	return f.before(op)
}

func (f *fakeStore) Do(ctx context.Context, op core.Op, body *Body) (core.Reply, error) {
	if o, err := f.fault(op); o != core.OK {
		return core.Reply{Outcome: o}, err
	}
	switch op.Kind {
	case core.KCreate, core.KUploadPart:
		r := body.Open()
		defer r.Close()
		b, err := io.ReadAll(io.LimitReader(r, body.N))
		if err != nil || int64(len(b)) < body.N {
			return core.Reply{Outcome: core.Unknown}, errors.New("body broke off")
		}
		if ctx.Err() != nil {
			return core.Reply{Outcome: core.Unknown}, ctx.Err()
		}
		if body.HasCRC && checksum(b) != body.CRC {
			return core.Reply{Outcome: core.Damaged}, errors.New("bad digest")
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if body.HasCRC {
			f.sums = append(f.sums, body.CRC)
		}
		if _, ok := f.objects[op.Key]; ok {
			return core.Reply{Outcome: core.Exists}, nil
		}
		f.objects[op.Key] = b
		return core.Reply{Val: "tag"}, nil
	case core.KStat:
		f.mu.Lock()
		defer f.mu.Unlock()
		if b, ok := f.objects[op.Key]; ok {
			return core.Reply{Size: int64(len(b))}, nil
		}
		return core.Reply{Outcome: core.Absent}, nil
	case core.KReadRange:
		f.mu.Lock()
		defer f.mu.Unlock()
		b, ok := f.objects[op.Key]
		if !ok {
			return core.Reply{Outcome: core.Absent}, nil
		}
		return core.Reply{Val: string(b[op.Off:min(op.Off+op.Len, int64(len(b)))])}, nil
	case core.KCopyPart:
		f.mu.Lock()
		defer f.mu.Unlock()
		if _, ok := f.objects[op.Body[0].From.Key]; !ok {
			return core.Reply{Outcome: core.Refused, Val: SourceAbsent}, nil
		}
		return core.Reply{Val: "tag"}, nil
	}
	return core.Reply{}, nil
}

func (f *fakeStore) Delete(_ context.Context, keys []string) ([]core.Reply, error) {
	f.mu.Lock()
	f.deletes = append(f.deletes, slices.Clone(keys))
	f.mu.Unlock()
	replies := make([]core.Reply, len(keys))
	var last error
	for i, k := range keys {
		o, err := f.fault(core.Delete(core.Obj{Key: k}))
		if replies[i].Outcome = o; o != core.OK {
			last = err
			continue
		}
		f.mu.Lock()
		delete(f.objects, k)
		f.mu.Unlock()
	}
	return replies, last
}

func (f *fakeStore) Open(_ context.Context, key string, off, n int64) (io.ReadCloser, core.Reply, error) {
	f.mu.Lock()
	f.opens[key]++
	f.mu.Unlock()
	if o, err := f.fault(core.Op{Kind: core.KFetch, Key: key}); o != core.OK {
		return nil, core.Reply{Outcome: o}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.objects[key]
	if !ok {
		return nil, core.Reply{Outcome: core.Absent}, nil
	}
	if off > 0 && off >= int64(len(b)) {
		return nil, core.Reply{Outcome: core.OutOfRange}, nil
	}
	end := int64(len(b))
	if n >= 0 {
		end = min(end, off+n)
	}
	var r io.Reader = bytes.NewReader(b[off:end])
	if f.reader != nil {
		r = f.reader(key, r)
	}
	return io.NopCloser(r), core.Reply{Size: int64(len(b))}, nil
}

func (f *fakeStore) Copies(from core.Store) bool { return from == "a" && !f.copyless }

func (f *fakeStore) opened(key string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opens[key]
}

// fakeSinks keeps what it is given.
type fakeSinks struct {
	mu sync.Mutex
	by map[int][]byte
}

func (f *fakeSinks) Put(sink int, b []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.by[sink] = b
	return nil
}

type fakeBlobs map[uint64][]byte

func (f fakeBlobs) Blob(h uint64) ([]byte, bool) { b, ok := f[h]; return b, ok }

// bench is a driver over fakes: stores "a" and "b".
type bench struct {
	*Driver
	meta  *fakeMeta
	a, b  *fakeStore
	sinks *fakeSinks
	blobs fakeBlobs
}

func newBench(t *testing.T, change func(*Options)) *bench {
	t.Helper()
	f := &bench{meta: &fakeMeta{rows: map[string]core.Row{}}, a: newFakeStore(), b: newFakeStore(),
		sinks: &fakeSinks{by: map[int][]byte{}}, blobs: fakeBlobs{}}
	o := Options{Dials: core.Spec(), Meta: f.meta, Stores: map[core.Store]ObjectStore{"a": f.a, "b": f.b},
		Sinks: f.sinks, Blobs: f.blobs, Backoff: time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	f.Driver = d
	t.Cleanup(d.Close)
	return f
}

func (f *bench) do(t *testing.T, op core.Op, want core.Outcome) core.Reply {
	t.Helper()
	r := f.Do(t.Context(), op)
	if r.Outcome != want {
		t.Fatalf("%s: %s, not %s", op, r.Outcome, want)
	}
	return r
}

func soon() core.Ms { return core.Ms(time.Now().Add(time.Minute).UnixMilli()) }

func sortedSizes(batches [][]string) []int {
	var n []int
	for _, b := range batches {
		n = append(n, len(b))
	}
	sort.Ints(n)
	return n
}
