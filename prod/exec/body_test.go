package exec

import (
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"nova/core"
)

func TestCombine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "b")
		whole := append(append([]byte(nil), a...), b...)
		if got, want := combine(checksum(a), checksum(b), int64(len(b))), crc32.Checksum(whole, castagnoli); got != want {
			t.Fatalf("%08x, not %08x", got, want)
		}
	})
}

func random(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return string(b)
}

func piece(o core.Obj, of string, off, n int, also ...core.Obj) core.Piece {
	return core.Piece{Kind: core.Range, From: o, Also: also, Off: int64(off), Len: int64(n), CRC: checksum([]byte(of[off : off+n]))}
}

var (
	objA = core.Obj{Store: "a", Key: "source"}
	objB = core.Obj{Store: "b", Key: "source"}
	out  = core.Obj{Store: "a", Key: "out"}
)

// bodies runs a test with a body that is buffered, and with one that is streamed.
func bodies(t *testing.T, test func(t *testing.T, f *bench, src string)) {
	for _, how := range []struct {
		name   string
		buffer int64
	}{{"buffered", 0}, {"streamed", 1}} {
		t.Run(how.name, func(t *testing.T) {
			f := newBench(t, func(o *Options) { o.Buffer = how.buffer })
			src := random(100_000)
			f.a.objects["source"] = []byte(src)
			test(t, f, src)
		})
	}
}

func TestAssemble(t *testing.T) {
	bodies(t, func(t *testing.T, f *bench, src string) {
		f.blobs[7] = []byte("0123456789")
		body := []core.Piece{
			piece(objA, src, 10, 20_000), piece(objA, src, 20_010, 30_000), {Kind: core.Literal, Bytes: "footer"},
			{Kind: core.Blob, Blob: 7, Off: 2, Len: 5, CRC: checksum([]byte("23456"))},
			{Kind: core.Blob, Blob: 7, Off: 0, Len: 0}, piece(objA, src, 99_999, 1),
		}
		body[0].NoCRC, body[0].CRC = true, 0
		f.do(t, core.Create(out, body, soon()), core.OK)
		if want := src[10:50_010] + "footer" + "23456" + src[99_999:]; string(f.a.objects["out"]) != want {
			t.Error("the object is not its pieces")
		}
		if f.a.opened("source") != 2 { // touching pieces are one read
			t.Errorf("%d reads", f.a.opened("source"))
		}
		f.do(t, core.Create(core.Obj{Store: "a", Key: "sum"}, body[1:], soon()), core.OK)
		if n := len(f.a.sums); n == 0 {
			t.Error("no checksum was announced")
		}
	})
}

func TestDamagedPiece(t *testing.T) {
	bodies(t, func(t *testing.T, f *bench, src string) {
		for name, p := range map[string]core.Piece{
			"off":   {Kind: core.Range, From: objA, Off: 100_000, Len: 1, NoCRC: true},
			"first": {Kind: core.Range, From: objA, Off: 5, Len: 100, CRC: 1},
			"short": {Kind: core.Range, From: objA, Off: 99_000, Len: 2000, CRC: 1},
		} {
			f.do(t, core.Create(out, []core.Piece{piece(objA, src, 0, 500), p, {Kind: core.Literal, Bytes: "end"}}, soon()), core.Damaged)
			f.do(t, core.Create(out, []core.Piece{piece(objA, src, 0, 500), p}, soon()), core.Damaged)
			if _, ok := f.a.objects["out"]; ok {
				t.Fatal(name, "piece: something was published")
			}
		}
	})
}

func TestReplicaHealsDamage(t *testing.T) {
	bodies(t, func(t *testing.T, f *bench, src string) {
		f.b.objects["source"] = []byte(src)
		damaged := []byte(src)
		damaged[50] ^= 1
		f.a.objects["source"] = damaged
		body := []core.Piece{piece(objA, src, 0, 10, objB), piece(objA, src, 40, 60, objB), piece(objA, src, 200, 99_000, objB)}
		f.do(t, core.Create(out, body, soon()), core.OK)
		if string(f.a.objects["out"]) != src[:10]+src[40:100]+src[200:99_200] {
			t.Error("the object is not its pieces")
		}
	})
}

