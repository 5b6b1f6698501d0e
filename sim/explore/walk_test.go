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
