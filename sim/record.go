package sim

import (
	"strconv"
	"strings"

	"nova/core"
	"nova/faults"
	"nova/sim/world"
)

// Record is a run as data: what it was given, every choice that was made in it,
// named by what it was made about, and how it ended. It repeats the run to the byte
// while the code is the same, and as far as names still fit once it has changed
// (see script).
type Record struct {
	Seed    uint64
	Plan    faults.Plan
	Effects int  // as given: 0 if drawn
	Instant bool // as given
	Dials   core.Dials
	Dialect world.Dialect
	Commit  string // of the source that ran, or ""
	Go      string // version
	Planted string // the planted bug that it found, or ""

	Sum    uint64 // the run's fingerprint
	Breach *Breach
	Actors []Cast
	Lines  []*Line
	Tape   []uint32 // the raw choices; nil in a record that was edited
}

// Cast is one actor that stands from the beginning.
type Cast struct {
	Name  string
	Role  string // "star", "auditor", "blind"; of other scenes, ""
	Class core.Class
}

// ID is the identity of an effect: the process that sent it, its path, what kind of
// operation it is and on what; numbers in the key do not count, since an earlier
// choice that is left out changes them. N tells those apart that have all of it in
// common, from 1.
//
// A line that strikes may name any such effect (Anywhere) instead: the first of the
// actor, of the kind and with the key, that moves at the line's time or later.
type ID struct {
	Proc string // the actor, and which of its starts: "star-0/2"
	Path string // or Anywhere
	Kind core.Kind
	Noun string
	N    int
}

// Anywhere is the path of a line that names an effect by what it does alone.
const Anywhere = "*"

// Do is what a line says. The set is closed.
type Do uint8

const (
	DoAsk      Do = iota + 1 // a client asks for something
	DoStart                  // a process starts
	DoLand                   // an effect lands, or is struck
	DoReply                  // its reply is delivered
	DoHold                   // its reply is kept for a process that stands still
	DoSlow                   // it is on its way for Num ms
	DoNudge                  // a wait ends after Num ms
	DoInFlight               // what a cut makes of it: Num 0 never lands, 1 lands, 2 lands later
	DoBack                   // a process that was cut is started again after Num ms
	DoStop                   // at the end, a star is cut instead of closed
	DoCalm                   // faults stop
	DoLeft                   // it had not moved when its process, or the run, ended
	DoEnd                    // the run ended
	DoMourn                  // when a process was cut, a client deletes what it led
	dos
)

var doNames = [dos]string{"?", "ask", "start", "land", "reply", "hold", "slow", "nudge", "in-flight", "back", "stop", "calm", "left", "end", "mourn"}

// Line is one choice.
type Line struct {
	At    core.Ms // true time, since Epoch
	Do    Do
	ID    ID     // of the effect
	Key   string // of the effect, as it was
	Proc  string // DoStart, DoBack, DoMourn: which process; DoStop: which actor
	Num   int64  // DoStart: the number in its name
	Fault faults.Kind
	Args  []uint32 // what else was drawn about the fault
	Early bool     // DoLand, DoInFlight: it was admitted as early as it could be
	Reply bool     // DoLand: its reply is delivered at once
	Skews bool     // DoStart: its clock is off, by Skew
	Skew  core.Ms
	Mark  bool // DoLand, DoReply: what its turn noted ended the process as well
	Ask   *Asked
}

// moves reports whether the line moves an effect of its own.
func (l *Line) moves() bool {
	return (l.Do == DoLand || l.Do == DoReply || l.Do == DoHold) && l.ID.Path != Anywhere
}

// Loosen is the line with its effect named by what it does alone.
func (l *Line) Loosen() *Line {
	x := *l
	x.ID.Path, x.ID.N = Anywhere, 1
	return &x
}

// Of is the process that the line is about, or "".
func (l *Line) Of() string {
	if l.Proc != "" {
		return l.Proc
	}
	return l.ID.Proc
}

// Actor is the actor that the line is about, or that is asked, or "".
func (l *Line) Actor() string {
	if l.Ask != nil && l.Ask.Star != "" {
		return l.Ask.Star
	}
	name, _, _ := strings.Cut(l.Of(), "/")
	return name
}

// Noun is a key without its numbers.
func Noun(key string) string {
	var b strings.Builder
	digit := false
	for i := range len(key) {
		c := key[i]
		if c >= '0' && c <= '9' {
			if !digit {
				b.WriteByte('#')
			}
			digit = true
			continue
		}
		digit = false
		b.WriteByte(c)
	}
	return b.String()
}