func TestAbsentSource(t *testing.T) {
	bodies(t, func(t *testing.T, f *bench, src string) {
		gone := core.Obj{Store: "a", Key: "gone"}
		r := f.do(t, core.Create(out, []core.Piece{piece(objA, src, 0, 10), piece(gone, src, 0, 10, core.Obj{Store: "b", Key: "gone"})}, soon()), core.Refused)
		if r.Val != SourceAbsent {
			t.Errorf("%q", r.Val)
		}
		// One place that did not answer, and it is not known.
		f.b.before = func(core.Op) (core.Outcome, error) { return core.Unknown, errors.New("down") }
		if r := f.do(t, core.UploadPart(out, "u", 1, []core.Piece{piece(gone, src, 0, 10, core.Obj{Store: "b", Key: "gone"})}, soon()), core.Refused); r.Val != SourceUnavailable {
			t.Errorf("%q", r.Val)
		}
		f.b.before = func(core.Op) (core.Outcome, error) { return core.Refused, errors.New("denied") }
		if r := f.do(t, core.UploadPart(out, "u", 1, []core.Piece{piece(gone, src, 0, 10, core.Obj{Store: "b", Key: "gone"})}, soon()), core.Refused); r.Val != SourceUnavailable {
			t.Errorf("%q", r.Val)
		}
		f.b.before = nil
		// The first is absent, the replica has it.
		f.b.objects["gone"] = []byte(src)
		f.do(t, core.Create(out, []core.Piece{piece(gone, src, 0, 10, core.Obj{Store: "b", Key: "gone"})}, soon()), core.OK)
	})
}

// Where the server copies no parts, they go through the process.
func TestCopyWithoutTheServer(t *testing.T) {
	bodies(t, func(t *testing.T, f *bench, src string) {
		p := piece(objA, src, 5, 60_000)
		f.do(t, core.CopyPart(out, "u", 1, p, soon()), core.OK)
		if _, ok := f.a.objects["out"]; ok || f.a.opened("source") > 0 {
			t.Fatal("the driver read what the server could copy")
		}
		f.a.copyless = true
		if r := f.do(t, core.CopyPart(out, "u", 1, p, soon()), core.OK); r.Val != "tag" || string(f.a.objects["out"]) != src[5:60_005] {
			t.Errorf("%+v", r)
		}
		p.From.Key = "gone"
		if r := f.do(t, core.CopyPart(out, "u", 1, p, soon()), core.Refused); r.Val != SourceAbsent {
			t.Errorf("%+v", r)
		}
	})
}

func TestDroppedBlob(t *testing.T) {
	bodies(t, func(t *testing.T, f *bench, _ string) {
		r := f.do(t, core.Create(out, []core.Piece{{Kind: core.Blob, Blob: 1, Len: 3}}, soon()), core.Refused)
		if r.Val != "" {
			t.Errorf("%q", r.Val)
		}
	})
}

// breaking ends a read after some bytes.
type breaking struct {
	r    io.Reader
	left int
}

func (b *breaking) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func TestReadsGoOnWhereTheyBroke(t *testing.T) {
	bodies(t, func(t *testing.T, f *bench, src string) {
		f.a.reader = func(_ string, r io.Reader) io.Reader { return &breaking{r, 9000} }
		f.do(t, core.Create(out, []core.Piece{piece(objA, src, 1, 50_000), piece(objA, src, 50_001, 40_000)}, soon()), core.OK)
		if string(f.a.objects["out"]) != src[1:90_001] {
			t.Error("the object is not its pieces")
		}
		f.a.reader = func(_ string, r io.Reader) io.Reader { return &breaking{r, 0} }
		f.do(t, core.Create(core.Obj{Store: "a", Key: "x"}, []core.Piece{piece(objA, src, 0, 50_000)}, soon()), core.Refused)
	})
}

func TestFetch(t *testing.T) {
	f := newBench(t, nil)
	src := random(5000)
	f.a.objects["source"] = []byte(src)
	f.do(t, core.Fetch(objA, 10, 100, checksum([]byte(src[10:110])), 3), core.OK)
	if string(f.sinks.by[3]) != src[10:110] {
		t.Error("other bytes")
	}
	f.do(t, core.Fetch(objA, 10, 100, 1, 4), core.Damaged)
	f.do(t, core.Fetch(objA, 4990, 100, 1, 4), core.Damaged)
	f.do(t, core.Fetch(objA, 5000, 100, 1, 4), core.OutOfRange)
	f.do(t, core.Fetch(core.Obj{Store: "a", Key: "gone"}, 10, 100, 1, 4), core.Absent)
	f.a.before = func(core.Op) (core.Outcome, error) { return core.Unknown, errors.New("down") }
	f.do(t, core.Fetch(objA, 10, 100, 1, 4), core.Unknown)
	if _, ok := f.sinks.by[4]; ok {
		t.Error("a sink got what it should not have")
	}
}

func TestCacheSavesReads(t *testing.T) {
	f := newBench(t, func(o *Options) { o.Cache = NewCache(400_000) })
	src := random(100_000)
	f.a.objects["source"] = []byte(src)
	var body []core.Piece
	for i := 0; i < 90_000; i += 1000 {
		body = append(body, piece(objA, src, i, 100))
	}
	for _, k := range []string{"o1", "o2", "o3"} {
		f.do(t, core.Create(core.Obj{Store: "a", Key: k}, body, soon()), core.OK)
	}
	if n := f.a.opened("source"); n != 1 {
		t.Errorf("%d reads", n)
	}
	// What does not fit is read directly, and remembered for it.
	f.a.objects["large"] = []byte(random(100_001))
	large := string(f.a.objects["large"])
	for range 3 {
		f.do(t, core.UploadPart(core.Obj{Store: "b", Key: random(8)}, "u", 1, []core.Piece{piece(core.Obj{Store: "a", Key: "large"}, large, 5, 10)}, soon()), core.OK)
	}
	if n := f.a.opened("large"); n != 4 {
		t.Errorf("%d reads of what does not fit", n)
	}
	// Bytes of the cache that are wrong are read anew.
	b, _ := f.o.Cache.has(objA)
	b[7] ^= 1
	f.do(t, core.Create(core.Obj{Store: "a", Key: "o4"}, body, soon()), core.OK)
	if string(f.a.objects["o4"]) != string(f.a.objects["o1"]) {
		t.Error("damage was published")
	}
}

