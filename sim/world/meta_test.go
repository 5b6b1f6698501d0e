package world_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"nova/core"
	"nova/sim/world"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var limits = world.Limits{PartMin: 100, PartMax: 1000, PartCount: 5, Remember: 1000}

func newWorld(d world.Dialect) *world.World { return world.New(limits, d, "a", "b") }

// now lands an operation at once, for the session "s".
func now(t core.Ms) world.When { return world.When{Now: t, Admitted: t, Session: "s"} }

func rows(m *world.Meta) string {
	var s []string
	for i := range m.Len() {
		r := m.Row(i)
		s = append(s, fmt.Sprintf("%s=%s@%d", r.Key, r.Val, r.Rev))
	}
	return strings.Join(s, " ")
}

func TestTransactions(t *testing.T) {
	w := newWorld(world.Dialect{})
	mark := func(k string) core.Mark { r, _ := w.Meta.Lookup(k); return r.Mark }
	for i, c := range []struct {
		txn  func() []core.Write
		want core.Reply
		rows string
	}{
		{func() []core.Write { return []core.Write{core.Put("a", "1"), core.Put("c", "3")} }, core.Reply{Rev: 1}, "a=1@1 c=3@1"},
		{func() []core.Write { return []core.Write{core.Missing("a"), core.Put("b", "2")} }, core.Reply{Outcome: core.Conflict}, "a=1@1 c=3@1"},
		{func() []core.Write { return []core.Write{core.If(mark("a")), core.Missing("b"), core.Put("b", "2")} }, core.Reply{Rev: 2}, "a=1@1 b=2@2 c=3@1"},
		{func() []core.Write { return []core.Write{core.Put("a", "1")} }, core.Reply{Rev: 3}, "a=1@3 b=2@2 c=3@1"},
		{func() []core.Write { return []core.Write{core.If(core.Mark{Key: "a", Rev: 1}), core.Del("a")} }, core.Reply{Outcome: core.Conflict}, "a=1@3 b=2@2 c=3@1"},
		{func() []core.Write { return []core.Write{core.Del("nothing")} }, core.Reply{Rev: 3}, "a=1@3 b=2@2 c=3@1"},
		{func() []core.Write { return []core.Write{core.DelRange("a", "c"), core.Put("c", "4")} }, core.Reply{Rev: 4}, "c=4@4"},
		{func() []core.Write { return []core.Write{core.DelRange("a", "b"), core.Del("c")} }, core.Reply{Rev: 5}, ""},
	} {
		op := core.Txn(c.txn()...)
		if diff := cmp.Diff(c.want, w.Apply(&op, now(0))); diff != "" {
			t.Errorf("transaction %d: %s", i, diff)
		}
		if got := rows(&w.Meta); got != c.rows {
			t.Errorf("after transaction %d: %q, want %q", i, got, c.rows)
		}
	}
	if w.Contract != nil {
		t.Error(w.Contract)
	}
}

func TestTransactionsThatNoHostMaySend(t *testing.T) {
	long := make([]core.Write, core.TxnOps+1)
	for i := range long {
		long[i] = core.Put(fmt.Sprintf("k%04d", i), "")
	}
	for name, op := range map[string]core.Op{
		"a put in its own deleted range": core.Txn(core.DelRange("a", "c"), core.Put("b", "")),
		"one key twice":                  core.Txn(core.Put("b", ""), core.Del("b")),
		"too many writes":                core.Txn(long...),
		"nothing":                        core.Txn(core.Missing("a")),
		"a scan without an end":          core.Scan("a", "", 1),
		"a scan without a limit":         core.Scan("a", "b", 0),
		"a get without a key":            core.Get(""),
		"a store that is none":           core.Stat(core.Obj{Store: "z", Key: "k"}),
		"a create without NotAfter":      core.Create(core.Obj{Store: "a", Key: "k"}, nil, 0),
	} {
		w := newWorld(world.Dialect{})
		w.Apply(&op, now(0))
		if w.Contract == nil || w.Meta.Len() > 0 {
			t.Errorf("%s: contract %v, rows %q", name, w.Contract, rows(&w.Meta))
		}
	}
}

