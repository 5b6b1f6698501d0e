package keys

import "nova/core"

// Queue is one duty's due queue.
type Queue uint8

const (
	Teardown Queue = iota
	Settle
	Retention
	Reap
	TrimCheck
	Denorm
	GC
	Orphan

	Queues = int(Orphan) + 1
)

var queueNames = [Queues]string{"teardown", "settle", "retention", "reap", "trimcheck", "denorm", "gc", "orphan"}

// String is the keyspace's word for the queue.
func (q Queue) String() string {
	if int(q) < len(queueNames) {
		return queueNames[q]
	}
	return "queue?"
}

// Scheduled reports whether the queue's due rows are not ordered by time, and a
// row of sched/ stands for each of them: denorm and orphan.
func (q Queue) Scheduled() bool { return q == Denorm || q == Orphan }

// Due is a marker's key, parsed: a row of due/, or with Sched of sched/. Which
// fields count is the queue's affair; the others are zero.
type Due struct {
	Queue  Queue
	Sched  bool
	Shard  int
	At     core.Ms // when it is ripe; none in GC, and in due/denorm and due/orphan
	Star   string  // settle, trim-check, denorm
	Epoch  uint64  // settle, trim-check, denorm
	Slot   uint64  // denorm: the first slot
	Stream uint64  // teardown, retention
	Final  bool    // teardown: the final walk
	Object string  // reap, GC, orphan
	Dead   int64   // GC: dead bytes, biggest first
}

const finalMark = "~final"

// Key is the inverse of ParseDue. A time or a byte count below zero counts as zero.
func (d Due) Key() string {
	star := ""
	if d.Queue == Settle || d.Queue == TrimCheck || d.Queue == Denorm {
		star = escape(d.Star)
	}
	b := make([]byte, 0, 64+len(star)+len(d.Object))
	b = d.prefix(b)
	if d.timed() {
		b = append(appendDecimal(b, int64(d.At), decimal), '~')
	}
	switch d.Queue {
	case Settle, TrimCheck, Denorm:
		b = append(append(b, star...), '~')
		b = appendHex(b, d.Epoch, wide)
		if d.Queue == Denorm {
			b = appendHex(append(b, '~'), d.Slot, wide)
		}
	case Teardown, Retention:
		b = appendHex(b, d.Stream, wide)
		if d.Queue == Teardown && d.Final {
			b = append(b, finalMark...)
		}
	case GC:
		b = append(appendDecimal(b, maxDead-max(d.Dead, 0), decimal), '~')
		b = append(b, d.Object...)
	case Reap, Orphan:
		b = append(b, d.Object...)
	default:
		panic("keys: no such queue")
	}
	return string(b)
}

const maxDead = 1<<63 - 1

func (d *Due) timed() bool { return d.Sched || d.Queue != GC && !d.Queue.Scheduled() }

func (d *Due) prefix(b []byte) []byte {
	if d.Sched {
		if !d.Queue.Scheduled() {
			panic("keys: the queue has no schedule")
		}
		b = append(b, "sched/"...)
	} else {
		b = append(b, "due/"...)
	}
	return appendShard(append(append(b, d.Queue.String()...), '/'), d.Shard)
}

// ParseDue parses a key of due/ or of sched/.
func ParseDue(key string) (Due, error) {
	var d Due
	c := cursor{s: key}
	if len(key) > 0 && key[0] == 's' {
		c.lit("sched/")
		d.Sched = true
	} else {
		c.lit("due/")
	}
	d.Queue = c.queue()
	c.bad = c.bad || d.Sched && !d.Queue.Scheduled()
	d.Shard = c.shard()
	if d.timed() {
		d.At = core.Ms(c.dec(decimal))
		c.lit("~")
	}
	switch d.Queue {
	case Settle, TrimCheck, Denorm:
		d.Star = c.name('~')
		d.Epoch = c.hex(wide)
		if d.Queue == Denorm {
			c.lit("~")
			d.Slot = c.hex(wide)
		}
	case Teardown, Retention:
		d.Stream = c.hex(wide)
		if d.Queue == Teardown && c.s == finalMark {
			c.take(len(finalMark))
			d.Final = true
		}
	case GC:
		d.Dead = maxDead - c.dec(decimal)
		c.lit("~")
		d.Object = c.whole()
	default:
		d.Object = c.whole()
	}
	if err := c.done("due", key); err != nil {
		return Due{}, err
	}
	return d, nil
}

func (c *cursor) queue() Queue {
	for q, w := range queueNames {
		if n := len(w); len(c.s) > n && c.s[n] == '/' && c.s[:n] == w {
			c.take(n + 1)
			return Queue(q)
		}
	}
	c.bad = true
	return 0
}

// DueSettle is a chain's settle marker.
func DueSettle(shard int, at core.Ms, star string, epoch uint64) string {
	return Due{Queue: Settle, Shard: shard, At: at, Star: star, Epoch: epoch}.Key()
}

