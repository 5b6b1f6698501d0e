package html_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"nova/core"
	"nova/faults"
	"nova/sim"
	"nova/sim/html"
	"nova/sim/world"
)

// island is the data of a page, parsed.
func island(t *testing.T, page []byte) *html.Data {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script id="data" type="application/json">(.*?)</script>`).FindSubmatch(page)
	if m == nil {
		t.Fatal("the page has no data")
	}
	d := &html.Data{}
	dec := json.NewDecoder(bytes.NewReader(m[1]))
	dec.DisallowUnknownFields()
	if err := dec.Decode(d); err != nil {
		t.Fatal(err)
	}
	return d
}

// followed follows the states of a process through the page's changes, as its script
// does.
func followed(d *html.Data, proc string) (out []string) {
	var now []uint16 // a script's texts count these
	for i := range d.Events {
		e := &d.Events[i]
		if e.Proc != proc || e.State == nil {
			continue
		}
		if e.Before != "" {
			now = utf16.Encode([]rune(e.Before))
		}
		now = slices.Concat(now[:e.State.Front], utf16.Encode([]rune(e.State.Text)), now[len(now)-e.State.Back:])
		out = append(out, string(utf16.Decode(now)))
	}
	return out
}

func TestPage(t *testing.T) {
	rec := sim.Recorded(sim.Config{Seed: 11, Effects: 500, Scene: sim.Nova}).Record
	path := filepath.Join(t.TempDir(), "run.html")
	if err := html.Write(path, rec, sim.Nova); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// One file that needs nothing else.
	if bad := regexp.MustCompile(`(?i)(src|href)\s*=|https?://|@import|url\(`).Find(page); bad != nil {
		t.Errorf("the page refers to something: %q", bad)
	}
	if len(page) > 16<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	d := island(t, page)
	if len(d.Events) == 0 || len(d.Events) > html.MostEvents || len(d.Objects) == 0 || len(d.Objects) > html.MostObjects || d.Window == "" || d.Breach != nil {
		t.Fatalf("%d events, %d objects, window %q, breach %v", len(d.Events), len(d.Objects), d.Window, d.Breach)
	}
	seen := map[string]bool{}
	for i := range d.Events {
		e := &d.Events[i]
		seen[e.What] = true
		if e.Lane < 0 || e.Lane >= len(d.Lanes) {
			t.Fatalf("event %d is in lane %d of %d", i, e.Lane, len(d.Lanes))
		}
	}
	for _, what := range []string{"land", "reply", "ask", "start", "calm"} {
		if !seen[what] && len(d.Events) < html.MostEvents {
			t.Errorf("no event %q", what)
		}
	}
	watched := 0
	for _, o := range d.Objects {
		watched += len(o.Watched)
		last := 0
		for i, l := range o.Lives {
			if l.From < last || l.To >= 0 && l.To < l.From || l.To < 0 && i < len(o.Lives)-1 {
				t.Errorf("%s lives %v", o.Key, o.Lives)
			}
			last = l.To
		}
		if o.Lives == nil {
			t.Errorf("%s never stands", o.Key)
		}
	}
	if watched == 0 {
		t.Error("nothing watches anything")
	}
	if len(d.Laws) != 10 {
		t.Errorf("%d laws", len(d.Laws))
	}
}

// Where no law is broken the page opens at the first fault or cut.
func TestPageOpensAtTheFirstFault(t *testing.T) {
	plan := faults.Plan{}
	plan.Rate[faults.CutAfter] = 20_000
	for _, c := range []sim.Config{{Seed: 11, Effects: 500, Plan: &plan, Scene: sim.Nova}, {Seed: 11, Effects: 300, Plan: &faults.Plan{}, Scene: sim.Nova}} {
		d := html.Make(sim.Recorded(c).Record, sim.Nova)
		struck := slices.IndexFunc(d.Events, func(e html.Event) bool { return e.What == "FAULT" || e.What == "cut" })
		if (struck > 0) != (c.Plan.Rate[faults.CutAfter] > 0) || d.Opens != max(0, struck) || d.Breach != nil {
			t.Errorf("it opens at %d; first struck is %d, breach %v", d.Opens, struck, d.Breach)
		}
	}
}

