package story

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/sim"
	"nova/sim/world"
)

// Most is how many events a story has, and MostLines how many lines.
const (
	Most      = 12
	MostLines = 20
)

// Story is the story of a breach.
type Story struct {
	Breach *sim.Breach
	Things []Thing
	Events []Told // that matter, in the order in which they happened
	Left   int    // events about the things that were left out, for others matter more
}

// Told is one event that matters.
type Told struct {
	At      core.Ms
	Proc    string
	Verb    string
	Object  string
	Outcome string
	Why     string
	bare    string // of an object: its key without the store
	order   int
	weight  int
}

// Of tells the story of a record: it runs it again.
func Of(rec *sim.Record, scene func(*sim.Sim)) (*Story, *sim.Report) {
	var all []*sim.Event
	x := sim.Watched(rec, scene, nil, func(e *sim.Event) { all = append(all, e) }, nil)
	if x.Report.Breach == nil {
		return nil, x.Report
	}
	return Tell(all, x.Report.Breach), x.Report
}

// Tell tells the story of a breach.
func Tell(all []*sim.Event, b *sim.Breach) *Story {
	s := &Story{Breach: b, Things: things(all, b)}
	var told []Told
	add := func(i int, t *Told) {
		if t == nil {
			return
		}
		e := all[i]
		t.At, t.order = e.At, i
		if t.Proc == "" {
			t.Proc = cmp.Or(e.Proc, "-")
		}
		// What is done to each replica in turn is told once.
		for k := len(told) - 1; k >= max(0, len(told)-6); k-- {
			if o := &told[k]; o.Proc == t.Proc && o.Verb == t.Verb && o.Outcome == t.Outcome && o.bare != "" && o.bare == t.bare && o.Object != t.Object {
				if !strings.Contains(o.Object, string(c0(t.Object))) {
					o.Object = c0(o.Object) + "," + t.Object
				}
				return
			}
		}
		told = append(told, *t)
	}
	last := -1
	for i, e := range all {
		switch {
		case e.What == "BREACH":
		case e.What == "FAULT":
			add(i, strikes(e))
		case e.What == "cut":
			add(i, &Told{Verb: "is cut", Outcome: e.Text, Why: "the process ends here", weight: 85})
		case len(e.Changes) > 0:
			if t := s.changes(e); t != nil {
				last = i
				add(i, t)
			}
		}
	}
	if last >= 0 {
		s.reads(all, last, add)
	}
	s.fade(all, told)
	slices.SortStableFunc(told, func(a, b Told) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(b.weight, a.weight))
	})
	told = slices.CompactFunc(told, func(a, b Told) bool { return a.order == b.order })
	if n := len(told); n > 0 {
		told[n-1].weight = 100 // what broke it
	}
	s.Events = heaviest(told, Most)
	s.Left = len(told) - len(s.Events)
	return s
}

// fade makes little of faults that struck nothing near the things, where there are
// many: a run that is not shrunk is full of them.
func (s *Story) fade(all []*sim.Event, told []Told) {
	faults := 0
	for i := range told {
		if told[i].weight >= 85 && told[i].weight <= 90 {
			faults++
		}
	}
	if faults <= Most/2 {
		return
	}
	for i := range told {
		e := all[told[i].order]
		if told[i].weight < 85 || told[i].weight > 90 {
			continue
		}
		near := false
		for k := range s.Things {
			t := &s.Things[k]
			if e.Op != nil {
				rel, _ := t.Row(sim.KeyOf(e.Op), "")
				near = near || rel > Near || e.Op.IsStore() && e.Op.Key == t.Key
			}
		}
		if !near {
			told[i].weight = 35
		}
	}
}

// heaviest keeps n, the heaviest, and of equals the latest; in order.
func heaviest(told []Told, n int) []Told {
	by := slices.Clone(told)
	slices.SortStableFunc(by, func(a, b Told) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.order, a.order))
	})
	by = by[:min(n, len(by))]
	slices.SortStableFunc(by, func(a, b Told) int { return cmp.Compare(a.order, b.order) })
	return by
}