// DueTrimCheck is a chain's trim-check marker.
func DueTrimCheck(shard int, at core.Ms, star string, epoch uint64) string {
	return Due{Queue: TrimCheck, Shard: shard, At: at, Star: star, Epoch: epoch}.Key()
}

// DueReap is a settled object's reap-check marker.
func DueReap(shard int, at core.Ms, objectKey string) string {
	return Due{Queue: Reap, Shard: shard, At: at, Object: objectKey}.Key()
}

// DueTeardown is a deleted stream's marker: of its first walk, or of its final.
func DueTeardown(shard int, at core.Ms, stream uint64, final bool) string {
	return Due{Queue: Teardown, Shard: shard, At: at, Stream: stream, Final: final}.Key()
}

// DueRetention is the marker of a stream with an age policy.
func DueRetention(shard int, at core.Ms, stream uint64) string {
	return Due{Queue: Retention, Shard: shard, At: at, Stream: stream}.Key()
}

// DueGC is a partly dead object's marker; more dead bytes sort first.
func DueGC(shard int, dead int64, objectKey string) string {
	return Due{Queue: GC, Shard: shard, Dead: dead, Object: objectKey}.Key()
}

// DueDenorm is the batch marker of the span commit that begins with slot first.
func DueDenorm(shard int, star string, epoch, first uint64) string {
	return Due{Queue: Denorm, Shard: shard, Star: star, Epoch: epoch, Slot: first}.Key()
}

// SchedDenorm is a batch marker's row in the ready-ordered index.
func SchedDenorm(shard int, at core.Ms, star string, epoch, first uint64) string {
	return Due{Queue: Denorm, Sched: true, Shard: shard, At: at, Star: star, Epoch: epoch, Slot: first}.Key()
}

// DueOrphan is a write intent, at a derived key, or condemned, at the key that
// names the incarnation.
func DueOrphan(shard int, objectKey string) string {
	return Due{Queue: Orphan, Shard: shard, Object: objectKey}.Key()
}

// SchedOrphan is an intent's row in the birth-ordered index. A time below zero
// (a young cluster's, less a grace) counts as zero.
func SchedOrphan(shard int, at core.Ms, objectKey string) string {
	return Due{Queue: Orphan, Sched: true, Shard: shard, At: at, Object: objectKey}.Key()
}

// DueAll holds every due row of a queue's shard.
func DueAll(q Queue, shard int) (from, end string) {
	d := Due{Queue: q, Shard: shard}
	return prefixRange(string(d.prefix(nil)))
}

// DueRange holds the due rows that are ripe at a time, inclusive, in time order.
// Of GC, whose markers are all ready, and of the scheduled queues, whose due
// rows do not know the time, it holds every one.
func DueRange(q Queue, shard int, until core.Ms) (from, end string) {
	d := Due{Queue: q, Shard: shard}
	if !d.timed() {
		return DueAll(q, shard)
	}
	return d.ripe(until)
}

// SchedRange holds the schedule rows of denorm or orphan that are ripe at a
// time, inclusive, in time order.
func SchedRange(q Queue, shard int, until core.Ms) (from, end string) {
	d := Due{Queue: q, Sched: true, Shard: shard}
	return d.ripe(until)
}

// SchedAll holds every schedule row of denorm's or orphan's shard.
func SchedAll(q Queue, shard int) (from, end string) {
	d := Due{Queue: q, Sched: true, Shard: shard}
	return prefixRange(string(d.prefix(nil)))
}

// RipeRange is what the queue's drain scans: the schedule where there is one,
// the due rows otherwise.
func RipeRange(q Queue, shard int, until core.Ms) (from, end string) {
	if q.Scheduled() {
		return SchedRange(q, shard, until)
	}
	return DueRange(q, shard, until)
}

func (d *Due) ripe(until core.Ms) (from, end string) {
	b := d.prefix(nil)
	return string(b), PrefixEnd(string(append(appendDecimal(b, int64(until), decimal), '~')))
}

// DenormChain holds the batch markers of one chain, by first slot.
func DenormChain(shard int, star string, epoch uint64) (from, end string) {
	d := Due{Queue: Denorm, Shard: shard}
	b := append(d.prefix(nil), escape(star)...)
	return prefixRange(string(append(appendHex(append(b, '~'), epoch, wide), '~')))
}

// DenormStar holds the batch markers of every chain of a star in one shard, by
// epoch and first slot.
func DenormStar(shard int, star string) (from, end string) {
	d := Due{Queue: Denorm, Shard: shard}
	return prefixRange(string(append(append(d.prefix(nil), escape(star)...), '~')))
}

// Park is where a marker stands that failed for good, with its reason.
func Park(q Queue, key string) string { return "park/" + q.String() + "/" + key }

// ParsePark is the inverse of Park.
func ParsePark(key string) (q Queue, marker string, err error) {
	c := cursor{s: key}
	c.lit("park/")
	q = c.queue()
	marker = c.whole()
	if err = c.done("park", key); err != nil {
		return 0, "", err
	}
	return q, marker, nil
}

// ParkRange holds every parked marker.
func ParkRange() (from, end string) { return prefixRange("park/") }
