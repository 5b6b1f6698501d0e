package html

import (
	"fmt"
	"slices"
	"strings"

	"nova/core"
	"nova/sim"
	"nova/sim/story"
)

// Bounds of a page.
const (
	MostEvents  = 5000     // shown, those before the breach; or the first, if there is none
	MostObjects = 120      // whose lives are shown
	MostStates  = 12 << 20 // bytes of states
)

// Data is the page's island. Events and lives are by index of event, from the
// first that is shown.
type Data struct {
	Title   string   `json:"title"`
	Facts   []Fact   `json:"facts"`
	Window  string   `json:"window"` // which part of the run is shown
	Breach  *Breach  `json:"breach,omitempty"`
	Story   []string `json:"story"`
	Laws    []Law    `json:"laws"`
	Lanes   []Lane   `json:"lanes"`
	Events  []Event  `json:"events"`
	Objects []Object `json:"objects"`
	Opens   int      `json:"opens"` // the event at which the page opens where no law is broken: the first fault or cut
}

// Fact is one line of the head.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Breach is the law that was broken, and at which event.
type Breach struct {
	Law   string `json:"law"`
	What  string `json:"what"`
	Event int    `json:"event"`
}

// Law is the verdict of one.
type Law struct {
	Name   string `json:"name"`
	Looked int64  `json:"looked"` // how often it was evaluated
	Broken bool   `json:"broken"`
}

// Lane is one actor; of clients, as many as were never there together.
type Lane struct {
	Name string `json:"name"`
	Role string `json:"role"` // "star", "auditor", "operator", "client", "world"
	Life []Life `json:"life"`
}

// Life is one process in a lane; it ended after To, or had not (-1).
type Life struct {
	Name string `json:"name"`
	From int    `json:"from"`
	To   int    `json:"to"`
	Cut  bool   `json:"cut"`
}

// Event is one event. State is the process's after it, as a change of the one
// before it in the same process: so many bytes kept at the front, so many at the end.
type Event struct {
	N       int      `json:"n"`
	At      core.Ms  `json:"at"`
	Lane    int      `json:"lane"`
	Proc    string   `json:"proc"`
	What    string   `json:"what"`
	Text    string   `json:"text"`
	Path    string   `json:"path,omitempty"`
	Op      string   `json:"op,omitempty"`
	Key     string   `json:"key,omitempty"`
	Out     string   `json:"out,omitempty"`
	Writes  bool     `json:"writes,omitempty"`
	Changes []string `json:"changes,omitempty"`
	Before  string   `json:"before,omitempty"` // the whole state, where it is the first that is known
	State   *Delta   `json:"state,omitempty"`
}

// Delta is a text as a change of another.
type Delta struct {
	Front int    `json:"f"`
	Back  int    `json:"b"`
	Text  string `json:"t"`
}

// Object is the lives of one object: a key that is deleted and put again has two.
type Object struct {
	Key     string  `json:"key"`
	Named   bool    `json:"named"` // in the breach
	Lives   []Stood `json:"lives"`
	Watched []Watch `json:"watched"`
}

// Stood is one life of an object; it stands still where To is -1.
type Stood struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Watch is one watcher of an object while it stood.
type Watch struct {
	Kind string `json:"kind"`
	Row  string `json:"row"`
	From int    `json:"from"`
	To   int    `json:"to"` // -1: it stands still
}

// Make runs a record again and makes the page's data of it.
func Make(rec *sim.Record, scene func(*sim.Sim)) *Data {
	// States cost much: first it is seen which part of the run is shown.
	n := 0
	first := sim.Watched(rec, scene, nil, func(*sim.Event) { n++ }, nil)
	from, to := 0, n
	if first.Report.Breach != nil {
		from = max(0, n-MostEvents)
	} else {
		to = min(n, MostEvents)
	}
	var all []*sim.Event
	states := from == 0
	x := sim.Watched(rec, scene, nil, func(e *sim.Event) {
		all = append(all, e)
		states = len(all) >= from && len(all) <= to
	}, &states)
	r := x.Report
	d := &Data{Title: fmt.Sprintf("seed %d", rec.Seed)}
	if rec.Planted != "" {
		d.Title += ", planted: " + rec.Planted
	}
	d.facts(rec, x)
	d.Window = fmt.Sprintf("events %d to %d of %d", from+1, to, len(all))
	if r.Breach != nil && from > 0 {
		d.Window += ", the last before the breach"
	} else if to < len(all) {
		d.Window += ", the first"
	}
	d.events(all, from, to)
	d.Opens = max(0, slices.IndexFunc(d.Events, func(e Event) bool { return e.What == "FAULT" || e.What == "cut" }))
	var st *story.Story
	if r.Breach != nil {
		st = story.Tell(all, r.Breach)
		d.Story = st.Lines()
		d.Breach = &Breach{Law: r.Breach.Law.String(), What: r.Breach.What, Event: len(d.Events) - 1}
		for i := range d.Events {
			if d.Events[i].What == "BREACH" {
				d.Breach.Event = i
			}
		}
	}
	for l := sim.LawContract; l <= sim.LawStrikes; l++ {
		d.Laws = append(d.Laws, Law{l.String(), r.Count.Laws[l], r.Breach != nil && r.Breach.Law == l})
	}
	d.lives(all, from, to, st)
	return d
}

