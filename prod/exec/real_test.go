package exec_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"nova/core"
	"nova/prod/embedded"
	"nova/prod/etcdmeta"
	"nova/prod/exec"
	"nova/prod/s3store"
)

// sinks keeps what it is given.
type sinks struct {
	mu sync.Mutex
	by map[int]string
}

func (s *sinks) Put(sink int, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by[sink] = string(b)
	return nil
}

type blobs map[uint64][]byte

func (b blobs) Blob(h uint64) ([]byte, bool) { v, ok := b[h]; return v, ok }

// real is a driver over the embedded servers, with buckets "one" and "two".
type real struct {
	*exec.Driver
	t     *testing.T
	sinks *sinks
	blobs blobs
}

func newReal(t *testing.T) *real {
	t.Helper()
	dir, err := os.MkdirTemp("", "exec")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	stack, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Buckets: []string{"one", "two"}, NoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	log := slog.New(slog.DiscardHandler)
	meta, err := etcdmeta.Open(etcdmeta.Config{Client: stack.Client(), Prefix: "/nova/", SessionTTL: 2000, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = meta.Close(context.Background()) })
	end, err := s3store.Connect(s3store.Config{URL: stack.S3.URL, Region: stack.S3.Region, AccessKey: stack.S3.AccessKey, SecretKey: stack.S3.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end.Close)
	r := &real{t: t, sinks: &sinks{by: map[int]string{}}, blobs: blobs{}}
	o := exec.Options{Dials: core.Spec(), Meta: meta, Stores: map[core.Store]exec.ObjectStore{}, Sinks: r.sinks, Blobs: r.blobs,
		Cache: exec.NewCache(64 << 20), Buffer: 1 << 20, Backoff: time.Millisecond, Log: log}
	for _, b := range []string{"one", "two"} {
		if o.Stores[core.Store(b)], err = end.Store(core.Store(b), s3store.Bucket{Name: b}); err != nil {
			t.Fatal(err)
		}
	}
	if r.Driver, err = exec.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func (r *real) do(op core.Op, want core.Outcome) core.Reply {
	r.t.Helper()
	reply := r.Do(r.t.Context(), op)
	if reply.Outcome != want {
		r.t.Fatalf("%s: %s %q, not %s", op, reply.Outcome, reply.Val, want)
	}
	return reply
}

func sum(b string) uint32 { return crc32.Checksum([]byte(b), crc32.MakeTable(crc32.Castagnoli)) }

func soon() core.Ms { return core.Ms(time.Now().Add(time.Minute).UnixMilli()) }

const mib = 1 << 20

// The life of bytes: from a client's blob into two replicas of a slot, from there
// into a settled object by all ways that a part can be made, and out again.
func TestLifeOfBytes(t *testing.T) {
	r := newReal(t)
	rnd := rand.New(rand.NewPCG(1, 1))
	blob := make([]byte, 14*mib)
	for i := range blob {
		blob[i] = byte(rnd.Uint32())
	}
	r.blobs[1] = blob
	all := string(blob)
	range_ := func(o core.Obj, off, n int, also ...core.Obj) core.Piece {
		return core.Piece{Kind: core.Range, From: o, Also: also, Off: int64(off), Len: int64(n), CRC: sum(all[off : off+n])}
	}
	one, two := core.Obj{Store: "one", Key: "chain/s/1/0"}, core.Obj{Store: "two", Key: "chain/s/1/0"}
	for _, o := range []core.Obj{one, two} {
		r.do(core.Create(o, []core.Piece{{Kind: core.Blob, Blob: 1, Len: 6 * mib, CRC: sum(all[:6*mib])},
			{Kind: core.Blob, Blob: 1, Off: 6 * mib, Len: 8 * mib, CRC: sum(all[6*mib:])}}, soon()), core.OK)
		r.do(core.Create(o, core.Bytes("fence"), soon()), core.Exists)
	}

	out := core.Obj{Store: "two", Key: "data/b/1/2/3@4"}
	up := r.do(core.CreateUpload(out, soon()), core.OK).Val
	part := func(num int, op core.Op, want core.Outcome) string {
		t.Helper()
		op.Num = int32(num)
		return r.do(op, want).Val
	}
	var small []core.Piece // through the cache, one read
	for i := range 100 {
		small = append(small, range_(one, 1000+i*60_000, 55_000, two))
	}
	damaged := range_(one, 10, 5*mib, two)
	damaged.CRC++
	tags := []string{
		part(1, core.UploadPart(out, up, 1, small, soon()), core.OK),
		part(2, core.CopyPart(out, up, 2, range_(one, mib, 5*mib), soon()), core.OK),
		part(3, core.UploadPart(out, up, 3, []core.Piece{range_(one, 0, 3*mib, two), range_(one, 3*mib, 3*mib, two)}, soon()), core.OK),
	}
	// On an upload of its own: where a part was cut off, the server may still be
	// at it while the upload is completed, and list the upload again.
	cut := core.Obj{Store: "two", Key: "data/cut"}
	other := r.do(core.CreateUpload(cut, soon()), core.OK).Val
	part(1, core.UploadPart(cut, other, 1, []core.Piece{damaged}, soon()), core.Damaged)
	tags = append(tags, part(4, core.UploadPart(out, up, 4, core.Bytes("footer"), soon()), core.OK))
	r.do(core.Complete(out, up, tags, soon()), core.OK)

	want := ""
	for i := range 100 {
		want += all[1000+i*60_000:][:55_000]
	}
	want += all[mib:6*mib] + all[:6*mib] + "footer"
	if got := r.do(core.Stat(out), core.OK).Size; got != int64(len(want)) {
		t.Fatalf("%d bytes, not %d", got, len(want))
	}
	r.do(core.Fetch(out, 0, int64(len(want)), sum(want), 5), core.OK)
	if r.sinks.by[5] != want {
		t.Error("the object is not its parts")
	}
	r.do(core.Fetch(out, 0, 100, 1, 6), core.Damaged)
	if got := r.do(core.ReadTail(out, 6), core.OK).Val; got != "footer" {
		t.Errorf("tail %q", got)
	}

	// A body that turns out wrong in its middle is no object.
	bad := core.Obj{Store: "one", Key: "data/bad"}
	r.do(core.Create(bad, []core.Piece{range_(one, 0, 4*mib), damaged, range_(one, 0, 4*mib)}, soon()), core.Damaged)
	r.do(core.Stat(bad), core.Absent)

	// One replica goes: the other has it. Both are gone: that is definite.
	r.do(core.Delete(one), core.OK)
	healed := core.Obj{Store: "one", Key: "data/healed"}
	r.do(core.Create(healed, []core.Piece{range_(one, 2*mib, 9*mib, two)}, soon()), core.OK)
	r.do(core.Delete(two), core.OK)
	r.do(core.Delete(two), core.OK)
	for _, body := range [][]core.Piece{{range_(one, 2*mib, 9*mib, two)}, {range_(one, 2*mib, mib/2, two)}} {
		if v := r.do(core.Create(bad, body, soon()), core.Refused).Val; v != exec.SourceAbsent && body[0].Len > mib { // the small one may be in the cache
			t.Errorf("%q", v)
		}
	}
	up = r.do(core.CreateUpload(out, soon()), core.OK).Val
	if v := r.do(core.CopyPart(out, up, 1, range_(one, 0, 5*mib), soon()), core.Refused).Val; v != exec.SourceAbsent {
		t.Errorf("%q", v)
	}
	if ups := r.do(core.ListUploads(out), core.OK).Items; len(ups) != 1 || ups[0].Upload != up {
		t.Errorf("%v", ups)
	}
	r.do(core.Abort(out, up), core.OK)
	r.do(core.Abort(out, up), core.OK)
}

// uploader begins an upload and sends a large part of it, for ever.
type uploader struct {
	step     int
	up, part core.Call
	id       string
	until    core.Ms
	body     []core.Piece
}

func (m *uploader) Step(t core.Turn) bool {
	for {
		switch m.step {
		case 0:
			r, ok := m.up.Await(t, core.CreateUpload(core.Obj{Store: "one", Key: "cut"}, m.until))
			if !ok {
				return false
			}
			m.id, m.step = r.Val, 1
		case 1:
			if _, ok := m.part.Await(t, core.UploadPart(core.Obj{Store: "one", Key: "cut"}, m.id, 1, m.body, m.until)); !ok {
				return false
			}
		}
	}
}

// C23: a machine that is dropped in the middle of an upload leaves the upload to
// its watcher, and Run returns at once.
func TestShutdownInTheMiddleOfAnUpload(t *testing.T) {
	r := newReal(t)
	r.blobs[1] = make([]byte, 64*mib)
	ctx, cancel := context.WithCancel(t.Context())
	m := &uploader{until: soon(), body: []core.Piece{{Kind: core.Blob, Blob: 1, Len: 64 * mib, CRC: sum(string(r.blobs[1]))}}}
	var once sync.Once
	go func() {
		for ctx.Err() == nil {
			if ups := r.Do(t.Context(), core.ListUploads(core.Obj{Store: "one", Key: "cut"})).Items; len(ups) > 0 {
				time.Sleep(30 * time.Millisecond)
				once.Do(cancel)
			}
		}
	}()
	if err := r.Run(ctx, m); err == nil {
		t.Fatal("it ended")
	}
	if ups := r.do(core.ListUploads(core.Obj{Store: "one", Key: "cut"}), core.OK).Items; len(ups) != 1 {
		t.Error(ups)
	}
}

// Many reads and deletes at once go through.
func TestAbreast(t *testing.T) {
	r := newReal(t)
	for i := range 40 {
		r.do(core.Txn(core.Put(fmt.Sprint("k", i), "v")), core.OK)
		r.do(core.Create(core.Obj{Store: "one", Key: fmt.Sprint("k", i)}, core.Bytes("x"), soon()), core.OK)
	}
	var wg sync.WaitGroup
	for i := range 400 {
		wg.Go(func() {
			key := fmt.Sprint("k", i%80)
			want := core.OK
			if i%80 >= 40 {
				want = core.Absent
			}
			if got := r.Do(t.Context(), core.Get(key)).Outcome; got != want {
				t.Errorf("get %s: %s", key, got)
			}
			if got := r.Do(t.Context(), core.Delete(core.Obj{Store: "one", Key: key})).Outcome; got != core.OK {
				t.Errorf("delete %s: %s", key, got)
			}
		})
	}
	wg.Wait()
	if left := r.do(core.List("one", "k", "", 100), core.OK).Items; len(left) != 0 {
		t.Error(left)
	}
}
