package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Unripe reports whether a batch marker stands that is neither ripe nor parked.
// One that is parked owes all the same: an operator sees to it.
func Unripe(now core.Ms, row core.Row) bool {
	_, err := keys.ParseDue(row.Key)
	m, bad := format.DecodeBatchMark(row.Val)
	return err == nil && bad == nil && !m.Parked && m.Ready > now
}

// Ripen is the transaction that moves a batch marker's schedule row to now
// (teardown's gate, decommission's force-drain); the marker must be Unripe.
// Without the crossing flag everything in it is settled, windows under the size
// trigger too: else it would be back at its age cap. A lost compare is another's
// move.
func Ripen(now core.Ms, row core.Row) core.Op {
	k, _ := keys.ParseDue(row.Key)
	m, _ := format.DecodeBatchMark(row.Val)
	next := m
	next.Ready, next.Crossing = now, false
	return core.Txn(core.If(row.Mark), core.Put(row.Key, next.Encode()),
		core.Del(keys.SchedDenorm(k.Shard, m.Ready, k.Star, k.Epoch, k.Slot)),
		core.Put(keys.SchedDenorm(k.Shard, next.Ready, k.Star, k.Epoch, k.Slot), ""))
}

// ripen ripens a batch marker, if it is not ripe.
func ripen(c *core.Call, t core.Turn, row core.Row) bool {
	if !c.Sent() && !Unripe(t.Now, row) {
		return true
	}
	_, ok := c.AwaitFunc(t, func() core.Op { return Ripen(t.Now, row) })
	return ok
}