func (d *Data) facts(rec *sim.Record, x *sim.Replayed) {
	add := func(name, text string) {
		if text != "" {
			d.Facts = append(d.Facts, Fact{name, text})
		}
	}
	r := x.Report
	add("faults", rec.Plan.String())
	add("run", fmt.Sprintf("%d effects, %d changes, %d ms of its own time", r.Count.Effects, r.Count.Changes, r.Virtual))
	says, _, _ := strings.Cut(x.Says(), ": ")
	add("replay", says)
	if r.Fit != nil {
		fit, _, _ := strings.Cut(r.Fit.String(), "\n")
		add("fit", fit)
	}
	add("source", strings.TrimSpace(rec.Commit+" "+rec.Go))
}

// events takes up the events that are shown, and puts them into lanes.
func (d *Data) events(all []*sim.Event, from, to int) {
	lanes := newLanes(d)
	last := map[string]string{} // the state of each process
	left := MostStates
	for i, e := range all {
		if i < from || i >= to {
			continue
		}
		k := i - from
		x := Event{N: e.N, At: e.At, Proc: e.Proc, What: e.What, Text: clip(e.Text, 400), Path: e.Path}
		if e.Op != nil {
			x.Op, x.Key = e.Op.Kind.String(), sim.KeyOf(e.Op)
			x.Writes = e.Op.Mutates()
		}
		if e.Reply != nil && e.What != "give" {
			x.Out = e.Reply.Outcome.String()
		}
		for c := range e.Changes {
			x.Changes = append(x.Changes, clip(e.Changes[c].String(), 300))
		}
		x.Lane = lanes.of(e, k)
		if e.After != "" {
			if last[e.Proc] == "" {
				x.Before, last[e.Proc] = strings.ToValidUTF8(e.Before, "·"), e.Before
				left -= len(x.Before)
			}
			if dt := delta(last[e.Proc], e.After); left > 0 {
				x.State = &dt
				left -= len(dt.Text)
			}
			last[e.Proc] = e.After
		}
		d.Events = append(d.Events, x)
	}
	if left <= 0 {
		d.Window += "; the states of the last of them are left out"
	}
}

// delta says how a text became another.
func delta(a, b string) Delta {
	f := 0
	for f < len(a) && f < len(b) && a[f] == b[f] {
		f++
	}
	n := 0
	for n < len(a)-f && n < len(b)-f && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	// A script counts other units than bytes: what is kept is cut where both agree.
	for f > 0 && f < len(b) && b[f]&0xc0 == 0x80 {
		f--
	}
	for n > 0 && b[len(b)-n]&0xc0 == 0x80 {
		n--
	}
	return Delta{units(b[:f]), units(b[len(b)-n:]), b[f : len(b)-n]}
}

// units is the length of a text as a script counts it.
func units(s string) (n int) {
	for _, r := range s {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}

func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "·")
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// lanes gives each actor a lane, and clients that never meet one together.
type lanes struct {
	d     *Data
	at    map[string]int // of actors
	procs map[string]int // lanes of processes
}

func newLanes(d *Data) *lanes {
	l := &lanes{d, map[string]int{}, map[string]int{}}
	l.d.Lanes = append(l.d.Lanes, Lane{Name: "world", Role: "world"})
	return l
}

func (l *lanes) of(e *sim.Event, k int) int {
	if e.Proc == "" {
		return 0
	}
	at, ok := l.procs[e.Proc]
	if !ok {
		at = l.begin(e.Proc, e.What, k)
	}
	lane := &l.d.Lanes[at]
	for i := len(lane.Life) - 1; i >= 0; i-- {
		if f := &lane.Life[i]; f.Name == e.Proc {
			if e.What == "cut" || e.What == "ended" {
				f.To, f.Cut = k, e.What == "cut"
			} else if !f.Cut && f.To >= 0 {
				f.To = k // a client is there while it does something
			}
			break
		}
	}
	return at
}

// begin finds a process its lane.
func (l *lanes) begin(proc, what string, k int) int {
	actor, _, _ := strings.Cut(proc, "#")
	role, _, _ := strings.Cut(actor, "-")
	at, ok := -1, false
	if role == "client" || role == "operator" {
		for i := range l.d.Lanes {
			if f := l.d.Lanes[i].Life; l.d.Lanes[i].Role == "client" && f[len(f)-1].To >= 0 && f[len(f)-1].To+8 < k {
				at, ok = i, true
				break
			}
		}
		role, actor = "client", "clients"
	} else {
		at, ok = l.at[actor]
	}
	if !ok {
		at = len(l.d.Lanes)
		l.d.Lanes = append(l.d.Lanes, Lane{Name: actor, Role: role})
		l.at[actor] = at
	}
	to := -1
	if role == "client" || what == "late" { // of one that is gone, what it sent lands still
		to = k
	}
	l.d.Lanes[at].Life = append(l.d.Lanes[at].Life, Life{proc, k, to, false})
	l.procs[proc] = at
	return at
}
