package world

import (
	"testing"

	"nova/core"

	"pgregory.net/rapid"
)

func TestForgedBytesHaveTheirChecksum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(4, 5000).Draw(t, "n")
		crc := rapid.Uint32().Draw(t, "crc")
		b := Forge(n, crc)
		if b.Size() != n || b.CRC(0, n) != crc {
			t.Fatalf("%d bytes of checksum %08x, not %d of %08x", b.Size(), b.CRC(0, n), n, crc)
		}
		again := Forge(n, crc)
		if !b.Equal(&again) {
			t.Fatal("another time other bytes")
		}
		at := rapid.Int64Range(0, n).Draw(t, "at") // in two halves they are the same
		two := Join(b.Slice(0, at), b.Slice(at, n-at))
		if !two.Equal(&b) || two.CRC(0, n) != crc || two.Read(0, n) != b.Read(0, n) {
			t.Fatalf("cut at %d it is something else", at)
		}
		if other := Forge(n, crc+1); b.Equal(&other) || b.Read(0, n) == other.Read(0, n) {
			t.Fatal("another checksum, the same bytes")
		}
	})
}

// What is filled in is there as if it had been written, and nothing of it is a change.
func TestFill(t *testing.T) {
	w := New(Limits{PartMin: 1, PartMax: 100, PartCount: 10}, Dialect{}, "s")
	w.Meta.Grant("session", 10)
	w.PutRow(core.Row{Mark: core.Mark{Key: "b", Rev: 7}, Val: "1"}, "")
	w.PutRow(core.Row{Mark: core.Mark{Key: "a", Rev: 5}, Val: "2"}, "session")
	w.Raise(9)
	w.PutObject("s", "o", Forge(10, 3), 1)
	w.PutUpload("s", "u", "id", []Part{{Num: 1, Tag: "tag", Body: Forge(10, 4)}})
	if len(w.Changes) != 0 {
		t.Errorf("changes: %v", w.Changes)
	}
	at := When{Now: 2, Admitted: 2}
	get := core.Get("b")
	if r := w.Apply(&get, at); r.Rev != 7 || r.Val != "1" {
		t.Errorf("%+v", r)
	}
	txn := core.Txn(core.If(core.Mark{Key: "a", Rev: 5}), core.Put("c", ""))
	if r := w.Apply(&txn, at); r.Outcome != core.OK || r.Rev != 10 {
		t.Errorf("%+v", r)
	}
	w.Revoke("session")
	if _, ok := w.Meta.Lookup("a"); ok {
		t.Error("a leased row stands, and its session has ended")
	}
	complete := core.Complete(core.Obj{Store: "s", Key: "u"}, "id", []string{"tag"}, 5)
	if r := w.Apply(&complete, at); r.Outcome != core.OK {
		t.Errorf("%+v", r)
	}
	if u := w.Bucket("s").Lookup("u"); u == nil || u.Body.CRC(0, 10) != 4 {
		t.Errorf("%+v", u)
	}
}

// About what is in the dark no store says anything definite.
func TestDark(t *testing.T) {
	w := New(Limits{PartMin: 1, PartMax: 100, PartCount: 10}, Dialect{}, "s")
	w.PutObject("s", "lit", Literal("0123456789"), 1)
	w.Dark = func(o core.Obj) bool { return o.Key != "gone" }
	w.Blob = func(p *core.Piece) Body { return Forge(p.Len, p.CRC) }
	at := When{Now: 2, Admitted: 2}
	obj := func(k string) core.Obj { return core.Obj{Store: "s", Key: k} }
	from := func(k string) core.Piece { return core.Piece{Kind: core.Range, From: obj(k), Len: 5, NoCRC: true} }
	id := func() string {
		op := core.CreateUpload(obj("up"), 9)
		return w.Apply(&op, at).Val
	}()
	for _, c := range []struct {
		op   core.Op
		want core.Outcome
		val  string
	}{
		{core.Stat(obj("lit")), core.OK, ""},
		{core.Stat(obj("dark")), core.Unknown, ""},
		{core.Stat(obj("gone")), core.Absent, ""},
		{core.ReadTail(obj("dark"), 5), core.Unknown, ""},
		{core.ReadRange(obj("dark"), 0, 5), core.Unknown, ""},
		{core.Fetch(obj("dark"), 0, 5, 0, 0), core.Unknown, ""},
		{core.Create(obj("x"), []core.Piece{from("dark")}, 9), core.Refused, SourceUnavailable},
		{core.Create(obj("x"), []core.Piece{from("gone")}, 9), core.Refused, SourceAbsent},
		{core.CopyPart(obj("up"), id, 1, from("dark"), 9), core.Refused, SourceUnavailable},
		{core.CopyPart(obj("up"), id, 1, from("gone"), 9), core.Refused, SourceAbsent},
		{core.Create(obj("x"), []core.Piece{{Kind: core.Blob, Len: 8, CRC: 77}}, 9), core.OK, ""},
		{core.Delete(obj("dark")), core.OK, ""},
	} {
		if r := w.Apply(&c.op, at); r.Outcome != c.want || c.val != "" && r.Val != c.val {
			t.Errorf("%s: %+v, want %s %s", c.op, r, c.want, c.val)
		}
	}
}
