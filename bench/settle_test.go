//go:build unix

package bench

import (
	"runtime"
	"testing"
	"time"
)

// BenchmarkSettle is how fast one era settles a batch, beside a plain copy loop
// that moves the same bytes over the same server: the embedded gateway, in this
// process. Each loop is one pair, the era first and the loop first in turn; what
// is reported is the median of the pairs.
//
//	settle-MB/s, plain-MB/s   bytes of chunks a second, by the wall clock
//	settle/plain              of the speeds: small is to reach 0.8, copied 1.2
//	cpu-settle/plain          of the CPU time, client and servers together: what a
//	                          busy machine does not blur
func BenchmarkSettle(b *testing.B) {
	for _, c := range []struct {
		name  string
		shape shape
		part  int // bytes of the loop's parts, at most: those of the era's
	}{
		// Short chunks of streams that have crossed the size trigger or nearly so:
		// data parts, one an output.
		{"small", shape{slots: 32, streams: 32, chunks: 3, size: 64 * kib}, 64 * mib},
		// Outputs so short that what the metastore does for each of them shows.
		{"tiny", shape{slots: 16, streams: 128, chunks: 1, size: 32 * kib}, 64 * mib},
		// Long chunks, which the store copies.
		{"copied", shape{slots: 6, streams: 2, chunks: 1, size: 8 * mib}, 8 * mib},
	} {
		b.Run(c.name, func(b *testing.B) { pairs(b, newRig(b, c.shape), c.part) })
	}
}

func pairs(b *testing.B, r *rig, part int) {
	b.Log(r.shape)
	loop := func() cost { return measure(func() { copyLoop(b, r, part) }) }
	era := func() cost {
		r.absorbed(b)
		return measure(func() { r.settle(b) })
	}
	era()
	for id := range uint64(r.streams) {
		r.settled(b, id+1)
	}
	loop() // both have opened their connections, and the slots are in memory
	r.clean(b)
	var mine, plain []float64
	var ratios, work []float64
	for i := 0; b.Loop(); i++ {
		var m, p cost
		if i%2 == 0 {
			m, p = era(), loop()
		} else {
			p, m = loop(), era()
		}
		mine, plain = append(mine, m.speed(r)), append(plain, p.speed(r))
		ratios = append(ratios, p.wall.Seconds()/m.wall.Seconds())
		work = append(work, m.cpu.Seconds()/p.cpu.Seconds())
		r.clean(b)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(mine), "settle-MB/s")
	b.ReportMetric(median(plain), "plain-MB/s")
	b.ReportMetric(median(ratios), "settle/plain")
	b.ReportMetric(median(work), "cpu-settle/plain")
}

type cost struct{ wall, cpu time.Duration }

func measure(f func()) cost {
	runtime.GC() // what the other left behind is not this one's to clear
	begin, used := time.Now(), cpu()
	f()
	return cost{time.Since(begin), cpu() - used}
}

func (c cost) speed(r *rig) float64 { return float64(r.bytes()) / 1e6 / c.wall.Seconds() }
