package core_test

import (
	"fmt"
	"strings"
	"testing"

	"nova/core"
)

// complete checks that each of n values of an enum has a name of its own, and
// that a value beyond it prints as the fallback.
func complete(t *testing.T, enum string, n int, fallback string, name func(i int) string) {
	t.Helper()
	seen := map[string]int{}
	for i := range n {
		s := name(i)
		if s == "" || s == fallback {
			t.Errorf("%s %d has no name", enum, i)
		}
		if j, ok := seen[s]; ok {
			t.Errorf("%s %d and %d are both %q", enum, j, i, s)
		}
		seen[s] = i
	}
	if s := name(n); s != fallback {
		t.Errorf("%s %d, which does not exist, is called %q", enum, n, s)
	}
}

func TestNamesAreComplete(t *testing.T) {
	complete(t, "note", int(core.NoteKinds), "note?", func(i int) string { return core.NoteKind(i).String() })
	complete(t, "kind", core.Kinds, "kind?", func(i int) string { return core.Kind(i).String() })
	complete(t, "outcome", core.Outcomes, "outcome?", func(i int) string { return core.Outcome(i).String() })
	complete(t, "verdict", core.Verdicts, "verdict?", func(i int) string { return core.Verdict(i).String() })
	complete(t, "class", core.Classes, "class?", func(i int) string { return core.Class(i).String() })
}

// Some notes carry the words of the specification; one by one, so that an
// insertion into one list and not the other is seen.
func TestNoteNamesMatchTheirConstants(t *testing.T) {
	for k, want := range map[core.NoteKind]string{
		core.NoteNone:            "none",
		core.NoteProbeFailed:     "probe-failed",
		core.NoteSlotsTrimmed:    "slots-trimmed",
		core.NoteEmptyPlan:       "empty-plan",
		core.NoteIntentLeft:      "intent-left",
		core.NoteOrphanReclaimed: "orphan-reclaimed",
		core.NoteChainSettled:    "chain-settled",
		core.NoteSettleDeadStar:  "settle-dead-star",
		core.NoteOpened:          "opened",
		core.NoteDutyParked:      "duty-parked",
		core.NoteTeardownGated:   "teardown-gated",
		core.NoteLost:            "lost",
	} {
		if k.String() != want {
			t.Errorf("note %d is called %q, want %q", k, k, want)
		}
	}
}

func TestOnlyUnknownIsIndefinite(t *testing.T) {
	for o := core.OK; int(o) < core.Outcomes; o++ {
		if o.Definite() != (o != core.Unknown) {
			t.Errorf("%s: definite=%v", o, o.Definite())
		}
		r := core.Reply{Outcome: o, Rev: 3, Val: "v"}
		present, definite := r.Found()
		if present != (o == core.OK) || definite != (o == core.OK || o == core.Absent) {
			t.Errorf("a read that answers %s: present=%v definite=%v", o, present, definite)
		}
		if row := r.Row("k"); row.Key != "k" || (row.Rev == 3) != (o == core.OK) {
			t.Errorf("a get that answers %s is the row %+v", o, row)
		}
	}
}

func ops() []core.Op {
	o := core.Obj{Store: "s", Key: "k"}
	return []core.Op{
		{}, core.Get("k"), core.Scan("a", "b", 3),
		core.Txn(core.If(core.Mark{Key: "k", Rev: 4}), core.Missing("m"), core.Put("p", "v"), core.PutLeased("l", "v"), core.Del("d"), core.DelRange("x", "y")),
		core.Stat(o), core.ReadRange(o, 1, 2), core.ReadTail(o, 2), core.Create(o, core.Bytes("abc"), 9),
		core.CreateUpload(o, 9), core.UploadPart(o, "u", 1, core.Bytes("abcd"), 9),
		core.CopyPart(o, "u", 2, core.Piece{Kind: core.Range, From: o, Len: 5}, 9),
		core.Complete(o, "u", []string{"t1", "t2"}, 9), core.Abort(o, "u"), core.ListUploads(o),
		core.List("s", "p", "a", 7), core.Delete(o), core.Wait(8), core.Take("q"), core.Give("q", "v"),
		core.Fetch(o, 1, 2, 0xabc, 3), core.Stage(o, 6),
	}
}

func TestOperationsByKind(t *testing.T) {
	all := ops()
	if len(all) != core.Kinds {
		t.Fatalf("%d constructors for %d kinds", len(all), core.Kinds)
	}
	meta := "get scan txn"
	store := "stat read-range read-tail create create-upload upload-part copy-part complete abort list-uploads list delete fetch"
	mutates := "txn create create-upload upload-part copy-part complete abort delete"
	in := func(list string, k core.Kind) bool {
		return strings.Contains(" "+list+" ", " "+k.String()+" ")
	}
	for i := range all {
		op := &all[i]
		if int(op.Kind) != i {
			t.Errorf("constructor %d makes a %s", i, op.Kind)
		}
		if op.IsMeta() != in(meta, op.Kind) || op.IsStore() != in(store, op.Kind) || op.Mutates() != in(mutates, op.Kind) {
			t.Errorf("%s: meta=%v store=%v mutates=%v", op.Kind, op.IsMeta(), op.IsStore(), op.Mutates())
		}
		if s := op.String(); !strings.HasPrefix(s, op.Kind.String()) {
			t.Errorf("a %s prints as %q", op.Kind, s)
		}
	}
}

func TestTransactionsPrint(t *testing.T) {
	want := "txn if(k@4) if-missing(m) put(p) put-leased(l) del(d) del-range(x, y)"
	if got := fmt.Sprint(ops()[core.KTxn]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestBodySize(t *testing.T) {
	body := []core.Piece{{Kind: core.Literal, Bytes: "abc", Len: 99}, {Kind: core.Blob, Len: 4}, {Kind: core.Range, Len: 5}}
	if n := core.Size(body); n != 12 {
		t.Fatalf("a body of 3, 4 and 5 bytes has size %d", n)
	}
}
