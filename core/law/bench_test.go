package law

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// BenchmarkInstant judges a small world from scratch.
func BenchmarkInstant(b *testing.B) {
	w := sound()
	s := w.snapshot()
	b.ReportAllocs()
	for b.Loop() {
		if bs := Instant(s, &w.d, &w.st, w.checksum); len(bs) > 0 {
			b.Fatal(bs)
		}
	}
}

// BenchmarkFollow is one changed row of each kind that changes often, and the
// check after it.
func BenchmarkFollow(b *testing.B) {
	head := format.ChainHead{State: format.ChainOpen, Checkpoint: 4}
	w := sound()
	for _, c := range []struct{ name, key, val string }{
		{"head", keys.ChainHead("s1", 3), head.Encode()},
		{"ref", keys.Ref(9, 8), w.rows[keys.Ref(9, 8)].Val},
		{"writer", keys.Writer(9), w.rows[keys.Writer(9)].Val},
		{"batch", w.key("due/denorm/", ""), w.rows[w.key("due/denorm/", "")].Val},
		{"intent", w.key("due/orphan/", condemnedAt.Key()), w.rows[w.key("due/orphan/", condemnedAt.Key())].Val},
		{"lease", keys.StreamLease(9), ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := newModel(sound())
			b.ReportAllocs()
			for b.Loop() {
				m.judge.Apply(Change{Kind: RowPut, Row: core.Row{Mark: core.Mark{Key: c.key, Rev: 7}, Val: c.val}})
				if bs := m.judge.Check(); len(bs) > 0 {
					b.Fatal(bs)
				}
			}
		})
	}
}