func TestScan(t *testing.T) {
	w := newWorld(world.Dialect{})
	for _, k := range []string{"q/1", "q/2", "q/3", "r"} {
		op := core.Txn(core.Put(k, "v"))
		w.Apply(&op, now(0))
	}
	for _, c := range []struct {
		from, end string
		limit     int
		want      string
		more      bool
	}{
		{"q/", "q0", 10, "q/1 q/2 q/3", false},
		{"q/", "q0", 3, "q/1 q/2 q/3", false},
		{"q/", "q0", 2, "q/1 q/2", true},
		{"q/1\x00", "q/3", 2, "q/2", false},
		{"s", "t", 2, "", false},
		{"q/2", "q/2", 2, "", false},
	} {
		op := core.Scan(c.from, c.end, c.limit)
		r := w.Apply(&op, now(0))
		var got []string
		for _, x := range r.Rows {
			got = append(got, x.Key)
		}
		if strings.Join(got, " ") != c.want || r.More != c.more || r.Outcome != core.OK {
			t.Errorf("scan [%s, %s) %d = %v more=%v, want %q more=%v", c.from, c.end, c.limit, got, r.More, c.want, c.more)
		}
	}
	get := core.Get("q/4")
	if r := w.Apply(&get, now(0)); r.Outcome != core.Absent {
		t.Errorf("get of an absent row: %v", r.Outcome)
	}
}

func TestSessions(t *testing.T) {
	w := newWorld(world.Dialect{})
	put := core.Txn(core.PutLeased("star/1", "x"), core.Put("plain", ""))
	if r := w.Apply(&put, now(0)); r.Outcome != core.Refused || w.Meta.Len() != 0 {
		t.Fatalf("a leased put without a session: %v, %d rows", r.Outcome, w.Meta.Len())
	}
	if !w.Meta.Grant("s", 100) {
		t.Fatal("grant refused")
	}
	if r := w.Apply(&put, now(0)); r.Outcome != core.OK {
		t.Fatal(r.Outcome)
	}
	w.Meta.Renew("s", 200)
	if ended := w.Expire(199); ended != nil {
		t.Fatalf("%v ended early", ended)
	}
	if at, ok := w.Meta.NextExpiry(); !ok || at != 200 {
		t.Errorf("next expiry %d %v, want 200", at, ok)
	}
	w.Changes = nil
	if ended := w.Expire(200); len(ended) != 1 || rows(&w.Meta) != "plain=@1" {
		t.Errorf("ended %v, rows %q", ended, rows(&w.Meta))
	}
	if len(w.Changes) != 1 || w.Changes[0].Kind != world.RowDel || w.Changes[0].Key != "star/1" {
		t.Errorf("changes %v", w.Changes)
	}
	if w.Meta.Renew("s", 300) || w.Meta.Alive("s") {
		t.Error("an ended session came back")
	}
	failing := core.Txn(core.Missing("plain"), core.PutLeased("star/1", "x"))
	if r := w.Apply(&failing, now(0)); r.Outcome != core.Conflict {
		t.Errorf("a failed compare comes before the lease: %v", r.Outcome)
	}
	// A plain put takes the row out of the session's hands.
	w.Meta.Grant("s2", 500)
	at := now(300)
	at.Session = "s2"
	leased, plain := core.Txn(core.PutLeased("l", "")), core.Txn(core.Put("l", "kept"))
	w.Apply(&leased, at)
	w.Apply(&plain, at)
	w.Revoke("s2")
	if _, ok := w.Meta.Lookup("l"); !ok {
		t.Error("a row that was put again without the lease went with the session")
	}
}

