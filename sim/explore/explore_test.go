package explore

import (
	"flag"
	"fmt"
	goformat "go/format"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nova/core"
	"nova/core/duty"
	"nova/core/keys"
	"nova/faults"
	"nova/plain"
)

var (
	flagAll     = flag.Bool("all", false, "search every world, however large")
	flagRewrite = flag.Bool("rewrite", false, "write counts.go anew")
)

// quick is how many states a world has at most that every test run searches.
const quick = 600_000

// Every world is exhausted, no law breaks, and it has the states that it had: a
// change of a machine that changes none of its orders changes no count.
func TestWorlds(t *testing.T) {
	searched, found := 0, map[string]int{}
	for _, w := range Worlds() {
		t.Run(w.Name, func(t *testing.T) {
			if w.States > quick && !*flagAll {
				// The first states of a large world, for what breaks early.
				if r := Search(w, Options{Limit: 50_000}); r.Breach != nil {
					t.Errorf("%s\n%s", r, strings.Join(r.Trace, "\n"))
				}
				return
			}
			searched++
			r := Search(w, Options{})
			if r.Breach != nil {
				t.Fatalf("%s\n%s", r, strings.Join(r.Trace, "\n"))
			}
			found[w.Name] = r.States
			if *flagRewrite && *flagAll {
				t.Log(r)
			} else if !r.Whole || r.States != w.States {
				t.Errorf("%s; it was made with %d states", r, w.States)
			}
			for _, law := range [...]int{0, 1, 5, 8} {
				if r.Judged[law] == 0 && (law != 8 || r.Rests > 0) {
					t.Errorf("law %d was judged on nothing", law)
				}
			}
			if r.Rests+r.Ends == 0 {
				t.Error("no order of events comes to rest")
			}
		})
	}
	if searched < 3 {
		t.Errorf("%d worlds are small enough to be searched every time", searched)
	}
	if *flagRewrite && *flagAll && !t.Failed() {
		rewrite(t, found)
	}
}