// KeyOf is what an operation is about: of a transaction, the first key that it
// writes.
func KeyOf(op *core.Op) string {
	switch {
	case op.Kind == core.KTxn:
		for i := range op.Txn {
			if op.Txn[i].Verb != core.VIf {
				return op.Txn[i].At.Key
			}
		}
		if len(op.Txn) > 0 {
			return op.Txn[0].At.Key
		}
		return ""
	case op.IsStore():
		return string(op.Store) + "/" + op.Key
	}
	return op.Key
}

// identify gives an effect its identity, in a run that is recorded or replayed.
func (s *Sim) identify(e *pending) {
	if s.rec == nil && s.script == nil {
		return
	}
	e.key = KeyOf(&e.op)
	e.id = ID{Proc: e.p.id, Path: e.at.String(), Kind: e.op.Kind, Noun: Noun(e.key)}
	if e.p.sent == nil {
		e.p.sent = map[ID]int{}
	}
	e.p.sent[e.id]++
	e.id.N = e.p.sent[e.id]
	if s.script != nil {
		s.script.met(e)
	}
}

// recorder makes the record of a run. A nil one records nothing: that is what it
// costs a run that is not recorded.
type recorder struct {
	Record
	now   *Line             // of the effect that moves now
	made  map[uint64]string // who made each stream first
	plans map[*plan]int
	reads int
}

func newRecorder(s *Sim) *recorder {
	r := &recorder{made: map[uint64]string{}, plans: map[*plan]int{}}
	r.Seed, r.Plan, r.Effects, r.Instant = s.Seed, s.Plan, s.given.Effects, s.given.Instant
	r.Dials, r.Dialect = s.Dials, s.W.Dialect
	if s.script != nil {
		r.Effects, r.Commit, r.Go = s.script.Effects, s.script.Commit, s.script.Go
	}
	return r
}

func (r *recorder) add(s *Sim, l *Line) *Line {
	l.At = s.now - Epoch
	r.Lines = append(r.Lines, l)
	return l
}

// about adds a line about an effect.
func (r *recorder) about(s *Sim, d Do, e *pending) *Line {
	return r.add(s, &Line{Do: d, ID: e.id, Key: e.key})
}

// end closes the record.
func (r *recorder) end(s *Sim) *Record {
	r.Sum, r.Breach = s.sum, s.breach
	r.add(s, &Line{Do: DoEnd})
	for _, p := range s.procs {
		r.leaves(s, p)
	}
	if s.script == nil {
		r.Tape = s.tape.Played()
	}
	rec := r.Record
	return &rec
}

// leaves notes what of a process could have moved, and had not when it ended.
func (r *recorder) leaves(s *Sim, p *Proc) {
	if r == nil {
		return
	}
	for _, e := range p.pend {
		own := e.op.Kind == core.KWait || e.op.Kind == core.KTake
		if !e.dead && (e.ready >= 0 || !own) {
			r.about(s, DoLeft, e)
		}
	}
}

// moves notes that the scheduler moves an effect.
func (s *Sim) moves(e *pending) {
	if s.script != nil {
		s.script.decides(e)
	}
	if s.rec == nil {
		return
	}
	d := DoLand
	if e.stage == landed {
		if d = DoReply; e.p.paused {
			d = DoHold
		}
	}
	s.rec.now = s.rec.about(s, d, e)
	e.line = s.rec.now
}

// struck notes what strikes the effect that moves; what is drawn until the end of
// the hit is its arguments.
func (s *Sim) struck(k faults.Kind, e *pending) (after func()) {
	if s.rec == nil && s.script == nil {
		return func() {}
	}
	var into *[]uint32
	if s.rec != nil {
		into = &e.line.Args
		if k == faults.CutMark && e.line.Fault != faults.None {
			e.line.Mark = true // within a cut that was to come after the turn
		} else {
			e.line.Fault = k
		}
	}
	var args []uint32
	if s.script != nil {
		args = e.fate.Args
	}
	return s.tape.lend(args, into)
}

// early says whether a store admitted a request as early as it could have.
func (s *Sim) early(e *pending) (yes bool) {
	if s.script != nil {
		yes = e.fate != nil && e.fate.Early
	} else if s.rec == nil {
		return s.tape.Chance(1, 4)
	} else {
		defer s.tape.lend(nil, nil)()
		yes = s.tape.Chance(1, 4)
	}
	if yes && s.rec != nil && e.line != nil {
		e.line.Early = true
	}
	return yes
}

