package law

import (
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// TestTicks: at rest a clock ticks at its own date, a period later, one row for one;
// and nothing else is written.
func TestTicks(t *testing.T) {
	w := resting()
	settle := func(at core.Ms) core.Row {
		d := keys.Due{Queue: keys.Settle, At: at, Shard: keys.ShardOfChain("s1", 3, w.d.Shards), Star: "s1", Epoch: 3}
		return core.Row{Mark: core.Mark{Key: d.Key(), Rev: 1}, Val: format.SettleMark{}.Encode()}
	}
	keep := func(at core.Ms) core.Row {
		d := keys.Due{Queue: keys.Retention, At: at, Shard: keys.ShardOfStream(9, w.d.Shards), Stream: 9}
		return core.Row{Mark: core.Mark{Key: d.Key(), Rev: 1}, Val: format.RetentionMark{}.Encode()}
	}
	put := func(r core.Row) Change { return Change{Kind: RowPut, Row: r} }
	del := func(r core.Row) Change { return Change{Kind: RowGone, Row: r} }
	probe := w.d.LiveHeadProbe
	for _, c := range []struct {
		name, what string
		now        core.Ms
		cs         []Change
	}{
		{"a settle clock ticks", "", 7000, []Change{put(settle(7000 + probe)), del(settle(7000))}},
		{"a settle clock ticks sooner", "its period is", 7000, []Change{del(settle(7000)), put(settle(7000 + probe - 1))}},
		{"a settle clock ticks before its date", "before its date", 7000 - w.d.Skew - 1, []Change{del(settle(7000)), put(settle(7000 + probe))}},
		{"by a clock that is ahead", "", 7000 - w.d.Skew, []Change{del(settle(7000)), put(settle(7000 + probe))}},
		{"one clock becomes two", "none went for it", 7000, []Change{put(settle(7000 + probe)), put(settle(7001 + probe)), del(settle(7000))}},
		{"a second clock is put", "none went for it", 7000, []Change{put(settle(7000 + probe))}},
		{"a clock stops", "none was put for it", 9000, []Change{del(keep(9000))}},
		{"a retention clock ticks", "", 9000, []Change{del(keep(9000)), put(keep(10000))}},
		{"a retention clock spins", "its period is", 9000, []Change{del(keep(9000)), put(keep(9001))}},
		{"a clock goes that did not stand", "did not stand", 9000, []Change{del(keep(8000)), put(keep(10000))}},
		{"another row beside it", "yet it was written", 9000, []Change{del(keep(9000)), put(keep(10000)), put(w.rows[keys.Trim(9)])}},
		{"somebody registers", "yet it was written", 9000, []Change{put(core.Row{Mark: core.Mark{Key: keys.Star("s1")}})}},
		{"an object goes", "yet it was written", 9000, []Change{{Kind: ObjectGone, Object: Object{Store: "a", Key: tailAt.Key()}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			say(t, NewTicks(w.snapshot(), &w.d).Changed(c.cs, c.now), c.what)
		})
	}
	// It goes on from where it was.
	x := NewTicks(w.snapshot(), &w.d)
	say(t, x.Changed([]Change{del(keep(9000)), put(keep(10200))}, 9200), "")
	say(t, x.Changed([]Change{del(keep(10200)), put(keep(11200))}, 10200), "")
	say(t, x.Changed([]Change{del(keep(11200)), put(keep(11201))}, 11200), "its period is")
}
