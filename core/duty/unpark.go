package duty

import (
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// PutBack is the transaction that undoes a parking (specification gap 8; run by
// an operator's verb, core/admin): park is the row of park/ as it was read,
// marker the row at the marker's own key, absent with Rev 0. The marker is ripe at
// once, and its failures are forgotten. Both rows are compared, so at every instant
// either the parked row or the marker is the watcher.
//
// moot says that nothing is put back, since the parked row is not needed: a marker
// of a later arming stands at the key, or what readers take for the flag has gone.
// An error says that the parked value, or the flag, does not decode: no duty could
// act on it, so it stays parked.
func PutBack(now core.Ms, e *core.Env, park, marker core.Row) (ws []core.Write, moot bool, err error) {
	q, key, err := keys.ParsePark(park.Key)
	if err != nil {
		return nil, false, err
	}
	k, err := keys.ParseDue(key)
	if err == nil && (k.Queue != q || k.Sched) {
		err = fmt.Errorf("marker %s is parked under queue %s", key, q)
	}
	if err != nil {
		return nil, false, err
	}
	p, err := format.DecodeParked(park.Val)
	if err != nil {
		return nil, false, err
	}
	ws = []core.Write{core.If(park.Mark), core.If(core.Mark{Key: key, Rev: marker.Rev}), core.Del(park.Key)}
	switch {
	case q.Scheduled() == (marker.Rev == 0): // armed again since; or its due row is gone, and with it the work
		return ws, true, nil
	case q == keys.Denorm:
		m, err := format.DecodeBatchMark(marker.Val)
		if err != nil {
			return nil, false, err
		}
		if !m.Parked { // an absorb has taken it up again
			return ws, true, nil
		}
		m.Parked, m.Attempts, m.Ready = false, 0, now
		return append(ws, core.Put(key, m.Encode()), core.Put(keys.SchedDenorm(k.Shard, now, k.Star, k.Epoch, k.Slot), "")), false, nil
	case q == keys.Orphan:
		if _, err := format.DecodeIntent(marker.Val); err != nil {
			return nil, false, err
		}
		return append(ws, core.Put(keys.SchedOrphan(k.Shard, scheduled(e, q, now), k.Object), "")), false, nil
	}
	due := Due{Due: k, Row: core.Row{Mark: core.Mark{Key: key}, Val: p.Value}}
	if _, err := failures(q, &due); err != nil {
		return nil, false, err
	}
	return append(ws, core.Put(key, withAttempts(&due, 0, 0))), false, nil
}