// atOnce says whether an effect that has just landed is answered at once.
func (s *Sim) atOnce(e *pending) (yes bool) {
	if s.script != nil {
		yes = e.fate.Reply
	} else {
		yes = s.tape.Choose(4) < 3
	}
	if yes && s.rec != nil {
		e.line.Reply = true
	}
	return yes
}

// inFlight says what a cut makes of an effect: 0 it never lands, 1 at once, 2
// later. What is drawn until after is called is about it.
func (s *Sim) inFlight(e *pending) (n int, after func()) {
	if s.rec == nil && s.script == nil {
		return s.tape.Choose(3), func() {}
	}
	var args []uint32
	if s.script != nil {
		e.fate = s.script.inFlight[e.id]
		if e.fate != nil {
			n, args = int(e.fate.Num), e.fate.Args
		}
	} else {
		back := s.tape.lend(nil, nil)
		n = s.tape.Choose(3)
		back()
	}
	var into *[]uint32
	if s.rec != nil {
		e.line = s.rec.about(s, DoInFlight, e)
		e.line.Num = int64(n)
		into = &e.line.Args
	}
	return n, s.tape.lend(args, into)
}

// named numbers a start, and says which of its actor's it is.
func (s *Sim) named(p *Proc) {
	name := p.Actor.Name()
	if s.startsOf == nil {
		s.startsOf = map[string]int{}
	}
	s.startsOf[name]++
	p.id = name + "/" + strconv.Itoa(s.startsOf[name])
	s.starts++
	n := s.starts
	if s.script != nil {
		n = s.script.number(p.id, n)
	}
	p.Name = name + "#" + strconv.Itoa(n)
	if s.rec != nil {
		p.line = s.rec.add(s, &Line{Do: DoStart, Proc: p.id, Num: int64(n)})
	}
}

// skewed draws whether a process's clock is off, and by how much.
func (s *Sim) skewed(p *Proc) (off core.Ms, yes bool) {
	if s.script != nil {
		if l := s.script.starts[p.id]; l != nil && l.Skews {
			off, yes = l.Skew, true
		}
	} else if p.dates() && s.strikes(faults.Ahead) {
		off, yes = tenYears, true
	} else if s.strikes(faults.Skew) {
		off, yes = s.skewFrom+s.apart(), true
	}
	switch {
	case off == tenYears:
		s.harms(faults.Ahead)
	case off != 0:
		s.harms(faults.Skew)
	}
	if yes && s.rec != nil {
		p.line.Skews, p.line.Skew = true, off
	}
	return off, yes
}

// comesBack draws whether, and after how long, the actor of a process that was cut
// is started again.
func (s *Sim) comesBack(p *Proc) (wait core.Ms, yes bool) {
	if s.script != nil {
		if l := s.script.back[p.id]; l != nil {
			wait, yes = core.Ms(l.Num), true
		}
	} else {
		defer s.tape.lend(nil, nil)()
		if wait, yes = s.drawRestart(), true; wait < 0 {
			yes = false
		}
	}
	if yes && s.rec != nil {
		s.rec.add(s, &Line{Do: DoBack, Proc: p.id, Num: int64(wait)})
	}
	return wait, yes
}

// cutsAtEnd draws whether a star is cut instead of closed when the run ends.
func (s *Sim) cutsAtEnd(a Actor) (yes bool) {
	if s.script != nil {
		yes = s.script.stops[a.Name()]
	} else {
		yes = s.tape.Choose(3) == 2
	}
	if yes && s.rec != nil {
		s.rec.add(s, &Line{Do: DoStop, Proc: a.Name()})
	}
	return yes
}

// slowed is how long an effect is on its way.
func (s *Sim) slowed(e *pending) (d core.Ms) {
	if s.script != nil {
		d = core.Ms(s.script.slow[e.id])
	} else {
		d = s.delay(e)
	}
	if d > 0 && s.rec != nil {
		s.rec.about(s, DoSlow, e).Num = int64(d)
	}
	return d
}

// nudged is after how long a wait ends that would last left, or -1: in its time.
func (s *Sim) nudged(e *pending, left int) (d core.Ms) {
	d = -1
	if s.script != nil {
		if n, ok := s.script.nudge[e.id]; ok {
			d = core.Ms(n)
		}
	} else if left > 1 && s.tape.Chance(1, 32) {
		d = core.Ms(s.tape.Choose(left))
	}
	if d >= 0 && s.rec != nil {
		s.rec.about(s, DoNudge, e).Num = int64(d)
	}
	return d
}
