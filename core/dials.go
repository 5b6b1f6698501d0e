package core

import "fmt"

// Dials holds every number that shapes a duty: the flags of the daemon and what
// the specification fixes as constants. One value is made at the start of a
// process; the simulator and the demo scale it; the laws take it as an argument.
// Times are in milliseconds, sizes in bytes.
type Dials struct {
	// Reader safety.
	ReadGrace  Ms // --auditor-read-grace: from a death to its deletion, at least
	PlanTTL    Ms // how long a reader may use a read plan: at most half of ReadGrace
	FooterLife Ms // how long a reader may use a cached footer: less than half of ReadGrace

	// Requests that outlive their judgement.
	RequestLife Ms // from the last confirmation of a right to the landing of the last request sent under it, skew included
	Admission   Ms // a mutation's NotAfter is its confirmation plus this; the store refuses it later
	Service     Ms // a request that was admitted lands or fails within this
	Skew        Ms // how far two clocks may honestly be apart

	// Orphans.
	OrphanGrace Ms // --auditor-orphan-grace

	// Settle rewrite.
	Linger        [Classes]Ms // --denorm-linger, --express-denorm-linger
	AgeCap        [Classes]Ms // --denorm-age-cap, --express-denorm-age-cap
	SizeTrigger   int64       // a window of this many bytes settles at linger cadence
	OutputCap     int64       // --denorm-output-cap-mib
	OutputChunks  int         // chunks of one output, at most: a probe looks each of them up
	MarkersPerEra int         // --auditor-markers-per-era
	MemberWidth   int         // --auditor-member-parallel
	MemberPlan    int         // members of one plan, at most
	WarmSet       int64       // bytes staged for one marker, at most
	JobDeadline   Ms          // an era takes on markers for at most half of this

	// Publish.
	PartMin   int64 // every part but the last has at least this
	PartMax   int64 // a data part or a copied range has at most this
	PartCount int   // parts of one upload, at most
	PartWidth int   // parts in flight for one upload

	// Probe and reap.
	ProbeWidth  int   // ref lookups abreast
	GCMinDead   int64 // dead bytes that make an object worth a GC, at least …
	GCDeadPart  int64 // … and its size over this (2: half of it)
	ReapBucket  Ms    // grace ends round up to a multiple of this
	DeleteBatch int   // keys of one multi-delete

	// Teardown, settle, retention.
	GateRetry      Ms
	Quiesce        Ms
	TeardownGroup  int
	TeardownWidth  int
	LiveHeadProbe  Ms
	SettleBatch    int // slots absorbed under one checkpoint
	StreamsPerTxn  int // streams whose rows one absorb transaction writes
	SpansPerRow    int // entries of one span row, at most
	EntriesPerRow  int // entries of one catalog row, at most
	FootersAbreast int

	// The serving side.
	Pipeline    int // slots of one chain in flight; a chain constant once minted
	AbsorbEvery Ms  // a star absorbs what is committed at least this often
	Confirm     Ms  // a right is confirmed again when its confirmation is older than this; under Admission
	SessionTTL  Ms

	// Queues.
	Shards       int
	DrainWidth   int
	ScanPage     int
	PollEvery    Ms  // a drain looks again after at most this
	BackoffFirst Ms  // a failed marker comes back after this, doubled each time …
	BackoffMax   Ms  // … up to this
	ParkAfter    int // definite failures before a marker is parked
	FarAhead     Ms  // a marker further ahead than any policy allows is dated by a wrong clock
}

// MaxEntriesPerRow bounds Dials.EntriesPerRow: the transaction that kills a row
// arms everything that it names.
const MaxEntriesPerRow = TxnOps - 16

const (
	second = Ms(1000)
	minute = 60 * second
	hour   = 60 * minute
	mib    = int64(1) << 20
)

// Spec is the daemon's dials: the specification's values.
func Spec() Dials {
	return Dials{
		ReadGrace: 10 * minute, PlanTTL: 5 * minute, FooterLife: 4 * minute,
		RequestLife: 4 * minute, Admission: 2 * minute, Service: minute, Skew: 30 * second,
		OrphanGrace: hour,
		Linger:      [Classes]Ms{5 * minute, 5 * minute}, AgeCap: [Classes]Ms{24 * hour, hour},
		SizeTrigger: 8 * mib, OutputCap: 256 * mib, OutputChunks: 1 << 14,
		MarkersPerEra: 1, MemberWidth: 8, MemberPlan: 2048, WarmSet: 2048 * mib, JobDeadline: 10 * minute,
		PartMin: 5 * mib, PartMax: 64 * mib, PartCount: 10_000, PartWidth: 4,
		ProbeWidth: 128, GCMinDead: 64 * mib, GCDeadPart: 2, ReapBucket: 30 * second, DeleteBatch: 1000,
		GateRetry: 5 * minute, Quiesce: 3 * minute, TeardownGroup: 16, TeardownWidth: 8,
		LiveHeadProbe: 5 * minute, SettleBatch: 32, StreamsPerTxn: 40, SpansPerRow: 64, EntriesPerRow: 64, FootersAbreast: 16,
		Pipeline: 4, AbsorbEvery: second, Confirm: 30 * second, SessionTTL: 15 * second,
		Shards: 16, DrainWidth: 16, ScanPage: 64, PollEvery: 5 * second,
		BackoffFirst: second, BackoffMax: 10 * minute, ParkAfter: 3, FarAhead: 400 * 24 * hour,
	}
}