func TestNoSpace(t *testing.T) {
	w := newWorld(world.Dialect{})
	w.Meta.Grant("s", 1000)
	seed := core.Txn(core.Put("a", ""), core.Put("b", ""))
	w.Apply(&seed, now(0))
	w.Meta.SetNoSpace(true)
	for _, c := range []struct {
		op   core.Op
		want core.Outcome
	}{
		{core.Txn(core.Put("c", "")), core.NoSpace},
		{core.Txn(core.PutLeased("c", "")), core.NoSpace},
		{core.Txn(core.Missing("a"), core.Put("c", "")), core.NoSpace}, // even where the compare fails
		{core.Txn(core.Missing("a"), core.Del("a")), core.Conflict},
		{core.Txn(core.If(core.Mark{Key: "a", Rev: 1}), core.Del("a")), core.OK},
		{core.Txn(core.DelRange("a", "z")), core.OK},
		{core.Get("a"), core.Absent},
	} {
		if r := w.Apply(&c.op, now(0)); r.Outcome != c.want {
			t.Errorf("%s: %v, want %v", c.op, r.Outcome, c.want)
		}
	}
	if w.Meta.Grant("t", 2000) {
		t.Error("a session was granted for want of space")
	}
	if !w.Meta.Renew("s", 2000) {
		t.Error("a renewal is no put")
	}
}

// The metastore against a map: any sequence of transactions.
func TestMetaAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(world.Dialect{})
		model := map[string]core.Row{}
		key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		for n := range rapid.IntRange(1, 20).Draw(t, "txns") {
			var ws []core.Write
			for range rapid.IntRange(1, 4).Draw(t, "ops") {
				k := key.Draw(t, "key")
				switch rapid.IntRange(0, 4).Draw(t, "verb") {
				case 0:
					ws = append(ws, core.If(core.Mark{Key: k, Rev: model[k].Rev}))
				case 1:
					ws = append(ws, core.Missing(k))
				case 2:
					ws = append(ws, core.Put(k, fmt.Sprint(n)))
				case 3:
					ws = append(ws, core.Del(k))
				case 4:
					ws = append(ws, core.DelRange(k, key.Draw(t, "end")))
				}
			}
			if core.CheckTxn(ws) != nil {
				continue
			}
			op := core.Txn(ws...)
			before := w.Meta.Rev()
			r := w.Apply(&op, now(0))
			ok := true
			for i := range ws {
				ok = ok && (ws[i].Verb != core.VIf || ws[i].At.Rev == model[ws[i].At.Key].Rev)
			}
			if ok != (r.Outcome == core.OK) {
				t.Fatalf("%s: %v, model says %v", op, r.Outcome, ok)
			}
			if !ok {
				continue
			}
			for i := range ws {
				switch x := &ws[i]; x.Verb {
				case core.VPut:
					model[x.At.Key] = core.Row{Mark: core.Mark{Key: x.At.Key, Rev: r.Rev}, Val: x.Val}
				case core.VDel:
					delete(model, x.At.Key)
				case core.VDelRange:
					for k := range model {
						if k >= x.At.Key && k < x.Val {
							delete(model, k)
						}
					}
				}
			}
			if r.Rev < before {
				t.Fatalf("revision went from %d to %d", before, r.Rev)
			}
			var keys []string
			for k := range model {
				keys = append(keys, k)
			}
			sort.Strings(keys)
			var want []string
			for _, k := range keys {
				want = append(want, fmt.Sprintf("%s=%s@%d", k, model[k].Val, model[k].Rev))
			}
			if got := rows(&w.Meta); got != strings.Join(want, " ") {
				t.Fatalf("rows %q, want %q", got, want)
			}
		}
		// What was recorded, replayed, gives the rows again.
		replay := map[string]string{}
		for _, c := range w.Changes {
			if _, stood := replay[c.Key]; c.Kind == world.RowPut && c.New == stood {
				t.Fatalf("%s: new=%v, and it stood before: %v", c, c.New, stood)
			}
			if c.Was != replay[c.Key] {
				t.Fatalf("%s: was %q, replay has %q", c, c.Was, replay[c.Key])
			}
			if c.Kind == world.RowPut {
				replay[c.Key] = c.Val
			} else {
				delete(replay, c.Key)
			}
		}
		if len(replay) != len(model) {
			t.Fatalf("replay of the changes has %d rows, the model %d", len(replay), len(model))
		}
	})
}
