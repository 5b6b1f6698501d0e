package daemon

import "nova/core"

// Local is the dials of a cluster that lives in one process, over stores on
// loopback: the demo's and nova dev's. Everything that takes minutes or hours
// takes seconds.
//
// What keeps it from being shorter still is that a store enforces the expiry of a
// request by whole seconds: a right admits requests for two of them, so that one
// confirmed 400 ms ago still leaves at least one whole second. A request that was
// admitted has 1.5 s, on a machine that may be busy; hence the request lifetime,
// and over twice that the read grace. There is one clock, so skew is what its
// readings may honestly be apart.
func Local() core.Dials {
	d := core.Spec()
	d.Admission, d.Confirm, d.Service, d.Skew = 2000, 400, 1500, 20
	d.RequestLife = d.Admission + d.Service + 2*d.Skew
	d.ReadGrace = 2*d.RequestLife + 100
	d.PlanTTL, d.FooterLife = d.ReadGrace/2, d.ReadGrace/2-50
	d.OrphanGrace = d.RequestLife + 500

	d.Linger = [core.Classes]core.Ms{300, 200}
	d.AgeCap = [core.Classes]core.Ms{1500, 1000}
	d.SizeTrigger, d.OutputCap = 1<<20, 32<<20
	d.MarkersPerEra, d.WarmSet, d.JobDeadline = 8, 64<<20, 10_000
	d.PartMax, d.PartWidth = 16<<20, 2
	d.GCMinDead, d.ReapBucket = 16<<10, 200

	d.GateRetry, d.Quiesce, d.LiveHeadProbe = 500, 1000, 1000
	d.AbsorbEvery, d.SessionTTL = 100, 2000
	d.Shards, d.PollEvery = 4, 200
	d.BackoffFirst, d.BackoffMax = 100, 2000
	return d
}

// Brisk is Local for tests: as short as an idle machine allows. On a busy one
// requests run out of time, which costs retries and breaks nothing.
func Brisk() core.Dials {
	d := Local()
	d.Admission, d.Confirm, d.Service, d.Skew = 1250, 100, 500, 5
	d.RequestLife = d.Admission + d.Service + 2*d.Skew
	d.ReadGrace = 2*d.RequestLife + 20
	d.PlanTTL, d.FooterLife = d.ReadGrace/2, d.ReadGrace/2-20
	d.OrphanGrace = d.RequestLife + 100
	d.Linger, d.AgeCap = [core.Classes]core.Ms{100, 100}, [core.Classes]core.Ms{500, 400}
	d.GateRetry, d.Quiesce, d.LiveHeadProbe = 200, 400, 400
	d.SessionTTL, d.PollEvery, d.ReapBucket = 1000, 100, 50
	return d
}
