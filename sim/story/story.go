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
	"nova/core/keys"
	"nova/faults"
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

var says = map[faults.Kind]string{
	faults.CutBefore: "the process ends before it lands", faults.CutAfter: "it lands, and the process ends after its turn",
	faults.CutSilent: "it lands, and the process never hears of it", faults.CutUpload: "the process ends, the upload stays",
	faults.LostReply: "it lands, and its answer is lost", faults.Dropped: "it never lands, and nobody knows",
	faults.Late: "it lands later, after it was given up", faults.Refusal: "it is refused", faults.DeleteKey: "this key alone is refused",
	faults.DamagedTip: "the bytes arrive damaged", faults.Pause: "the process stands still", faults.LeaseLost: "its session ends",
	faults.Flaky: "its network is bad for a while",
}

func strikes(e *sim.Event) *Told {
	t := &Told{Verb: "FAULT " + e.Text, Why: "a fault", weight: 90}
	if e.Op != nil {
		t.Object = e.Op.Kind.String() + " " + Short(sim.KeyOf(e.Op))
	}
	for k, why := range says {
		if k.String() == e.Text {
			t.Why = why
		}
	}
	return t
}

// changes tells what an event changed about the things; nil: nothing.
func (s *Story) changes(e *sim.Event) (best *Told) {
	for i := range e.Changes {
		c := &e.Changes[i]
		for k := range s.Things {
			if t := s.change(&s.Things[k], c); t != nil && (best == nil || t.weight > best.weight) {
				best = t
			}
		}
	}
	if best == nil {
		return nil
	}
	// A marker that goes for another that comes later is no loss.
	if again := strings.TrimSuffix(best.Why, " watches it no longer"); again != best.Why && best.weight == 70 {
		for i := range e.Changes {
			for k := range s.Things {
				c := &e.Changes[i]
				if rel, what := s.Things[k].Row(c.Key, c.Val); rel == Watches && what == again && c.Kind == world.RowPut {
					best.Verb, best.Object, best.Why, best.weight = "puts", Short(c.Key), again+" will come again", 30
				}
			}
		}
	}
	switch {
	case e.Reply != nil:
		best.Outcome = e.Reply.Outcome.String()
		if e.What == "late" {
			best.Outcome += ", late"
		}
	default:
		best.Outcome = e.Text
	}
	return best
}

func (s *Story) change(t *Thing, c *world.Change) *Told {
	x := &Told{Object: Short(strings.TrimPrefix(string(c.Store)+"/"+c.Key, "/"))}
	switch c.Kind {
	case world.ObjectPut, world.ObjectDel, world.UploadPut, world.UploadGone:
		if c.Key != t.Key {
			if first, end, ok := t.records(c); ok {
				x.Verb, x.Why, x.weight, x.bare = "writes", fmt.Sprintf("records [%d, %d) of stream %d", first, end, t.stream), 65, c.Key
				return x
			}
			return nil
		}
		x.weight, x.bare = 80, c.Key
		switch c.Kind {
		case world.ObjectPut:
			x.Verb, x.Why = "writes", "the bytes stand"
		case world.ObjectDel:
			x.Verb, x.Why = "deletes", "the bytes are gone"
		case world.UploadPut:
			x.Verb, x.Why, x.weight = "uploads", "parts of an unfinished upload stand", 55
		default:
			x.Verb, x.Why, x.weight = "ends upload", "the upload is gone", 55
		}
		return x
	}
	rel, what := t.Row(c.Key, c.Val)
	was, _ := t.Row(c.Key, c.Was)
	put := c.Kind == world.RowPut
	x.Verb = "puts"
	if !put {
		x.Verb = "removes"
	}
	switch {
	case rel == Itself:
		x.weight, x.Why = 80, cmp.Or(reads(c), "the row itself")
	case put && rel == Names && was != Names:
		x.weight, x.Why = 75, "a ref names it"
	case was == Names && (!put || rel != Names):
		x.weight, x.Why = 78, "no such ref names it any more"
	case rel == Names:
		x.weight, x.Why = 40, "a ref that names it changes"
	case rel == Watches && put:
		x.weight, x.Why = 60, "watched by "+what
	case rel == Watches:
		x.weight, x.Why = 70, what+" watches it no longer"
	case rel == Near && what == "stream" && !put:
		x.weight, x.Why = 50, "the stream's tombstone goes"
	case rel == Near:
		x.weight, x.Why = 20, "beside it: "+cmp.Or(reads(c), what)
		if what == "stream" || strings.HasPrefix(what, "chain ") || what == "trim" {
			x.weight = 45
		}
	default:
		return nil
	}
	return x
}

// records says which records of the stream that the thing is about an object that
// was just written brings.
func (t *Thing) records(c *world.Change) (first, end uint64, ok bool) {
	if c.Kind != world.ObjectPut || !t.row || t.stream == 0 {
		return 0, 0, false
	}
	tail, err := format.ParseTail(c.Object.Tail(c.Object.Size()), c.Object.Size())
	if err != nil {
		return 0, 0, false
	}
	for i := range tail.Footer.Len() {
		if k := tail.Footer.At(i); k.Stream == t.stream {
			if !ok {
				first = k.First
			}
			end, ok = k.End(), true
		}
	}
	return first, end, ok
}

// reads adds the reads on which the last write was decided: the last of each kind
// that its process made before it, about the things.
func (s *Story) reads(all []*sim.Event, last int, add func(int, *Told)) {
	by := all[last].Proc
	seen := map[string]bool{}
	for i := last - 1; i >= 0 && len(seen) < 3; i-- {
		e := all[i]
		if e.Proc != by || e.What != "land" || e.Op == nil || e.Op.Mutates() || !together(e.Path, all[last].Path) {
			continue
		}
		for k := range s.Things {
			if key := e.Op.Kind.String() + sim.Noun(e.Op.Key); s.Things[k].Read(e.Op) && !seen[key] {
				seen[key] = true
				out := e.Reply.Outcome.String()
				if e.Op.Kind == core.KScan {
					out = fmt.Sprintf("%d rows", len(e.Reply.Rows))
				}
				add(i, &Told{Verb: "reads", Object: e.Op.Kind.String() + " " + Short(sim.KeyOf(e.Op)), Outcome: out, Why: "on this it decides", weight: 82})
			}
		}
	}
}

// together reports whether two paths belong to one duty's work.
func together(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	n := min(2, len(x), len(y))
	return slices.Equal(x[:n], y[:n])
}

// c0 is the part of an object's name before the first slash: its stores.
func c0(object string) string {
	st, _, _ := strings.Cut(object, "/")
	return st
}

// reads is what a row says, where that is a few numbers.
func reads(c *world.Change) string {
	if c.Kind == world.RowDel {
		return ""
	}
	switch {
	case strings.HasSuffix(c.Key, "/"+keys.PartHead):
		if h, err := format.DecodeChainHead(c.Val); err == nil {
			return fmt.Sprintf("checkpoint %d, cut %d, state %d", h.Checkpoint, h.Cut, h.State)
		}
	case strings.HasSuffix(c.Key, "/"+keys.PartTrim):
		if t, err := format.DecodeChainTrim(c.Val); err == nil {
			return fmt.Sprintf("trimmed %d, rewritten %d", t.Trimmed, t.Rewritten)
		}
	case strings.HasPrefix(c.Key, "stream/"):
		if t, err := format.DecodeStream(c.Val); err == nil && t.Deleted {
			return "the stream's tombstone"
		}
	}
	return ""
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
