package sim

import (
	"fmt"
	"slices"

	"nova/core"
	"nova/faults"
)

// script replays a record by identity. The lines say in which order effects move,
// and what becomes of each. An effect that a line further on names waits for it.
// One that no line names goes at once, and nothing strikes it: the process that ran
// last first, then the oldest. A line whose effect is not there is passed by, and
// when the effect comes after all, what the line says of it still holds.
//
// While the code is that which made the record, nothing of this happens, and the
// run is the same to the byte.
type script struct {
	*Record
	at       int
	seen     map[ID]*pending
	pos      map[ID]*places
	loosely  []*Line // that strike, and name no effect of their own; in order, less what has struck
	inFlight map[ID]*Line
	slow     map[ID]int64
	nudge    map[ID]int64
	starts   map[string]*Line
	back     map[string]*Line
	stops    map[string]bool
	mourned  map[string][]*Asked
	streams  map[string]uint64 // that clients made, by the client
	plans    map[int]*plan
	last     *Proc // that moved last
	highest  int   // number of a start in the record
	fit      Fit
}

// places is where in a record an effect is struck or lands, in order, and where its
// reply is held and delivered; -1: nowhere.
type places struct {
	land        []int
	hold, reply int
}

var nowhere = places{nil, -1, -1}

// Fit says how far a record still fits the code that replays it.
type Fit struct {
	Reached int      // how many lines of the record were come by
	Lines   int      // of the record that name something that moves, or is asked
	Late    int      // that fit later than they stand
	Missing []string // that fitted never
	New     int      // effects that moved without a line that names them
	News    []string // the first of those
}

// shown is how many of what does not fit are listed.
const shown = 5

// Exact reports whether everything fitted.
func (f *Fit) Exact() bool { return f.Late == 0 && len(f.Missing) == 0 && f.New == 0 }

// String is the fit in a few words, with the first of what does not match.
func (f *Fit) String() string {
	if f.Exact() {
		return fmt.Sprintf("all %d choices match", f.Lines)
	}
	s := fmt.Sprintf("of %d choices %d no longer match and %d match later than they stood; %d effects are not in the record", f.Lines, len(f.Missing), f.Late, f.New)
	for i, m := range f.Missing {
		if i == shown {
			s += fmt.Sprintf("\n  … and %d more that no longer match", len(f.Missing)-i)
			break
		}
		s += "\n  no longer matches: " + m
	}
	for _, n := range f.News {
		s += "\n  not in the record: " + n
	}
	return s
}

func newScript(r *Record) *script {
	sc := &script{Record: r, seen: map[ID]*pending{}, pos: map[ID]*places{}, inFlight: map[ID]*Line{},
		slow: map[ID]int64{}, nudge: map[ID]int64{}, starts: map[string]*Line{}, back: map[string]*Line{}, stops: map[string]bool{}, mourned: map[string][]*Asked{},
		streams: map[string]uint64{}, plans: map[int]*plan{}}
	place := func(id ID) *places {
		p := sc.pos[id]
		if p == nil {
			p = &places{nil, -1, -1}
			sc.pos[id] = p
		}
		return p
	}
	for i, l := range r.Lines {
		if l.ID.Path == Anywhere {
			sc.loosely = append(sc.loosely, l)
			sc.fit.Lines++
			continue
		}
		switch l.Do {
		case DoLand:
			p := place(l.ID)
			p.land = append(p.land, i)
		case DoReply:
			place(l.ID).reply = i
		case DoHold:
			place(l.ID).hold = i
		case DoLeft:
			p := place(l.ID)
			p.land = append(p.land, i)
			if p.reply < 0 {
				p.reply = i
			}
		case DoInFlight:
			sc.inFlight[l.ID] = l
		case DoSlow:
			sc.slow[l.ID] = l.Num
		case DoNudge:
			sc.nudge[l.ID] = l.Num
		case DoStart:
			sc.starts[l.Proc] = l
			sc.highest = max(sc.highest, int(l.Num))
		case DoBack:
			sc.back[l.Proc] = l
		case DoMourn:
			sc.mourned[l.Proc] = append(sc.mourned[l.Proc], l.Ask)
		case DoStop:
			sc.stops[l.Proc] = true
		}
		if l.moves() || l.Do == DoAsk {
			sc.fit.Lines++
		}
	}
	return sc
}

// number is the number in the name of a start: names that do not shift when
// another start is left out.
func (sc *script) number(proc string, n int) int {
	if l := sc.starts[proc]; l != nil {
		return int(l.Num)
	}
	sc.highest = max(sc.highest, n-1) + 1
	return sc.highest
}

// met takes up an effect that was just sent.
func (sc *script) met(e *pending) {
	sc.seen[e.id] = e
	e.places = nowhere
	if p := sc.pos[e.id]; p != nil {
		e.places = *p
	}
}

// dull is what becomes of an effect that no line names.
var dull = &Line{Reply: true}

// meets takes the line that strikes any effect such as this one.
func (sc *script) meets(e *pending) *Line {
	for i, l := range sc.loosely {
		if e.p.Sim.now >= Epoch+l.At && l.ID.Kind == e.op.Kind && l.Key == e.key && l.Actor() == e.p.Actor.Name() && (l.Do == DoLand) == (e.stage != landed) {
			sc.loosely = slices.Delete(sc.loosely, i, i+1)
			return l
		}
	}
	return nil
}

