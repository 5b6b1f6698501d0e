// Package shrink looks for the shortest story of a breach.
//
// It takes choices out of a record, in pieces that halve: faults, whole actors,
// requests, restarts, and the order in which effects moved. What is left out goes by
// default when the record is replayed: nothing strikes it, a process runs on as long
// as it can, the oldest goes first. A piece is gone for good if the run without it
// breaks the same law. Of law 8, which whatever is left over breaks, it must leave the
// same thing, with an auditor there to do the work.
package shrink

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"nova/core"
	"nova/faults"
	"nova/sim"
)

// Options bound the search.
type Options struct {
	Scene  func(*sim.Sim)
	Budget time.Duration // 0: a minute
	Runs   int           // 0: 20,000
	Log    io.Writer     // one line a pass, if not nil
}

// Count is how much a record says, by what it says.
type Count struct {
	Actors, Clients, Faults, Restarts, Moves int
}

func (c Count) String() string {
	return fmt.Sprintf("%d actors, %d requests, %d faults, %d restarts, %d moves", c.Actors, c.Clients, c.Faults, c.Restarts, c.Moves)
}

// Counts counts what a record says.
func Counts(r *sim.Record) (c Count) {
	c.Actors = len(r.Actors)
	for _, l := range r.Lines {
		switch {
		case l.Do == sim.DoAsk:
			c.Clients++
		case l.Do == sim.DoBack:
			c.Restarts++
		case strikes(l):
			c.Faults++
		case moves(l):
			c.Moves++
		}
	}
	return c
}

// ErrHolds is returned for a record whose replay breaks no law, or another one.
var ErrHolds = errors.New("the replay does not break the law that the record breaks")

// Shrink returns a record of the same breach that says less, its replay, and how
// many runs it took. The record's own law is the oracle: by its number, and of law 8
// by what is left as well.
func Shrink(rec *sim.Record, o Options) (*sim.Record, *sim.Report, int, error) {
	if rec.Breach == nil {
		return nil, nil, 0, fmt.Errorf("%w: the record has none", ErrHolds)
	}
	if o.Budget == 0 {
		o.Budget = time.Minute
	}
	if o.Runs == 0 {
		o.Runs = 20_000
	}
	s := &search{o: o, until: time.Now().Add(o.Budget), rng: rand.New(rand.NewPCG(rec.Seed, 0))}
	end := s.until
	s.aims = struck(rec, o.Scene)
	from := rec
	if len(rec.Lines) > long {
		from = s.shorter(rec)
	}
	s.until = time.Now().Add(time.Until(end) / 3)
	small, report, err := s.less(from)
	// What does not become short may have begun with an unlucky run: another seed's may.
	for err == nil && Counts(small).events() > enough && time.Until(end) > o.Budget/6 && s.runs < o.Runs {
		s.until = end
		from := s.shorter(rec)
		if from == rec {
			continue
		}
		s.until = time.Now().Add(time.Until(end) / 3)
		if x, r, err := s.less(from); err == nil && Counts(x).events() < Counts(small).events() {
			small, report = x, r
		}
	}
	if s.until = end; err == nil && Counts(small).events() > enough && !s.over() {
		small, report, err = s.less(small)
	}
	if err != nil {
		return nil, report, s.runs, err
	}
	return small, report, s.runs, nil
}

// enough is how few events need no further search.
const enough = 12

// events is how many things happen to the run that do not by themselves.
func (c Count) events() int { return c.Clients + c.Faults + c.Restarts + c.Moves }

// less takes a record apart for as long as its law breaks.
func (s *search) less(rec *sim.Record) (*sim.Record, *sim.Report, error) {
	s.effects, s.hasty = 0, 0
	r := *rec
	r.Tape, r.Lines = nil, slices.Clone(rec.Lines)
	first := s.run(&r)
	if !same(first, rec) {
		return nil, first, ErrHolds
	}
	r.Breach = first.Breach
	s.best, s.report, s.effects = &r, first, int(first.Count.Effects)
	s.sure, s.sureOf = s.best, s.report
	if r.Breach.Law == sim.LawDrains && strings.Contains(r.Breach.What, sim.WorkLeft) {
		s.hasty = (r.Breach.At - first.Calm) / haste
	}
	s.tail()
	for round := 1; ; round++ {
		before := Counts(s.best)
		s.pass("order", s.order)
		s.pass("actors", s.actors)
		s.pass("requests", s.requests)
		s.pass("faults", s.faults)
		s.pass("restarts", s.restarts)
		s.pass("names", s.names)
		s.pass("moves", s.moves)
		s.pass("details", s.details)
		if Counts(s.best) == before {
			s.pass("pairs", s.pairs)
		}
		if s.over() || Counts(s.best) == before {
			break
		}
	}
	// Without an auditor nothing drains: a replay goes no further than the record.
	if !audited(s.best) && !calms(s.best) {
		s.best.Instant = true
	}
	// The record says of itself what its replay is.
	s.best.Sum, s.best.Breach = s.report.Sum, s.report.Breach
	return s.best, s.report, nil
}

