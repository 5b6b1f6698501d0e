package explore

import (
	"flag"
	"testing"
)

var (
	flagWorld = flag.String("world", "", "search this world only")
	flagLimit = flag.Int("limit", 3_000_000, "states, at most")
	flagWhole = flag.Bool("whole", false, "without reduction")
)

func TestTry(t *testing.T) {
	for _, w := range Worlds() {
		if *flagWorld != "" && w.Name != *flagWorld {
			continue
		}
		r := Search(w, Options{Limit: *flagLimit, Whole: *flagWhole})
		t.Log(r)
		for _, l := range r.Trace {
			t.Log(l)
		}
		t.Log(r.Judged, r.Notes)
	}
}