// decides takes the line that says what becomes of an effect that moves.
func (sc *script) decides(e *pending) {
	if e.fate = sc.meets(e); e.fate != nil {
		return
	}
	e.fate = dull
	if e.stage == landed {
		if i := e.places.reply; i >= 0 && sc.Lines[i].Do == DoReply {
			e.fate = sc.Lines[i]
		}
		return
	}
	if ls := e.places.land; len(ls) > 0 {
		if l := sc.Lines[ls[0]]; l.Do == DoLand {
			e.fate = l
		}
		e.places.land = ls[1:]
	}
}

// strike is what strikes an effect as it lands.
func (sc *script) strike(s *Sim, e *pending) faults.Kind {
	k := e.fate.Fault
	if k == faults.CutMark {
		return faults.None // it comes after the reply
	}
	return k
}

// waits reports whether an effect that could move is named further on.
func (sc *script) waits(e *pending) bool {
	if sc.at >= len(sc.Lines) {
		return false
	}
	if e.stage == landed {
		return e.places.reply >= sc.at || e.places.hold >= sc.at
	}
	return len(e.places.land) > 0 && e.places.land[0] >= sc.at
}

// loose is the next effect that no line further on names, or nil.
func (sc *script) loose(s *Sim) (best *pending) {
	for _, e := range s.ready {
		if sc.waits(e) {
			continue
		}
		if best == nil || (e.p == sc.last) != (best.p == sc.last) && e.p == sc.last || (e.p == sc.last) == (best.p == sc.last) && e.serial < best.serial {
			best = e
		}
	}
	return best
}

// calm reports whether it is time for the faults to stop: the next line says so,
// or there is none.
func (sc *script) calm(s *Sim) bool {
	l := sc.want()
	if l == nil {
		return true
	}
	if l.Do != DoCalm && l.Do != DoEnd || s.now < Epoch+l.At {
		return false
	}
	sc.at++
	return true
}

// want is the next line that is to be done, or nil: there is none.
func (sc *script) want() *Line {
	for ; sc.at < len(sc.Lines); sc.at++ {
		if l := sc.Lines[sc.at]; l.moves() || l.Do == DoAsk || l.Do == DoCalm || l.Do == DoEnd {
			return l
		}
	}
	return nil
}

// step does the next thing, as Sim.step does.
func (sc *script) step(s *Sim) bool {
	w := sc.want()
	if w != nil && w.Do == DoAsk && Epoch+w.At <= s.now {
		sc.at++
		if why := sc.ask(s, w.Ask); why != "" {
			sc.misses(w, why)
		}
		return true
	}
	for len(s.timers) > 0 && s.timers[0].at <= s.now {
		s.timers.pop().what()
	}
	if e := sc.loose(s); e != nil {
		sc.moved(s, e)
		return true
	}
	if w == nil {
		if len(s.timers) == 0 {
			return len(s.ready) > 0
		}
		s.now = max(s.now, s.timers[0].at)
		return true
	}
	if w.moves() {
		if e := sc.seen[w.ID]; e != nil && !e.dead && e.ready >= 0 && (e.stage == landed) == (w.Do != DoLand) {
			sc.at++
			s.now = max(s.now, Epoch+w.At)
			sc.last = e.p
			s.act(e)
			return true
		}
	}
	if len(s.timers) > 0 && s.timers[0].at <= Epoch+w.At {
		s.now = max(s.now, s.timers[0].at)
		return true
	}
	if w.moves() || s.now >= Epoch+w.At && (w.Do == DoEnd || !s.faulty) {
		sc.at++ // what is not there will be loose when it comes
		return true
	}
	s.now = max(s.now, Epoch+w.At)
	return true
}

// moved moves an effect without its line.
func (sc *script) moved(s *Sim, e *pending) {
	sc.last = e.p
	if sc.at < len(sc.Lines) && e.stage != landed {
		if len(e.places.land) > 0 {
			sc.fit.Late++
		} else if sc.fit.New++; len(sc.fit.News) < shown {
			sc.fit.News = append(sc.fit.News, e.id.String())
		}
	}
	s.act(e)
}

func (sc *script) misses(l *Line, why string) {
	sc.fit.Missing = append(sc.fit.Missing, fmt.Sprintf("at %d, %s: %s", l.At, l.what(), why))
}

// fits says in the end how far the record fitted.
func (sc *script) fits(now core.Ms) *Fit {
	sc.fit.Reached = sc.at
	for _, l := range sc.loosely {
		if l.At < now-Epoch {
			sc.misses(l, "nothing such moved")
		}
	}
	for i, l := range sc.Lines {
		if i >= sc.at || l.Do != DoLand || l.ID.Path == Anywhere {
			continue
		}
		if sc.seen[l.ID] == nil {
			sc.misses(l, "it never came")
		}
	}
	return &sc.fit
}

// String is an identity in words.
func (id ID) String() string {
	return fmt.Sprintf("%s %s %s %s ~%d", id.Proc, id.Path, id.Kind, orDash(id.Noun), id.N)
}

// what is a line in words.
func (l *Line) what() string {
	if l.Ask != nil {
		return "ask " + l.Ask.String()
	}
	s := fmt.Sprintf("%s %s %s %s %s ~%d", doNames[l.Do], l.ID.Proc, l.ID.Path, l.ID.Kind, orDash(l.Key), l.ID.N)
	if l.Fault != faults.None {
		s += " " + l.Fault.String()
	}
	return s
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Kinds by name, for records.
func kindNamed(name string) (core.Kind, bool) {
	for k := range core.Kinds {
		if core.Kind(k).String() == name {
			return core.Kind(k), true
		}
	}
	return 0, false
}

func faultNamed(name string) (faults.Kind, bool) {
	for _, k := range faults.All() {
		if k.String() == name {
			return k, true
		}
	}
	return faults.None, false
}
