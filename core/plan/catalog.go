package plan

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// CommitWrites is the one transaction that makes a durable object visible: the
// rows that it covers go, the catalog row that names it stands at the last one's
// key. lease is the chain's, of a settle era; its key is empty for GC. The
// intent is compared as the caller last saw it.
//
// The object that the output supersedes is armed in the same transaction: it is
// watched from the instant at which nothing names it any more.
func CommitWrites(d *core.Dials, o *Output, du *Durable, intent, lease core.Mark, now core.Ms) []core.Write {
	row, taken := o.catalog(d, du)
	ws := make([]core.Write, 0, 9)
	ws = append(ws, core.If(o.Stream), core.If(intent))
	if lease.Key != "" {
		ws = append(ws, core.If(lease))
	}
	from, to := "", ""
	if taken {
		ws = append(ws, core.If(o.Before.Mark))
		from, to = o.Before.Key, o.Before.Key
	}
	if rows := o.Rows[:du.Rows]; len(rows) > 0 {
		first, last := &rows[0], &rows[len(rows)-1]
		ws = append(ws, core.If(first.Mark))
		if last.Key != first.Key {
			ws = append(ws, core.If(last.Mark))
		}
		if !taken {
			from = first.Key
		}
		to = last.Key
	}
	if from != to {
		ws = append(ws, core.DelRange(from, to))
	}
	ws = append(ws, core.Put(to, row.Encode()))
	if o.Revise {
		ws = append(ws, ArmReap(d, o.BaseKey().Key(), o.Base(), now))
	}
	return ws
}

// catalog is the row that the commit puts, and whether it takes Before's place:
// it revises one of its entries, or it takes them over because they touch and
// there is room.
func (o *Output) catalog(d *core.Dials, du *Durable) (row format.Row, taken bool) {
	e := o.Entry(du)
	var es []format.Entry
	switch {
	case o.Revise:
		es = append(es, o.Before.Entries...)
		es[o.Index], taken = e, true
	case touches(&o.Before, e.First) && len(o.Before.Entries) < d.EntriesPerRow:
		es = append(append(es, o.Before.Entries...), e)
		taken = true
	default:
		es = append(es, e)
	}
	return format.Row{Kind: format.CatalogRow, First: es[0].First, End: es[len(es)-1].End(), Entries: es}, taken
}

// RetireWrites is the transaction that retires rows which lie wholly below the
// watermark: they touch, and are in order. Their slots' batch marker watches the
// slots.
func RetireWrites(stream, lease core.Mark, rows []Held) []core.Write {
	first, last := &rows[0], &rows[len(rows)-1]
	ws := []core.Write{core.If(stream)}
	if lease.Key != "" {
		ws = append(ws, core.If(lease))
	}
	ws = append(ws, core.If(first.Mark))
	if first.Key != last.Key {
		ws = append(ws, core.If(last.Mark), core.DelRange(first.Key, last.Key))
	}
	return append(ws, core.Del(last.Key))
}

// ArmReap puts the reap-check of an object that an entry names, one read grace
// from now.
func ArmReap(d *core.Dials, objectKey string, e *format.Entry, now core.Ms) core.Write {
	m := format.ReapMark{Class: e.Class, Footer: e.Footer}
	return core.Put(keys.DueReap(keys.ShardOfObject(objectKey, d.Shards), d.GraceEnd(now), objectKey), m.Encode())
}

// Names reports whether a catalog row's entry names this very object, and which.
func Names(row *format.Row, o *keys.Settled) (int, bool) {
	for i := range row.Entries {
		e := &row.Entries[i]
		if e.Epoch == o.Epoch && e.First == o.First && e.Revision == o.Revision &&
			e.Generation == o.Inc.Generation && e.Created == o.Inc.Created && !e.Lost {
			return i, true
		}
	}
	return 0, false
}