// lawless judges nothing.
type lawless struct{}

func (lawless) Changed(*sim.Sim, *core.Op, []world.Change) {}
func (lawless) Acked(*sim.Sim, *sim.Chunk)                 {}
func (lawless) Still(bool)                                 {}

// again is an actor that puts an object, deletes it, and puts it again.
type again struct{ obj core.Obj }

func (a *again) Name() string                  { return "again-0" }
func (a *again) Boot(p *sim.Proc) core.Machine { return &putsTwice{obj: a.obj} }

type putsTwice struct {
	obj  core.Obj
	did  int
	call core.Call
}

func (m *putsTwice) Step(t core.Turn) bool {
	for m.did < 3 {
		op := core.Create(m.obj, core.Bytes("bytes"), t.Now+500)
		if m.did == 1 {
			op = core.Delete(m.obj)
		}
		if r, ok := m.call.Await(t.In(1), op); !ok {
			return false
		} else if r.Outcome == core.OK {
			m.did++
		}
	}
	return true
}

// A key that is deleted and put again has two lives, with nothing between them; that
// one of its replicas goes, or comes, ends none.
func TestPageOfTwoLives(t *testing.T) {
	const key = "data/b/again"
	c := sim.Config{Seed: 5, Effects: 900, Plan: &faults.Plan{}, Instant: true, Scene: func(s *sim.Sim) {
		sim.Nova(s)
		s.Laws = lawless{} // nobody watches it
		s.Start(&again{core.Obj{Store: "std-a", Key: key}})
	}}
	d := html.Make(sim.Recorded(c).Record, c.Scene)
	i := slices.IndexFunc(d.Objects, func(o html.Object) bool { return o.Key == key })
	if i < 0 {
		t.Fatal("it is not shown")
	}
	l := d.Objects[i].Lives
	if len(l) != 2 || l[0].To <= l[0].From || l[1].From <= l[0].To || l[1].To != -1 {
		t.Errorf("it lives %v", l)
	}
}

// The states that the page's changes make are those that the processes had.
func TestPageStates(t *testing.T) {
	rec := sim.Recorded(sim.Config{Seed: 12, Effects: 200, Scene: sim.Nova}).Record
	var all []*sim.Event
	states := true
	sim.Watched(rec, sim.Nova, nil, func(e *sim.Event) { all = append(all, e) }, &states)
	d := html.Make(rec, sim.Nova)
	procs := map[string][]string{}
	for i, e := range all {
		if i < len(d.Events) && e.After != "" {
			procs[e.Proc] = append(procs[e.Proc], e.After)
		}
	}
	n := 0
	for proc, want := range procs {
		got := followed(d, proc)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %d states, want %d", proc, len(got), len(want))
		}
		n += len(got)
	}
	if n < 200 {
		t.Errorf("%d states", n)
	}
}

// A breach is shown with its story, and its objects first.
func TestPageOfABreach(t *testing.T) {
	c := sim.Config{Seed: 13, Effects: 900, Scene: func(s *sim.Sim) {
		sim.Nova(s)
		s.After(2500, func() { breaks(s) })
	}}
	rec := sim.Recorded(c).Record
	if rec.Breach == nil {
		t.Fatal("it breaks no law")
	}
	d := html.Make(rec, c.Scene)
	if d.Breach == nil || d.Events[d.Breach.Event].What != "BREACH" || len(d.Story) == 0 || len(d.Story) > 20 {
		t.Fatalf("breach %v, story %q", d.Breach, d.Story)
	}
	if len(d.Objects) == 0 || !d.Objects[0].Named || !strings.Contains(d.Breach.What, d.Objects[0].Key) {
		t.Errorf("the first object is not the one that the breach names: %q", d.Breach.What)
	}
}

// breaks says of some object that it broke a law.
func breaks(s *sim.Sim) {
	for _, b := range s.W.Buckets() {
		for i := range b.Len() {
			s.Breach(sim.LawWatched, "%s:%s: a test says so", b.Name, b.Object(i).Key)
			return
		}
	}
	s.After(100, func() { breaks(s) })
}
