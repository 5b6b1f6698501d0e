package sim

import "nova/core"

// Dials draws the dials of a run: times of seconds instead of minutes and hours,
// parts of a hundred bytes, pages of a few rows, so that everything that is rare
// in production (a second page, a second part, a full row) happens in each run.
// They keep every contract that core.Dials.Check knows.
func Dials(t *Tape) core.Dials {
	d := core.Spec()
	d.ReadGrace, d.PlanTTL, d.FooterLife = 2400, 1200, 1050
	d.RequestLife, d.Admission, d.Service, d.Skew = 1100, 500, 300, 150
	d.Confirm = core.Ms(t.Between(2, 4)) * 75
	d.OrphanGrace = 1150 + core.Ms(t.Between(0, 3))*350
	d.Linger = [core.Classes]core.Ms{400, 300}
	d.AgeCap = [core.Classes]core.Ms{core.Ms(t.Between(3, 14)) * 500, core.Ms(t.Between(2, 4)) * 500}
	d.SizeTrigger = int64(t.Between(1, 8)) * 150
	d.PartMin, d.PartMax, d.PartCount, d.PartWidth = 120, 500, 40, t.Between(1, 3)
	d.OutputCap = int64(t.Between(2, 40)) * 150
	d.OutputChunks = t.Between(1, 20) * 8
	if t.Chance(1, 3) { // settled at once, in few large objects that grow old by tail-fills
		d.Linger, d.AgeCap = [core.Classes]core.Ms{150, 150}, [core.Classes]core.Ms{400, 300}
		d.OutputCap, d.OutputChunks = 6000, 200
	}
	d.MarkersPerEra = t.Between(1, 4)
	d.MemberWidth = t.Between(1, 4)
	d.MemberPlan = [...]int{32, 2, 4, 2}[t.Choose(4)]
	d.WarmSet, d.JobDeadline = int64(t.Between(1, 8))*1000, 1500
	d.ProbeWidth, d.GCMinDead, d.GCDeadPart = t.Between(1, 6), int64(t.Between(1, 4))*8, int64(t.Between(1, 4))*4
	d.ReapBucket, d.DeleteBatch = 150, t.Between(1, 4)
	d.GateRetry, d.Quiesce = 400, 700
	d.TeardownGroup, d.TeardownWidth = 4, t.Between(1, 3)
	d.LiveHeadProbe = core.Ms(t.Between(1, 4)) * 200
	d.SettleBatch, d.StreamsPerTxn = t.Between(1, 5), t.Between(1, 3)
	d.SpansPerRow, d.EntriesPerRow, d.FootersAbreast = t.Between(1, 5), t.Between(1, 4), t.Between(1, 4)
	d.Pipeline, d.AbsorbEvery, d.SessionTTL = t.Between(1, 4), core.Ms(t.Between(1, 6))*50, core.Ms(t.Between(2, 4))*75
	d.Shards, d.DrainWidth, d.ScanPage = t.Between(1, 2), t.Between(1, 4), t.Between(1, 5)
	d.PollEvery, d.BackoffFirst, d.BackoffMax = core.Ms(t.Between(2, 6))*150, 100, 1500
	d.ParkAfter = 3
	return d
}
