package exec

import (
	"sync/atomic"
	"testing"

	"nova/core"
	"nova/core/format"
)

// slotAt puts a slot of one chunk into a store.
func slotAt(f *fakeStore, key string, bytes string) (body string, w format.Window) {
	tail, w := format.Finish(format.SlotObject, int64(len(bytes)), []format.Chunk{
		{Stream: 1, Count: 1, CRC: format.CRC([]byte(bytes)), Len: int64(len(bytes))},
	})
	f.objects[key] = []byte(bytes + tail)
	return bytes, w
}

// A footer is read once, until a source of it turns out not to be there.
func TestFootersAreReadOnce(t *testing.T) {
	f := newBench(t, func(o *Options) { o.Cache = NewCache(400_000) })
	src, w := slotAt(f.a, "source", random(1000))
	var reads atomic.Int64
	f.a.before = func(op core.Op) (core.Outcome, error) {
		if op.Kind == core.KReadRange {
			reads.Add(1)
		}
		return core.OK, nil
	}
	look := func(want core.Outcome, n int64) {
		t.Helper()
		reads.Store(0)
		for range 3 {
			f.do(t, core.ReadRange(objA, w.Off, w.Len), want)
		}
		if got := reads.Load(); got != n {
			t.Errorf("%d reads, not %d", got, n)
		}
	}
	look(core.OK, 1)
	look(core.OK, 0)
	f.do(t, core.ReadRange(objA, w.Off-1, w.Len), core.OK) // elsewhere: not what is held
	if reads.Load() != 1 {
		t.Error("another range was answered with the footer")
	}
	look(core.OK, 0) // that was no footer, and is not held

	delete(f.a.objects, "source")
	if r := f.do(t, core.CopyPart(out, "u", 1, piece(objA, src, 0, 1000), soon()), core.Refused); r.Val != SourceAbsent {
		t.Fatalf("%+v", r)
	}
	look(core.Absent, 3) // the machine learns that it is gone

	slotAt(f.a, "source", src)
	look(core.OK, 1)
	delete(f.a.objects, "source")
	if r := f.do(t, core.Create(out, []core.Piece{piece(objA, src, 0, 1000)}, soon()), core.Refused); r.Val != SourceAbsent {
		t.Fatalf("%+v", r)
	}
	look(core.Absent, 3)

	slotAt(f.a, "source", src)
	look(core.OK, 1)
	f.do(t, core.Delete(objA), core.OK)
	look(core.Absent, 3)
}

// What is held is bounded, and what is damaged is not held.
func TestFootersAreBoundedAndSound(t *testing.T) {
	f := newBench(t, func(o *Options) { o.Cache = NewCache(16 * 300) })
	var w format.Window
	for _, k := range []string{"A", "B", "C", "D", "E", "F", "G"} {
		_, w = slotAt(f.a, k, random(1000))
		f.do(t, core.ReadRange(core.Obj{Store: "a", Key: k}, w.Off, w.Len), core.OK)
	}
	c := &f.o.Cache.footers
	if c.used != 4*w.Len || len(c.all) != 4 || c.old.Len() != 4 {
		t.Errorf("%d bytes of %d footers are held, in a list of %d", c.used, len(c.all), c.old.Len())
	}
	f.a.objects["A"][w.Off+9] ^= 1
	f.do(t, core.ReadRange(core.Obj{Store: "a", Key: "A"}, w.Off, w.Len), core.OK)
	if c.all[core.Obj{Store: "a", Key: "A"}] != nil {
		t.Error("a damaged footer is held")
	}
}