// haste is by how much less is waited for work to drain while the search goes on: a
// run that waits for all of it costs a hundred of those that break another law. What
// the search has come to at the end of each pass is made sure of.
const haste = 6

type search struct {
	o       Options
	until   time.Time
	rng     *rand.Rand   // of other runs
	aims    []faults.Aim // how a run is told to strike as the record's was struck
	runs    int
	effects int
	best    *sim.Record
	report  *sim.Report // of the best
	hasty   core.Ms     // how long work may take to drain; 0: as long as it may
	sure    *sim.Record // the last that was made sure of
	sureOf  *sim.Report
}

// makeSure waits for all of the time in which the work of the best may drain; where
// that shows that it does, the search goes back, and is not hasty any more.
func (s *search) makeSure() {
	if s.hasty == 0 || s.best == s.sure {
		return
	}
	hasty := s.hasty
	s.hasty = 0
	if x := s.run(s.best); same(x, s.best) {
		s.report, s.hasty = x, hasty
		s.best.Breach = x.Breach
		s.sure, s.sureOf = s.best, x
		return
	}
	s.best, s.report = s.sure, s.sureOf
}

func (s *search) over() bool { return s.runs >= s.o.Runs || time.Now().After(s.until) }

func (s *search) run(r *sim.Record) *sim.Report {
	s.runs++
	c := sim.Config{Script: r, Scene: s.o.Scene, Instant: !calms(r), Patience: s.hasty}
	if s.effects > 0 {
		c.Effects = 2*s.effects + 500
	}
	return sim.Guarded(c)
}

// calms reports whether the breach comes after the faults have stopped.
func calms(r *sim.Record) bool {
	return slices.ContainsFunc(r.Lines, func(l *sim.Line) bool { return l.Do == sim.DoCalm })
}

func same(r *sim.Report, rec *sim.Record) bool {
	switch {
	case r.Breach == nil || r.Breach.Law != rec.Breach.Law:
		return false
	case r.Breach.Law == sim.LawDrains:
		return Kind(r.Breach) == Kind(rec.Breach) && (audited(rec) || rec.Actors == nil)
	}
	return true
}

// audited reports whether there is somebody to do the work.
func audited(r *sim.Record) bool {
	return slices.ContainsFunc(r.Actors, func(c sim.Cast) bool { return c.Role == "auditor" || c.Role == "blind" })
}

// try keeps a record if it breaks the law still.
func (s *search) try(lines []*sim.Line, actors []sim.Cast) bool {
	if s.over() {
		return false
	}
	r := *s.best
	r.Lines, r.Actors = lines, actors
	x := s.run(&r)
	if !same(x, &r) {
		return false
	}
	r.Breach = x.Breach
	s.best, s.report = &r, x
	return true
}

func (s *search) pass(name string, f func()) {
	if s.over() {
		return
	}
	f()
	s.tail()
	s.makeSure()
	if s.o.Log != nil {
		fmt.Fprintf(s.o.Log, "%6d runs, after %s: %s\n", s.runs, name, Counts(s.best))
	}
}

// tail leaves out what was not come by when the law broke, and says when that was.
func (s *search) tail() {
	lines := s.best.Lines
	kept := slices.Clone(lines[:min(len(lines), s.report.Fit.Reached)])
	for _, l := range lines[len(kept):] {
		if !moves(l) && l.Do != sim.DoAsk && l.Do != sim.DoCalm && l.Do != sim.DoEnd {
			kept = append(kept, l) // it is looked up by name: where it stands says nothing
		}
	}
	kept = slices.DeleteFunc(kept, func(l *sim.Line) bool { return l.Do == sim.DoEnd })
	kept = append(kept, &sim.Line{Do: sim.DoEnd, At: s.report.Breach.At - sim.Epoch})
	s.try(kept, s.best.Actors)
}

func strikes(l *sim.Line) bool { return l.Fault != 0 }

// moves reports whether the line says only when, or how, an effect moved.
func moves(l *sim.Line) bool {
	switch l.Do {
	case sim.DoLand, sim.DoReply:
		return !strikes(l)
	case sim.DoHold, sim.DoLeft, sim.DoSlow, sim.DoNudge, sim.DoInFlight:
		return true
	}
	return false
}

var numbers = regexp.MustCompile("[0-9a-f]*[0-9][0-9a-f]*")

// Kind is a breach without its numbers: two that differ in nothing else are of one
// kind.
func Kind(b *sim.Breach) string {
	return b.Law.String() + ": " + numbers.ReplaceAllString(strings.TrimSpace(b.What), "#")
}
