package world_test

import (
	"hash/crc32"
	"strings"
	"testing"

	"nova/core"
	"nova/sim/world"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func blob(id uint64, off, n int64) core.Piece {
	return core.Piece{Kind: core.Blob, Blob: id, Off: off, Len: n, CRC: world.BlobCRC(id, off, n)}
}

func ranged(from core.Obj, off, n int64, crc uint32) core.Piece {
	return core.Piece{Kind: core.Range, From: from, Off: off, Len: n, CRC: crc}
}

var objK = core.Obj{Store: "a", Key: "k"}

const forever = core.Ms(1) << 40

func put(t *testing.T, w *world.World, o core.Obj, body ...core.Piece) {
	t.Helper()
	op := core.Create(o, body, forever)
	if r := w.Apply(&op, now(0)); r.Outcome != core.OK {
		t.Fatalf("create %v: %v %s", o, r.Outcome, r.Val)
	}
}

func TestReads(t *testing.T) {
	w := newWorld(world.Dialect{})
	put(t, w, objK, blob(7, 0, 1000), core.Bytes("footer")[0])
	put(t, w, core.Obj{Store: "a", Key: "empty"})
	whole := w.Bucket("a").Lookup("k").Tail(1 << 20)
	if len(whole) != 1006 || crc32.Checksum([]byte(whole[:1000]), crc32.MakeTable(crc32.Castagnoli)) != world.BlobCRC(7, 0, 1000) {
		t.Fatalf("the bytes of a blob (%d with the footer) are not what its checksum says", len(whole))
	}
	empty := core.Obj{Store: "a", Key: "empty"}
	none := core.Obj{Store: "b", Key: "k"}
	for _, c := range []struct {
		op   core.Op
		want core.Reply
	}{
		{core.Stat(objK), core.Reply{Size: 1006}},
		{core.Stat(none), core.Reply{Outcome: core.Absent}},
		{core.ReadRange(objK, 1000, 6), core.Reply{Val: "footer", Size: 1006}},
		{core.ReadRange(objK, 998, 100), core.Reply{Val: whole[998:], Size: 1006}},
		{core.ReadRange(objK, 500, 2), core.Reply{Val: whole[500:502], Size: 1006}},
		{core.ReadRange(objK, 1006, 1), core.Reply{Outcome: core.OutOfRange, Size: 1006}},
		{core.ReadRange(none, 0, 1), core.Reply{Outcome: core.Absent}},
		{core.ReadTail(objK, 3), core.Reply{Val: "ter", Size: 1006}},
		{core.ReadTail(objK, 2000), core.Reply{Val: whole, Size: 1006}},
		{core.ReadTail(empty, 10), core.Reply{Outcome: core.OutOfRange}},
		{core.ReadTail(none, 10), core.Reply{Outcome: core.Absent}},
		{core.Fetch(objK, 10, 20, world.BlobCRC(7, 10, 20), 0), core.Reply{Size: 20}},
		{core.Fetch(objK, 10, 20, 1, 0), core.Reply{Outcome: core.Damaged}},
		{core.Fetch(objK, 1000, 7, 1, 0), core.Reply{Outcome: core.Damaged}},
		{core.Fetch(none, 0, 1, 1, 0), core.Reply{Outcome: core.Absent}},
		{core.List("a", "", "", 1), core.Reply{Items: []core.Item{{Key: "empty"}}, More: true}},
		{core.List("a", "", "empty", 1), core.Reply{Items: []core.Item{{Key: "k", Size: 1006}}}},
		{core.List("a", "k", "", 5), core.Reply{Items: []core.Item{{Key: "k", Size: 1006}}}},
		{core.List("a", "k", "k", 5), core.Reply{}},
		{core.Delete(objK), core.Reply{}},
		{core.Delete(objK), core.Reply{}},
		{core.Stat(objK), core.Reply{Outcome: core.Absent}},
	} {
		if diff := cmp.Diff(c.want, w.Apply(&c.op, now(0))); diff != "" {
			t.Errorf("%s: %s", c.op, diff)
		}
	}
}

func TestCreateOnce(t *testing.T) {
	w := newWorld(world.Dialect{})
	src := core.Obj{Store: "a", Key: "src"}
	put(t, w, src, blob(7, 0, 100), blob(8, 0, 100))
	mid := world.BlobRange(7, 90, 10)
	mid8 := world.BlobRange(8, 0, 10)
	crc := crcOf(mid.Read(0, 10) + mid8.Read(0, 10))
	gone := core.Obj{Store: "b", Key: "gone"}
	also := ranged(gone, 90, 20, crc)
	also.Also = []core.Obj{src}
	at := func(admitted, t core.Ms) world.When { return world.When{Now: t, Admitted: admitted} }
	for _, c := range []struct {
		name string
		body []core.Piece
		when world.When
		want core.Reply
	}{
		{"too late", core.Bytes("x"), at(101, 101), core.Reply{Outcome: core.Refused, Val: "request has expired"}},
		{"a wrong blob checksum", []core.Piece{{Kind: core.Blob, Blob: 1, Len: 10, CRC: 1}}, at(0, 0), core.Reply{Outcome: core.Damaged, Val: "checksum of a piece"}},
		{"a wrong range checksum", []core.Piece{ranged(src, 0, 10, 1)}, at(0, 0), core.Reply{Outcome: core.Damaged, Val: "checksum of a piece"}},
		{"a range that is too short", []core.Piece{ranged(src, 190, 20, crc)}, at(0, 0), core.Reply{Outcome: core.Damaged, Val: "source shorter than its range"}},
		{"no source", []core.Piece{ranged(gone, 90, 20, crc)}, at(0, 0), core.Reply{Outcome: core.Refused, Val: world.SourceAbsent}},
		{"admitted in time, landed late", []core.Piece{also, core.Bytes("end")[0]}, at(100, 150), core.Reply{}},
		{"a key that is taken", core.Bytes("x"), at(0, 0), core.Reply{Outcome: core.Exists}},
	} {
		op := core.Create(objK, c.body, 100)
		if diff := cmp.Diff(c.want, w.Apply(&op, c.when)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	o := w.Bucket("a").Lookup("k")
	if got := o.Body.Read(0, o.Size()); crcOf(got[:20]) != crc || got[20:] != "end" || o.Born != 150 {
		t.Errorf("object %q born %d", got, o.Born)
	}
}

func crcOf(s string) uint32 {
	return crc32.Checksum([]byte(s), crc32.MakeTable(crc32.Castagnoli))
}

// script runs operations that share upload ids and part tags by name.
type script struct {
	t   *testing.T
	w   *world.World
	ids map[string]string
}

func (s *script) begin(o core.Obj, name string) {
	op := core.CreateUpload(o, forever)
	s.ids[name] = s.w.Apply(&op, now(0)).Val
}

func (s *script) part(o core.Obj, name string, num int, when world.When, want core.Outcome, body ...core.Piece) string {
	s.t.Helper()
	op := core.UploadPart(o, s.ids[name], num, body, forever)
	r := s.w.Apply(&op, when)
	if r.Outcome != want {
		s.t.Errorf("part %d of %s: %v %s, want %v", num, name, r.Outcome, r.Val, want)
	}
	return r.Val
}

func (s *script) complete(o core.Obj, name string, want core.Outcome, tags ...string) {
	s.t.Helper()
	op := core.Complete(o, s.ids[name], tags, forever)
	if r := s.w.Apply(&op, now(50)); r.Outcome != want {
		s.t.Errorf("complete %s with %d parts: %v %s, want %v", name, len(tags), r.Outcome, r.Val, want)
	}
}

func (s *script) uploads(o core.Obj, want ...string) {
	s.t.Helper()
	op := core.ListUploads(o)
	var got []string
	for _, it := range s.w.Apply(&op, now(0)).Items {
		for name, id := range s.ids {
			if id == it.Upload {
				got = append(got, name)
			}
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		s.t.Errorf("uploads of %s: %v, want %v", o.Key, got, want)
	}
}

func (s *script) abort(o core.Obj, name string, when world.When) {
	op := core.Abort(o, s.ids[name])
	if r := s.w.Apply(&op, when); r.Outcome != core.OK {
		s.t.Errorf("abort: %v", r.Outcome)
	}
}

func TestMultipart(t *testing.T) {
	s := &script{t, newWorld(world.Dialect{RepeatComplete: core.Absent}), map[string]string{}}
	w := s.w
	s.begin(objK, "u")
	s.begin(objK, "v")
	s.begin(core.Obj{Store: "a", Key: "k/2"}, "other")
	p1 := s.part(objK, "u", 1, now(1), core.OK, blob(1, 0, 100))
	p2 := s.part(objK, "u", 2, now(1), core.OK, blob(2, 0, 50))
	p3 := s.part(objK, "u", 3, now(1), core.OK, core.Bytes("tail")[0])
	s.part(objK, "u", 0, now(1), core.Refused, blob(1, 0, 100))
	s.part(objK, "u", 6, now(1), core.Refused, blob(1, 0, 100))
	s.part(objK, "u", 4, now(1), core.Refused, blob(1, 0, 1001))
	s.ids["none"] = "u9999"
	s.part(objK, "none", 1, now(1), core.Absent, blob(1, 0, 100))
	if w.Bucket("a").Lookup("k") != nil || w.Bucket("a").Len() != 0 {
		t.Error("parts are visible before the complete")
	}
	s.complete(objK, "u", core.Refused, p1, p2, p3) // part 2 is too small
	s.complete(objK, "u", core.Refused, p1, "wrong")
	s.complete(objK, "u", core.Refused, p2)
	s.complete(objK, "u", core.Refused)
	s.uploads(objK, "u", "v")
	p2 = s.part(objK, "u", 2, now(1), core.OK, blob(2, 0, 120)) // replaced
	s.complete(objK, "u", core.OK, p1, p2, p3)
	s.uploads(objK, "v")
	o := w.Bucket("a").Lookup("k")
	if o.Size() != 224 || o.Tail(4) != "tail" {
		t.Errorf("object of %d bytes", o.Size())
	}
	s.complete(objK, "u", core.Absent, p1, p2, p3)
	v1 := s.part(objK, "v", 1, now(1), core.OK, blob(1, 0, 10))
	s.complete(objK, "v", core.Exists, v1)
	s.uploads(objK, "v") // the loser's upload stands
	s.abort(objK, "v", now(60))
	s.abort(objK, "v", now(60))
	s.uploads(objK)
	s.part(objK, "v", 2, world.When{Now: 61, Admitted: 59}, core.Absent, blob(1, 0, 10)) // no late parts here
	s.uploads(core.Obj{Store: "a", Key: "k/2"}, "other")
	if w.Contract != nil {
		t.Error(w.Contract)
	}
}

func TestCompleteTwice(t *testing.T) {
	for _, again := range []core.Outcome{core.OK, core.Exists, core.Absent} {
		s := &script{t, newWorld(world.Dialect{RepeatComplete: again}), map[string]string{}}
		s.begin(objK, "u")
		s.begin(objK, "v")
		p := s.part(objK, "u", 1, now(1), core.OK, blob(1, 0, 10))
		s.complete(objK, "u", core.OK, p)
		s.complete(objK, "u", again, p)
		s.abort(objK, "v", now(2))
		other := again // the object is another upload's: that is no success of v
		if other == core.OK {
			other = core.Absent
		}
		s.complete(objK, "v", other, p)
		del := core.Delete(objK)
		s.w.Apply(&del, now(3))
		s.complete(objK, "u", core.Absent, p)
	}
}

func TestLateParts(t *testing.T) {
	s := &script{t, newWorld(world.Dialect{LateParts: true, RepeatComplete: core.OK}), map[string]string{}}
	s.begin(objK, "u")
	s.abort(objK, "u", now(10))
	s.part(objK, "u", 1, world.When{Now: 20, Admitted: 11}, core.Absent, blob(1, 0, 10))
	p := s.part(objK, "u", 1, world.When{Now: 20, Admitted: 9}, core.OK, blob(1, 0, 10))
	s.uploads(objK, "u")
	s.complete(objK, "u", core.Absent, p) // bytes, but no upload any more
	s.part(objK, "u", 2, world.When{Now: 21, Admitted: 21}, core.Absent, blob(1, 0, 10))
	s.abort(objK, "u", now(30))
	s.uploads(objK)
}

func TestCopyPart(t *testing.T) {
	w := newWorld(world.Dialect{})
	src := core.Obj{Store: "b", Key: "src"}
	put(t, w, src, blob(7, 0, 300))
	s := &script{t, w, map[string]string{}}
	s.begin(objK, "u")
	copyPart := func(from core.Obj, off, n int64, upload string) core.Reply {
		op := core.CopyPart(objK, upload, 1, ranged(from, off, n, 0), forever)
		return w.Apply(&op, now(0))
	}
	id := s.ids["u"]
	for _, c := range []struct {
		from core.Obj
		off  int64
		n    int64
		id   string
		want core.Outcome
		why  string
	}{
		{src, 100, 150, id, core.OK, "00000000-150"},
		{src, 100, 150, "u9999", core.Absent, ""},
		{src, 200, 101, id, core.Refused, "copy range 200+101 of 300 bytes"},
		{core.Obj{Store: "b", Key: "no"}, 0, 1, id, core.Refused, world.SourceAbsent},
	} {
		r := copyPart(c.from, c.off, c.n, c.id)
		if r.Outcome != c.want || c.want == core.Refused && r.Val != c.why {
			t.Errorf("copy %v %d+%d to %s: %v %q", c.from, c.off, c.n, c.id, r.Outcome, r.Val)
		}
	}
	tag := copyPart(src, 100, 150, id).Val
	s.complete(objK, "u", core.OK, tag)
	want := world.BlobRange(7, 100, 150)
	if got := w.Bucket("a").Lookup("k").Body; !got.Equal(&want) {
		t.Error("a copied part has other bytes")
	}
	w.Bucket("b").Down = true
	s.begin(core.Obj{Store: "a", Key: "k2"}, "d")
	if r := copyPart(src, 0, 1, s.ids["d"]); r.Outcome != core.Refused || r.Val != world.SourceUnavailable {
		t.Errorf("copy from a store that is down: %v %q", r.Outcome, r.Val)
	}
}

func TestStoreDown(t *testing.T) {
	w := newWorld(world.Dialect{})
	put(t, w, objK, core.Bytes("x")...)
	w.Bucket("a").Down = true
	for _, op := range []core.Op{core.Stat(objK), core.Delete(objK), core.Create(core.Obj{Store: "a", Key: "n"}, nil, forever), core.List("a", "", "", 1)} {
		if r := w.Apply(&op, now(0)); r.Outcome != core.Unknown {
			t.Errorf("%s: %v", op, r.Outcome)
		}
	}
	w.Bucket("a").Down = false
	if w.Bucket("a").Len() != 1 {
		t.Error("a store that is down changed")
	}
}

func TestCloneIsIndependent(t *testing.T) {
	w := newWorld(world.Dialect{LateParts: true})
	put(t, w, objK, blob(1, 0, 10))
	s := &script{t, w, map[string]string{}}
	s.begin(objK, "u")
	row := core.Txn(core.Put("r", "1"))
	w.Apply(&row, now(0))
	w.Meta.Grant("s", 10)
	c := w.Clone()
	del, other := core.Delete(objK), core.Txn(core.Put("r", "2"), core.Put("q", ""))
	w.Apply(&del, now(1))
	w.Apply(&other, now(1))
	s.part(objK, "u", 1, now(1), core.OK, blob(1, 0, 10))
	s.abort(objK, "u", now(2))
	w.Revoke("s")
	if rows(&c.Meta) != "r=1@1" || c.Bucket("a").Len() != 1 || len(c.Bucket("a").Uploads()) != 1 || len(c.Bucket("a").Uploads()[0].Parts) != 0 || !c.Meta.Alive("s") {
		t.Errorf("the clone changed with its original: %s", rows(&c.Meta))
	}
}

// Bodies against plain strings: any concatenation, sliced anywhere.
func TestBodiesAgainstStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(world.Dialect{})
		var pieces []core.Piece
		var want string
		for range rapid.IntRange(1, 5).Draw(t, "pieces") {
			if rapid.Bool().Draw(t, "literal") {
				s := rapid.StringN(0, 5, 9).Draw(t, "bytes")
				pieces = append(pieces, core.Piece{Kind: core.Literal, Bytes: s})
				want += s
				continue
			}
			id, off, n := rapid.Uint64Range(1, 2).Draw(t, "blob"), rapid.Int64Range(0, 20).Draw(t, "off"), rapid.Int64Range(1, 700).Draw(t, "len")
			pieces = append(pieces, blob(id, off, n))
			b := world.BlobRange(id, off, n)
			want += b.Read(0, n)
		}
		op := core.Create(objK, pieces, forever)
		if r := w.Apply(&op, now(0)); r.Outcome != core.OK {
			t.Fatal(r)
		}
		body := w.Bucket("a").Lookup("k").Body
		if body.Size() != int64(len(want)) || body.Read(0, body.Size()) != want {
			t.Fatalf("body %q, want %q", body.Read(0, body.Size()), want)
		}
		off := rapid.Int64Range(0, body.Size()).Draw(t, "slice off")
		n := rapid.Int64Range(0, body.Size()-off).Draw(t, "slice len")
		cut := body.Slice(off, n)
		lit := world.Literal(want[off : off+n])
		if cut.Read(0, n) != want[off:off+n] || body.CRC(off, n) != crcOf(want[off:off+n]) || !cut.Equal(&lit) {
			t.Fatalf("slice %d+%d differs", off, n)
		}
	})
}

func BenchmarkApply(b *testing.B) {
	w := newWorld(world.Dialect{})
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = "due/denorm/0001/star~" + strings.Repeat("0", 10) + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		op := core.Txn(core.Put(keys[i], "v"))
		w.Apply(&op, now(0))
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		k := keys[i%len(keys)]
		i++
		r, _ := w.Meta.Lookup(k)
		del := core.Txn(core.If(r.Mark), core.Del(k))
		w.Apply(&del, now(0))
		ins := core.Txn(core.Missing(k), core.Put(k, "v"))
		w.Apply(&ins, now(0))
		w.Changes = w.Changes[:0]
	}
}
