package plan

import (
	"nova/core"
	"nova/core/keys"
)

// Farthest is how far ahead of a reader's clock a marker of a queue can honestly
// be ripe: twice what its armers wait for by these dials (another process may
// have been given longer ones), a whole backoff, and two clocks apart by the skew.
// What lies beyond was dated by a clock that is wrong (gap 11). GC's markers have
// no time, and retention's follow a stream's policy, which FarAhead bounds.
func Farthest(d *core.Dials, q keys.Queue) core.Ms {
	var wait core.Ms
	switch q {
	case keys.Teardown:
		wait = max(d.GateRetry, d.Quiesce)
	case keys.Settle:
		wait = max(d.LiveHeadProbe, d.RequestLife)
	case keys.Reap, keys.TrimCheck:
		wait = d.ReadGrace + d.ReapBucket
	case keys.Denorm:
		wait = max(d.AgeCap[core.Standard], d.AgeCap[core.Express], d.Linger[core.Standard], d.Linger[core.Express])
	case keys.Orphan:
		wait = max(d.OrphanGrace, d.ReadGrace)
	default:
		return d.FarAhead
	}
	return min(2*wait+d.BackoffMax+2*d.Skew, d.FarAhead)
}
