package sim

import (
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