// Check refuses dials that break a contract, and says which.
func (d *Dials) Check() error {
	switch {
	case d.PlanTTL*2 > d.ReadGrace:
		return fmt.Errorf("read-plan TTL is %d ms and read grace %d ms: the TTL must be at most half of the grace, or a reader meets deleted objects", d.PlanTTL, d.ReadGrace)
	case d.FooterLife*2 >= d.ReadGrace:
		return fmt.Errorf("cached-footer lifetime is %d ms and read grace %d ms: the grace must exceed twice the lifetime", d.FooterLife, d.ReadGrace)
	case d.PlanTTL+d.FooterLife+d.Skew > d.ReadGrace:
		return fmt.Errorf("a footer that is fetched as a plan of %d ms runs out, and used for %d ms more, is used up to %d ms after its object may have died: that and the skew of %d ms exceed the read grace of %d ms", d.PlanTTL, d.FooterLife, d.PlanTTL+d.FooterLife, d.Skew, d.ReadGrace)
	case d.RequestLife*2 >= d.ReadGrace:
		return fmt.Errorf("request lifetime is %d ms and read grace %d ms: the lifetime must be under half of the grace", d.RequestLife, d.ReadGrace)
	case d.Admission+d.Service+2*d.Skew > d.RequestLife:
		return fmt.Errorf("admission %d ms + service %d ms + twice the skew %d ms exceed the request lifetime of %d ms", d.Admission, d.Service, d.Skew, d.RequestLife)
	case d.Confirm >= d.Admission:
		return fmt.Errorf("rights are confirmed every %d ms, but admit requests for %d ms only", d.Confirm, d.Admission)
	case d.OrphanGrace <= d.RequestLife:
		return fmt.Errorf("orphan grace is %d ms and must exceed the request lifetime of %d ms", d.OrphanGrace, d.RequestLife)
	case d.PartMin < 1 || d.PartMax < 2*d.PartMin:
		return fmt.Errorf("parts of %d to %d bytes: the most must be twice the least, or not every length can be cut into parts", d.PartMin, d.PartMax)
	case d.OutputCap < d.PartMin || d.OutputCap > int64(d.PartCount)*d.PartMax:
		return fmt.Errorf("output cap of %d bytes does not fit between one part (%d) and %d parts of %d", d.OutputCap, d.PartMin, d.PartCount, d.PartMax)
	case d.OutputChunks < 1 || d.OutputChunks > MaxGroup:
		return fmt.Errorf("%d chunks an output: 1 to %d, or no probe could look them up", d.OutputChunks, MaxGroup)
	case d.StreamsPerTxn*2+4 > TxnOps:
		return fmt.Errorf("%d streams an absorb transaction exceed %d compares", d.StreamsPerTxn, TxnOps)
	case d.EntriesPerRow < 1 || d.EntriesPerRow > MaxEntriesPerRow:
		return fmt.Errorf("%d entries a catalog row: 1 to %d, so that a row and what it names are killed and armed in one transaction", d.EntriesPerRow, MaxEntriesPerRow)
	case d.Shards < 1 || d.Shards > 1<<12:
		return fmt.Errorf("%d shards: 1 to 4096", d.Shards)
	case d.Pipeline < 1 || d.Pipeline > 64:
		return fmt.Errorf("pipeline of %d slots: 1 to 64", d.Pipeline)
	case d.MarkersPerEra < 1 || d.MemberWidth < 1 || d.DrainWidth < 1 || d.ScanPage < 1 || d.SettleBatch < 1 || d.DeleteBatch < 1 || d.DeleteBatch > 1000:
		return fmt.Errorf("a width, page or batch is out of bounds: each is at least 1, a delete batch at most 1000")
	}
	return nil
}

// Horizon is when a right that was confirmed at a time stops admitting requests.
func (d *Dials) Horizon(confirmed Ms) Ms { return confirmed + d.Admission }

// Stale reports whether a right confirmed at a time must be confirmed again
// before another mutation is sent under it.
func (d *Dials) Stale(confirmed, now Ms) bool { return now-confirmed >= d.Confirm || now < confirmed }

// GraceEnd is the time one read grace from now, rounded up to the reap bucket so
// that the killers of one object collapse onto one marker.
func (d *Dials) GraceEnd(now Ms) Ms {
	t := now + d.ReadGrace
	return (t + d.ReapBucket - 1) / d.ReapBucket * d.ReapBucket
}