func TestCacheBoundsAndSharing(t *testing.T) {
	f := newBench(t, func(o *Options) { o.Cache = NewCache(100_000) })
	var bodies [][]core.Piece
	for i := range 20 {
		k := string(rune('A' + i))
		f.a.objects[k] = []byte(random(20_000))
		bodies = append(bodies, []core.Piece{piece(core.Obj{Store: "a", Key: k}, string(f.a.objects[k]), 1, 10)})
	}
	f.do(t, core.Stage(core.Obj{Store: "a", Key: "A"}, 20_000), core.OK)
	m := newFan(200, func(i int) core.Op {
		return core.UploadPart(core.Obj{Store: "b", Key: random(8)}, "u", 1, bodies[i%20], soon())
	})
	if err := f.Run(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	for i, r := range m.replies {
		if r.Outcome != core.OK {
			t.Fatalf("part %d: %s", i, r.Outcome)
		}
	}
	if used := f.o.Cache.Used(); used > 100_000 || used == 0 {
		t.Errorf("%d bytes are held", used)
	}
	// Many ask at once: one read.
	g := newBench(t, func(o *Options) { o.Cache = NewCache(1 << 20) })
	g.a.objects["A"] = f.a.objects["A"]
	g.a.before = func(op core.Op) (core.Outcome, error) {
		if op.Kind == core.KFetch {
			time.Sleep(5 * time.Millisecond)
		}
		return core.OK, nil
	}
	if err := g.Run(t.Context(), newFan(30, func(i int) core.Op {
		return core.UploadPart(core.Obj{Store: "b", Key: random(8)}, "u", 1, bodies[0], soon())
	})); err != nil {
		t.Fatal(err)
	}
	if n := g.a.opened("A"); n != 1 {
		t.Errorf("%d reads", n)
	}
}

// slowDown is how a store asks for fewer requests.
type slowDown struct{}

func (slowDown) Error() string   { return "slow down" }
func (slowDown) Throttled() bool { return true }

// C31: above 100 requests a second the store answers 503; the driver settles near
// that, and few requests are wasted.
func TestBudgetSettlesNearWhatTheStoreTakes(t *testing.T) {
	synctest.Test(t, budgetSettles) // in its own time: how loaded the machine is does not matter
}

func budgetSettles(t *testing.T) {
	f := newBench(t, func(o *Options) {
		o.Requests, o.Backoff = NewBudget(0, 1000), 10*time.Millisecond
	})
	start := time.Now()
	var served, refused atomic.Int64
	f.a.before = func(core.Op) (core.Outcome, error) {
		if float64(served.Load()) > 20+100*time.Since(start).Seconds() {
			refused.Add(1)
			return core.Unknown, slowDown{}
		}
		served.Add(1)
		return core.OK, nil
	}
	m := newFan(400, func(int) core.Op { return core.Stat(core.Obj{Store: "a", Key: "k"}) })
	if err := f.Run(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	for i, r := range m.replies {
		if r.Outcome != core.Absent {
			t.Fatalf("stat %d: %s", i, r.Outcome)
		}
	}
	t.Logf("%d served, %d refused in %s, rate %.0f/s", served.Load(), refused.Load(), took, f.o.Requests.Rate())
	if took > 12*time.Second || refused.Load() > 300 {
		t.Errorf("%d refused, %s", refused.Load(), took)
	}
}

func TestByteBudget(t *testing.T) {
	f := newBench(t, func(o *Options) { o.Bytes = NewBudget(1_000_000, 10_000) })
	src := random(100_000)
	f.a.objects["source"] = []byte(src)
	start := time.Now()
	f.do(t, core.Create(out, []core.Piece{piece(objA, src, 0, 100_000)}, soon()), core.OK)
	if took := time.Since(start); took < 80*time.Millisecond {
		t.Errorf("took %s", took)
	}
}

func TestStringsOfOptions(t *testing.T) {
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "metastore") {
		t.Error(err)
	}
	o := Options{Meta: &fakeMeta{}, Stores: map[core.Store]ObjectStore{"a": newFakeStore()}, Dials: core.Spec()}
	o.Dials.Confirm = o.Dials.Admission
	if _, err := New(o); err == nil {
		t.Error("dials that break a contract were taken")
	}
}