var (
	keyIn  = regexp.MustCompile(`\b(?:(?:std|exp)-[a-z]/)?(?:data|chain|ref|due|sched|park|stream|writer|trim)/[^\s,:()?]+`)
	blobIn = regexp.MustCompile(`\bblob (\d+)`)
	ofIn   = regexp.MustCompile(`\bstream (\d+)`)
	store  = regexp.MustCompile(`^(?:std|exp)-[a-z]/`)
)

// things is what a breach names: objects and rows by key, a client's bytes by the
// objects that hold them, a stream by its row.
func things(all []*sim.Event, b *sim.Breach) (ts []Thing) {
	add := func(key string) {
		key = store.ReplaceAllString(strings.TrimRight(key, ".;"), "")
		if !slices.ContainsFunc(ts, func(t Thing) bool { return t.Key == key }) {
			ts = append(ts, NewThing(key))
		}
	}
	for _, k := range keyIn.FindAllString(b.What, -1) {
		add(k)
	}
	for _, m := range blobIn.FindAllStringSubmatch(b.What, -1) {
		blob, err := strconv.ParseUint(m[1], 10, 64)
		for _, e := range all {
			for i := range e.Changes {
				if c := &e.Changes[i]; err == nil && c.Kind == world.ObjectPut && holds(c.Object, blob) {
					add(c.Key)
				}
			}
		}
	}
	if m := ofIn.FindStringSubmatch(b.What); m != nil && len(ts) == 0 {
		if id, err := strconv.ParseUint(m[1], 10, 64); err == nil {
			add(fmt.Sprintf("stream/%016x", id))
		}
	}
	return ts
}

// holds reports whether an object holds a client's blob.
func holds(o *world.Object, blob uint64) bool {
	t, err := format.ParseTail(o.Tail(o.Size()), o.Size())
	if err != nil {
		return false
	}
	for i := range t.Footer.Len() {
		c := t.Footer.At(i)
		if c.Off < 0 || c.Len < 0 || c.Off+c.Len > o.Size() {
			continue
		}
		b := o.Body.Slice(c.Off, c.Len)
		if n, _, _, ok := b.Blob(); ok && n == blob {
			return true
		}
	}
	return false
}

var zeros = regexp.MustCompile(`\b0{3,}([0-9a-f]+)`)

// Short is a key without leading zeros.
func Short(key string) string {
	return zeros.ReplaceAllStringFunc(key, func(s string) string { return cmp.Or(strings.TrimLeft(s, "0"), "0") })
}

// Lines is the story, in at most MostLines lines.
func (s *Story) Lines() []string {
	out := []string{fmt.Sprintf("law %s is broken at %d ms:", s.Breach.Law, s.Breach.At-sim.Epoch), "  " + cut(Short(s.Breach.What), 220)}
	var names []string
	for i := range s.Things {
		if i == 3 {
			names = append(names, fmt.Sprintf("%d more", len(s.Things)-3))
			break
		}
		names = append(names, Short(s.Things[i].Key))
	}
	if names != nil {
		out = append(out, "the story of "+strings.Join(names, ", ")+":")
	}
	w := [4]int{}
	for _, e := range s.Events {
		for i, c := range []string{e.Proc, e.Verb, e.Object, e.Outcome} {
			w[i] = max(w[i], min(len(c), 64))
		}
	}
	for _, e := range s.Events {
		out = append(out, strings.TrimRight(fmt.Sprintf("%8d  %-*s  %-*s  %-*s  %-*s  %s", e.At, w[0], e.Proc, w[1], e.Verb, w[2], cut(e.Object, 64), w[3], e.Outcome, e.Why), " "))
	}
	if s.Left > 0 {
		out = append(out, fmt.Sprintf("          (%d more events about it are left out)", s.Left))
	}
	return out
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n-1] + "…"
	}
	return s
}
