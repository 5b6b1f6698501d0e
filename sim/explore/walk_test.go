package explore

import "testing"

func BenchmarkWalk(b *testing.B) {
	for st := range Exhaustive {
		b.Run(st.String(), func(b *testing.B) {
			w := reapTwo()
			warm := Warmed(w)
			Walk(w, WalkOptions{Strategy: st, Runs: 2000, Tables: warm})
			b.ResetTimer()
			r := Walk(w, WalkOptions{Strategy: st, Seed: 1, Runs: b.N, Tables: warm})
			b.ReportMetric(float64(r.Effects)/r.Took.Seconds(), "effects/cpu-s")
			b.ReportMetric(float64(r.Effects)/float64(r.Runs), "effects/run")
			if r.Breach != nil {
				b.Fatal(r.Breach, r.Trace)
			}
		})
	}
}

// BenchmarkSearch exhausts worlds of different duties.
func BenchmarkSearch(b *testing.B) {
	for _, name := range [...]string{"trim-two", "age", "settle-two"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := Search(Find(name), Options{})
				if r.Breach != nil || !r.Whole {
					b.Fatal(r)
				}
				b.ReportMetric(float64(r.States)/r.Took.Seconds(), "states/cpu-s")
				b.ReportMetric(float64(r.Edges)/r.Took.Seconds(), "edges/cpu-s")
				b.ReportMetric(float64(r.Bytes)/float64(r.States), "peak-bytes/state")
			}
		})
	}
}