// rewrite writes how many states each world has where the worlds read it.
func rewrite(t *testing.T, found map[string]int) {
	old, err := os.ReadFile("counts.go")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(old), "{\n")
	text := head + "{\n"
	for _, name := range slices.Sorted(maps.Keys(found)) {
		text += fmt.Sprintf("\t%q: %d,\n", name, found[name])
	}
	src, err := goformat.Source([]byte(text + "}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("counts.go", src, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Reduction leaves out orders, and nothing that can be told apart: the same worlds
// are reached, and the same states at rest.
func TestReductionAgrees(t *testing.T) {
	for _, name := range [...]string{"reap-two", "reap-reader", "collect", "orphan-late", "settle-zombie"} {
		w := Find(name)
		part, whole := Search(w, Options{}), Search(w, Options{Whole: true})
		if part.Breach != nil || whole.Breach != nil {
			t.Fatalf("%s\n%s", part, whole)
		}
		if part.Worlds != whole.Worlds || part.Rests != whole.Rests {
			t.Errorf("with reduction: %s\nwithout:        %s", part, whole)
		}
		if part.States >= whole.States {
			t.Errorf("%s: reduction leaves %d of %d states", name, part.States, whole.States)
		}
		if !reflect.DeepEqual(part.Points, whole.Points) {
			t.Errorf("%s: other places of the source emit: %v, %v", name, part.Points, whole.Points)
		}
	}
}

// A search that found out who writes what as it went, and kept its tables, is the
// search that knew it from the beginning.
func TestGuessesLeadToTheSearchThatNeedsNone(t *testing.T) {
	guesses := 0
	for _, name := range [...]string{"reap-two", "reap-reader", "collect", "orphan-late", "settle-zombie"} {
		w := Find(name)
		r, x := guessed(w, Options{})
		guesses += r.Guesses - 1
		known := maps.Clone(x.prints.seen)
		y := newTables(w, x.prints)
		s := y.search(Options{}, &set{})
		if s == nil {
			t.Errorf("%s: a search under all that was seen began again", name)
			continue
		}
		if r.States != s.States || r.Edges != s.Edges || r.Depth != s.Depth || r.Rests != s.Rests || r.Ends != s.Ends {
			t.Errorf("%s\nwith guesses:    %s\nwithout guesses: %s", name, r, s)
		}
		if !maps.Equal(known, y.prints.seen) {
			t.Errorf("%s: a search under all that was seen saw more: %v, then %v", name, known, y.prints.seen)
		}
	}
	if guesses < 5 {
		t.Errorf("%d wrong guesses in all: the test shows nothing", guesses)
	}
}

// A breach is found with reduction where it is found without, and by a way that
// ends with it.
func TestReductionFindsWhatTheWholeFinds(t *testing.T) {
	for _, c := range []struct {
		name string
		law  int
		make func() *World
	}{
		{"an object is deleted at once", 4, func() *World {
			w := reapTwo()
			w.Actors[1] = hasty()
			return w
		}},
		{"an object is deleted and its marker stays", 8, func() *World {
			w := reapTwo()
			w.leaves = nil
			return w
		}},
	} {
		part, whole := Search(c.make(), Options{}), Search(c.make(), Options{Whole: true})
		if part.Breach == nil || whole.Breach == nil || part.Breach.Law != c.law || whole.Breach.Law != c.law {
			t.Fatalf("%s:\n%s\n%s", c.name, part, whole)
		}
		if len(part.Trace) < 3 || strings.Contains(part.Trace[0], "not met again") {
			t.Errorf("%s: the way to the breach: %q", c.name, part.Trace)
		}
	}
}

// rash is a reap-check that deletes at the first sight.
type rash struct {
	call core.Call
	del  core.Call
	key  string
}

func hasty() Actor {
	return Audits("auditor-b", keys.Reap, func(m *rash, t core.Turn, e *core.Env, due *duty.Due) core.Verdict {
		if m.key == "" {
			if _, ok := m.del.Await(t, core.Delete(core.Obj{Store: "std", Key: due.Object})); !ok {
				return core.Working
			}
			m.key = due.Object
		}
		if _, ok := m.call.AwaitFunc(t, func() core.Op { return due.Resolve() }); !ok {
			return core.Working
		}
		return core.Done
	})
}

// Together the worlds let every duty work, and stand at every row of the crash
// table: where an effect of the row is emitted in a world that may be cut, the
// search cuts there, before it, after it and without its reply.
func TestWorldsCoverTheDutiesAndTheCrashTable(t *testing.T) {
	points, marks, queues := map[string]bool{}, map[string]bool{}, map[keys.Queue]bool{}
	for _, w := range Worlds() {
		for i := range w.Actors {
			if w.Actors[i].audit {
				queues[w.Actors[i].queue] = true
			}
		}
		if w.Faults.Cuts == 0 {
			continue
		}
		r := Search(w, Options{Limit: 400_000})
		if r.Breach != nil {
			t.Fatalf("%s\n%s", r, strings.Join(r.Trace, "\n"))
		}
		for _, p := range r.Points {
			points[p] = true
		}
		for m := range r.Notes {
			marks[m] = true
		}
	}
	if len(queues) != keys.Queues {
		t.Errorf("only %d of %d duties work in some world", len(queues), keys.Queues)
	}
	for _, row := range faults.Table {
		stood := false
		for _, c := range row.Cuts {
			stood = stood || c.Point != "" && points[c.Point] || c.Point == "" && marks[c.Mark.String()]
		}
		if !stood {
			t.Errorf("no world stands at %s (%s)", row.Name, row.Cut)
		}
	}
}

// Every strategy finds a bug that is there, and tells the way to it.
func TestStrategiesFind(t *testing.T) {
	for s := range Exhaustive {
		w := reapTwo()
		w.Actors[1] = hasty()
		r := Walk(w, WalkOptions{Strategy: s, Seed: 1, Runs: 20_000})
		if r.Breach == nil || r.Breach.Law != 4 || len(r.Trace) == 0 {
			t.Errorf("%s: %s", s, r)
		}
		if again := Walk(w, WalkOptions{Strategy: s, Seed: 1, Runs: 20_000}); again.Runs != r.Runs || !reflect.DeepEqual(again.Trace, r.Trace) {
			t.Errorf("%s: the same seed takes %d walks, and %d", s, r.Runs, again.Runs)
		}
		if sound := Walk(reapReader(), WalkOptions{Strategy: s, Seed: 1, Runs: 500}); sound.Breach != nil || sound.Effects < 5000 {
			t.Errorf("%s, without the bug: %s", s, sound)
		}
	}
}

// The wide world has members side by side: two in flight, beside the wait for a
// marker.
func TestTheWideWorldIsWide(t *testing.T) {
	_, x := guessed(Find("settle-wide"), Options{Limit: 5_000})
	most := uint8(0)
	for i := range x.procLooks {
		most = max(most, x.procLooks[i].n)
	}
	if most < 3 {
		t.Errorf("at most %d effects are in flight", most)
	}
}

func TestActorsArePlain(t *testing.T) {
	for _, w := range Worlds() {
		if err := w.Dials.Check(); err != nil {
			t.Errorf("%s: %v", w.Name, err)
		}
	}
	if err := plain.Check(reflect.TypeFor[reading]()); err != nil {
		t.Error(err)
	}
	if len(Worlds()) < 12 {
		t.Errorf("%d worlds", len(Worlds()))
	}
}
