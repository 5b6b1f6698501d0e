package core_test

import (
	"strings"
	"testing"

	"nova/core"
)

func TestSpecDialsKeepTheirContracts(t *testing.T) {
	d := core.Spec()
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	// The values that the specification names.
	const minute = core.Ms(60_000)
	for _, c := range []struct {
		name      string
		got, want int64
	}{
		{"read grace", int64(d.ReadGrace), int64(10 * minute)},
		{"orphan grace", int64(d.OrphanGrace), int64(60 * minute)},
		{"standard linger", int64(d.Linger[core.Standard]), int64(5 * minute)},
		{"express linger", int64(d.Linger[core.Express]), int64(5 * minute)},
		{"standard age cap", int64(d.AgeCap[core.Standard]), int64(24 * 60 * minute)},
		{"express age cap", int64(d.AgeCap[core.Express]), int64(60 * minute)},
		{"size trigger", d.SizeTrigger, 8 << 20},
		{"output cap", d.OutputCap, 256 << 20},
		{"markers per era", int64(d.MarkersPerEra), 1},
		{"members abreast", int64(d.MemberWidth), 8},
		{"member plan", int64(d.MemberPlan), 2048},
		{"warm set", d.WarmSet, 2 << 30},
		{"smallest copied chunk", d.PartMin, 5 << 20},
		{"ref lookups abreast", int64(d.ProbeWidth), 128},
		{"dead bytes worth a GC", d.GCMinDead, 64 << 20},
		{"dead part worth a GC", d.GCDeadPart, 2},
		{"reap bucket", int64(d.ReapBucket), 30_000},
		{"keys of one multi-delete", int64(d.DeleteBatch), 1000},
		{"gate retry", int64(d.GateRetry), int64(5 * minute)},
		{"quiesce", int64(d.Quiesce), int64(3 * minute)},
		{"teardown group", int64(d.TeardownGroup), 16},
		{"teardown width", int64(d.TeardownWidth), 8},
		{"live head probe", int64(d.LiveHeadProbe), int64(5 * minute)},
		{"settle batch", int64(d.SettleBatch), 32},
	} {
		if c.got != c.want {
			t.Errorf("%s is %d, the specification says %d", c.name, c.got, c.want)
		}
	}
}

func TestDialsRefuseABrokenContract(t *testing.T) {
	for _, c := range []struct {
		says  string
		spoil func(d *core.Dials)
	}{
		{"the TTL must be at most half of the grace", func(d *core.Dials) { d.PlanTTL = d.ReadGrace/2 + 1 }},
		{"the grace must exceed twice the lifetime", func(d *core.Dials) { d.FooterLife = d.ReadGrace / 2 }},
		{"and the skew of 30000 ms exceed the read grace", func(d *core.Dials) { d.FooterLife = d.ReadGrace - d.PlanTTL - d.Skew + 1 }},
		{"the lifetime must be under half of the grace", func(d *core.Dials) { d.RequestLife = d.ReadGrace / 2 }},
		{"exceed the request lifetime", func(d *core.Dials) { d.Admission = d.RequestLife - d.Service - 2*d.Skew + 1 }},
		{"exceed the request lifetime", func(d *core.Dials) { d.Service++ }},
		{"exceed the request lifetime", func(d *core.Dials) { d.Skew++ }},
		{"rights are confirmed every", func(d *core.Dials) { d.Confirm = d.Admission }},
		{"orphan grace is", func(d *core.Dials) { d.OrphanGrace = d.RequestLife }},
		{"output cap of", func(d *core.Dials) { d.OutputCap = d.PartMin - 1 }},
		{"output cap of", func(d *core.Dials) { d.OutputCap = int64(d.PartCount)*d.PartMax + 1 }},
		{"streams an absorb transaction exceed", func(d *core.Dials) { d.StreamsPerTxn = core.TxnOps/2 - 1 }},
		{"shards: 1 to 4096", func(d *core.Dials) { d.Shards = 0 }},
		{"shards: 1 to 4096", func(d *core.Dials) { d.Shards = 1<<12 + 1 }},
		{"slots: 1 to 64", func(d *core.Dials) { d.Pipeline = 0 }},
		{"slots: 1 to 64", func(d *core.Dials) { d.Pipeline = 65 }},
		{"a width, page or batch is out of bounds", func(d *core.Dials) { d.MarkersPerEra = 0 }},
		{"a width, page or batch is out of bounds", func(d *core.Dials) { d.MemberWidth = 0 }},
		{"a width, page or batch is out of bounds", func(d *core.Dials) { d.DrainWidth = 0 }},
		{"a width, page or batch is out of bounds", func(d *core.Dials) { d.ScanPage = 0 }},
		{"a width, page or batch is out of bounds", func(d *core.Dials) { d.SettleBatch = 0 }},
		{"a width, page or batch is out of bounds", func(d *core.Dials) { d.DeleteBatch = 0 }},
		{"a width, page or batch is out of bounds", func(d *core.Dials) { d.DeleteBatch = 1001 }},
	} {
		d := core.Spec()
		c.spoil(&d)
		if err := d.Check(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want a refusal that says %q, got %v", c.says, err)
		}
	}
}

