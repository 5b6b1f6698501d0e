package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"nova/core"
)

func repeat(n int, w func(key string) core.Write) []core.Write {
	ws := make([]core.Write, n)
	for i := range ws {
		ws[i] = w(fmt.Sprintf("k%04d", i))
	}
	return ws
}

func TestCheckTxn(t *testing.T) {
	put := func(k string) core.Write { return core.Put(k, "") }
	at := func(k string, rev int64) core.Mark { return core.Mark{Key: k, Rev: rev} }
	for _, c := range []struct {
		name string
		ws   []core.Write
		says string // "": allowed
	}{
		{"a compare and a put of one key", []core.Write{core.If(at("k", 3)), core.Put("k", "v")}, ""},
		{"compare and delete", []core.Write{core.If(at("k", 3)), core.Del("k")}, ""},
		{"as many compares and writes as fit", append(repeat(core.TxnOps, core.Missing), repeat(core.TxnOps, put)...), ""},
		{"a put at the end of a deleted range", []core.Write{core.DelRange("a", "b"), core.Put("b", "v")}, ""},
		{"a put before a deleted range", []core.Write{core.DelRange("b", "c"), core.Put("a", "v")}, ""},
		{"two ranges that touch", []core.Write{core.DelRange("a", "b"), core.DelRange("b", "c")}, ""},
		{"a compare inside a deleted range", []core.Write{core.If(at("ab", 1)), core.DelRange("a", "b")}, ""},
		{"a key and its extension", []core.Write{core.Put("a", ""), core.Put("a\x01", "")}, ""},
		{"as many bytes as fit", []core.Write{core.Put("k", strings.Repeat("v", core.TxnBytes-1))}, ""},

		{"nothing", nil, "writes nothing"},
		{"compares only", []core.Write{core.Missing("k")}, "writes nothing"},
		{"a write without a key", []core.Write{core.Put("", "v")}, "names no key"},
		{"too many compares", append(repeat(core.TxnOps+1, core.Missing), put("z")), "129 compares and 1 writes, at most 128"},
		{"too many writes", repeat(core.TxnOps+1, put), "0 compares and 129 writes, at most 128"},
		{"too many bytes", []core.Write{core.Put("k", strings.Repeat("v", core.TxnBytes))}, "bytes, at most"},
		{"too many bytes of keys", []core.Write{core.Del(strings.Repeat("k", core.TxnBytes+1))}, "bytes, at most"},
		{"one key put twice", []core.Write{core.Put("k", "1"), core.Put("k", "2")}, "put(k) and put(k) touch one key"},
		{"one key put and deleted", []core.Write{core.Put("k", "1"), core.Del("k")}, "put(k) and del(k) touch one key"},
		{"one key put twice, once leased", []core.Write{core.PutLeased("k", "1"), core.Put("k", "1")}, "touch one key"},
		{"one key deleted twice", []core.Write{core.Del("k"), core.Del("k")}, "touch one key"},
		{"a put inside its own deleted range", []core.Write{core.DelRange("a", "c"), core.Put("b", "v")}, "del-range(a, c) and put(b) touch one key"},
		{"the same, in the other order", []core.Write{core.Put("b", "v"), core.DelRange("a", "c")}, "touch one key"},
		{"a put at the start of its deleted range", []core.Write{core.DelRange("a", "c"), core.Put("a", "v")}, "touch one key"},
		{"a delete inside a deleted range", []core.Write{core.DelRange("a", "c"), core.Del("b")}, "touch one key"},
		{"two ranges that overlap", []core.Write{core.DelRange("a", "c"), core.DelRange("b", "d")}, "touch one key"},
		{"one key compared twice", []core.Write{core.If(at("k", 1)), core.If(at("k", 1)), core.Put("k", "")}, "touch one key"},
		{"one key compared with two revisions", []core.Write{core.If(at("k", 1)), core.Missing("k"), core.Put("k", "")}, "touch one key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := core.CheckTxn(c.ws)
			switch {
			case c.says == "" && err != nil:
				t.Fatalf("refused: %v", err)
			case c.says == "":
			case err == nil:
				t.Fatal("allowed")
			case !errors.Is(err, core.ErrTxn) || !strings.Contains(err.Error(), c.says):
				t.Fatalf("refused with %q, want ErrTxn saying %q", err, c.says)
			}
		})
	}
}
