package exec

import (
	"fmt"
	"math"
	"testing"

	"nova/core"
)

// counted is a budget that never holds anything up, and what was taken from it.
func counted() (b *Budget, taken func() int64) {
	const burst = 1 << 30
	b = NewBudget(1e-6, burst)
	last := float64(burst)
	return b, func() int64 {
		now := b.lim.Tokens()
		n := last - now
		last = now
		return int64(math.Round(n))
	}
}

// R13, R14: the rewrite budget is charged for the bytes that pass through the
// process, and so not for what the store copies; the request budget for every
// write to the destination, and for a read of a source only when it goes to the
// store.
func TestWhatBudgetsAreChargedFor(t *testing.T) {
	requests, sent := counted()
	bytes, moved := counted()
	f := newBench(t, func(o *Options) { o.Requests, o.Bytes, o.Cache = requests, bytes, NewCache(400_000) })
	src := random(100_000)
	f.a.objects["source"], f.a.objects["large"] = []byte(src), []byte(random(300_000))
	large := core.Obj{Store: "a", Key: "large"}
	at := func(key string) core.Obj { return core.Obj{Store: "a", Key: key} }
	for _, x := range []struct {
		what            string
		op              core.Op
		requests, bytes int64
	}{
		{"a literal", core.Create(at("o1"), core.Bytes("0123456789"), soon()), 1, 0},
		{"small pieces, whose source comes into the cache", core.Create(at("o2"), []core.Piece{piece(objA, src, 0, 100), piece(objA, src, 5000, 100), piece(objA, src, 9000, 50)}, soon()), 2, 250},
		{"small pieces of a source that is there", core.Create(at("o3"), []core.Piece{piece(objA, src, 7, 100), piece(objA, src, 500, 100)}, soon()), 1, 200},
		{"a source that does not fit into the cache", core.UploadPart(at("o4"), "u", 1, []core.Piece{piece(large, string(f.a.objects["large"]), 0, 1000)}, soon()), 3, 1000},
		{"the same source again: that it does not fit is known", core.UploadPart(at("o4b"), "u", 2, []core.Piece{piece(large, string(f.a.objects["large"]), 5, 1000)}, soon()), 2, 1000},
		{"a part that the store copies", core.CopyPart(at("o5"), "u", 1, piece(large, string(f.a.objects["large"]), 0, 200_000), soon()), 1, 0},
		{"a copy that the store cannot do", core.CopyPart(core.Obj{Store: "b", Key: "o6"}, "u", 1, piece(large, string(f.a.objects["large"]), 0, 200_000), soon()), 2, 200_000},
	} {
		f.a.copyless, f.b.copyless = false, true
		f.do(t, x.op, core.OK)
		if r, b := sent(), moved(); r != x.requests || b != x.bytes {
			t.Errorf("%s: charged %d requests and %d bytes, want %d and %d", x.what, r, b, x.requests, x.bytes)
		}
	}
	// RC7: a batch of deletes goes under one request token.
	m := newFan(1000, func(i int) core.Op { return core.Delete(at(fmt.Sprint("k", i))) })
	if err := f.Run(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if r := sent(); r != 1 || len(f.a.deletes) != 1 {
		t.Errorf("1000 deletes: charged %d requests for %d batches", r, len(f.a.deletes))
	}
}