func TestDialsAtTheEdgeOfAContract(t *testing.T) {
	for name, edge := range map[string]func(d *core.Dials){
		"a TTL of half the grace":         func(d *core.Dials) { d.PlanTTL = d.ReadGrace / 2 },
		"footers just under half of it":   func(d *core.Dials) { d.PlanTTL, d.FooterLife = d.PlanTTL-d.Skew, d.ReadGrace/2-1 },
		"footers to the end of the grace": func(d *core.Dials) { d.FooterLife = d.ReadGrace - d.PlanTTL - d.Skew },
		"requests that fill their life":   func(d *core.Dials) { d.Admission = d.RequestLife - d.Service - 2*d.Skew },
		"confirming just in time":         func(d *core.Dials) { d.Confirm = d.Admission - 1 },
		"orphans just over a request":     func(d *core.Dials) { d.OrphanGrace = d.RequestLife + 1 },
		"outputs of exactly one part":     func(d *core.Dials) { d.OutputCap = d.PartMin },
		"as many streams as compares fit": func(d *core.Dials) { d.StreamsPerTxn = core.TxnOps/2 - 2 },
	} {
		d := core.Spec()
		edge(&d)
		if err := d.Check(); err != nil {
			t.Errorf("%s: refused: %v", name, err)
		}
	}
}

func TestStale(t *testing.T) {
	d := core.Spec()
	for _, c := range []struct {
		confirmed, now core.Ms
		want           bool
	}{
		{1000, 1000, false},
		{1000, 1000 + d.Confirm - 1, false},
		{1000, 1000 + d.Confirm, true},
		{1000, 999, true}, // the clock went back: nothing can be said about the confirmation's age
	} {
		if got := d.Stale(c.confirmed, c.now); got != c.want {
			t.Errorf("a right confirmed at %d is stale=%v at %d, want %v", c.confirmed, got, c.now, c.want)
		}
	}
	if d.Horizon(1000) != 1000+d.Admission {
		t.Error("the horizon is the confirmation plus the admission bound")
	}
}

// Deletion comes no earlier than the grace, and at most one bucket later; and the
// killers of one object within a bucket collapse onto one marker.
func TestGraceEnd(t *testing.T) {
	d := core.Spec()
	for now := core.Ms(0); now < 3*d.ReapBucket; now += 997 {
		g := d.GraceEnd(now)
		if g < now+d.ReadGrace || g >= now+d.ReadGrace+d.ReapBucket || g%d.ReapBucket != 0 {
			t.Errorf("killed at %d: the grace ends at %d", now, g)
		}
	}
	if d.GraceEnd(1) != d.GraceEnd(d.ReapBucket) || d.GraceEnd(d.ReapBucket) == d.GraceEnd(d.ReapBucket+1) {
		t.Error("grace ends do not round up to the bucket")
	}
}
