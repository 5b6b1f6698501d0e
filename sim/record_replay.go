package sim

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
)

// Replayed is what a replay of a record came to.
type Replayed struct {
	Report    *Report
	Identical bool // the run is the same to the byte
	Same      bool // it breaks the law that the record breaks
}

// Replay runs a record again: from its tape, and where that is another run by now,
// by identity. The log, if not nil, is that of the run which the report is about.
func Replay(rec *Record, scene func(*Sim), log io.Writer) *Replayed {
	return Watched(rec, scene, log, nil, nil)
}

// Watched is Replay with a watcher of that run, and while it wants them, the states
// of processes (Config.States).
func Watched(rec *Record, scene func(*Sim), log io.Writer, watch func(*Event), states *bool) *Replayed {
	same := func(r *Report) *Replayed {
		x := &Replayed{Report: r, Identical: r.Sum == rec.Sum}
		x.Same = r.Breach != nil && rec.Breach != nil && r.Breach.Law == rec.Breach.Law
		return x
	}
	heard := func(c Config) Config {
		c.Log, c.Watch, c.States = log, watch, states
		return c
	}
	if rec.Tape != nil {
		plan, dials := rec.Plan, rec.Dials
		c := Config{Seed: rec.Seed, Plan: &plan, Choices: rec.Tape, Dials: &dials, Effects: rec.Effects, Instant: rec.Instant, Scene: scene}
		if x := same(Guarded(c)); x.Identical {
			if log != nil || watch != nil {
				Guarded(heard(c))
			}
			return x
		}
	}
	return same(Guarded(heard(Config{Script: rec, Scene: scene})))
}

// Says is what the replay came to in words.
func (x *Replayed) Says() string {
	r := x.Report
	var b strings.Builder
	switch {
	case x.Identical && r.Breach != nil:
		fmt.Fprintf(&b, "identical: it breaks law %d after %d effects: %s", r.Breach.Law, r.Count.Effects, r.Breach.What)
	case x.Identical:
		fmt.Fprintf(&b, "identical: every law holds, %d effects", r.Count.Effects)
	case x.Same:
		fmt.Fprintf(&b, "it breaks law %d again, after %d effects: %s", r.Breach.Law, r.Count.Effects, r.Breach.What)
	case r.Breach != nil:
		fmt.Fprintf(&b, "it breaks another law: %d, after %d effects: %s", r.Breach.Law, r.Count.Effects, r.Breach.What)
	default:
		fmt.Fprintf(&b, "the law holds now: the run went on to its end, %d effects, and broke none", r.Count.Effects)
	}
	if r.Fit != nil && !(x.Identical && r.Fit.Exact()) {
		b.WriteString("\n" + r.Fit.String())
	}
	return b.String()
}

// Guarded is Run where a machine that panics has broken its contract: the run ends
// with that breach, and is reported and recorded like any other.
func Guarded(c Config) (r *Report) {
	s := newSim(c)
	defer func() {
		if p := recover(); p != nil {
			s.breach = &Breach{LawContract, s.now, s.lines, oneLine(fmt.Sprintf("panic: %v %s", p, innermost(debug.Stack())))}
			s.logf(nil, "BREACH", "%s", s.breach.Error())
			r = s.report()
		}
	}()
	if c.Scene != nil {
		c.Scene(s)
	}
	s.run()
	return s.report()
}

// innermost is the innermost frame of the core in a stack.
func innermost(stack []byte) string {
	for l := range strings.Lines(string(stack)) {
		if strings.Contains(l, "/core/") && strings.Contains(l, ".go:") {
			at, _, _ := strings.Cut(strings.TrimSpace(l), " ")
			return "at " + at[strings.Index(at, "/core/")+1:]
		}
	}
	return ""
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Recorded runs a seed again and makes its record.
func Recorded(c Config) *Report {
	c.Record, c.Log = true, nil
	r := Guarded(c)
	r.Record.Go, r.Record.Commit = runtime.Version(), source()
	return r
}
