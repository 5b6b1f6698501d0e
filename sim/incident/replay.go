package incident

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"nova/core"
	"nova/core/transcript"
)

// Options say what to replay.
type Options struct {
	Process string // only machines of this process, star or role; "": all
	To      uint64 // up to this turn, included; 0: all
	// Change, if not nil, changes a machine before it is booted: what would it have
	// done with other dials?
	Change func(*transcript.Begin)
}

// Result is what came of a replay.
type Result struct {
	Segments, Machines int
	Turns, Effects     int
	States             int      // that were compared
	Skipped            int      // turns of machines of which an earlier turn, or the state, is missing
	Foreign            int      // states that another build wrote: its machines are of other types
	Gaps               int      // places where the writer left something out
	Dropped            uint64   // and how much
	By                 []string // the builds that wrote it
	From, To           core.Ms  // times of the first and the last turn
	Oldest             uint64   // number of the first segment: above 1, what was before it is gone
	First, Last        uint64   // numbers of the first and the last turn that was read, wanted or not
	Processes          []string // that have a machine in the journal, wanted or not
	Missing            []Missing
	Killed             []Killed
	Damages            []Damage
	Fell               []string // machines that panicked or broke their contract, in the recording and again
	Diverged           *Divergence
}

// Killed is a place where a process ended before its machines did.
type Killed struct {
	Before   string // the first segment of the next process
	Turn     uint64 // the last that is recorded
	Machines int    // that stood
}

// Whole reports whether the journal has everything that it should have, as far as it
// was read. A torn tail is no fault of it: that is how a process ends that is killed.
func (r *Result) Whole() bool {
	for _, d := range r.Damages {
		if !d.Torn || d.Cut {
			return false
		}
	}
	return len(r.Missing) == 0
}

// OK reports whether something was done again, and everything that should be there
// was, and nothing else.
func (r *Result) OK() bool { return r.Whole() && r.Turns > 0 && r.Diverged == nil }

// hole says why what was read is not everything that has happened up to there; "": it
// is.
func (r *Result) hole() string {
	switch {
	case r.Oldest > 1:
		return fmt.Sprintf("it begins with segment %d: those before are gone", r.Oldest)
	case len(r.Missing) > 0:
		return "missing is " + r.Missing[0].String()
	case !r.Whole():
		return "it is damaged"
	case r.Gaps > 0:
		return fmt.Sprintf("its writer could not follow, and left %d records out", r.Dropped)
	case len(r.Killed) > 0:
		return fmt.Sprintf("a process was killed after turn %d: nobody knows what it did last", r.Killed[0].Turn)
	case r.Skipped > 0:
		return fmt.Sprintf("of %d turns it is not known how their machines stood before", r.Skipped)
	}
	return ""
}

// ErrBeyond is wrapped by the error for a turn that the journal does not reach.
var ErrBeyond = errors.New("the journal does not go so far")

func (r *Result) span(now core.Ms) {
	if r.From == 0 || now < r.From {
		r.From = now
	}
	r.To = max(r.To, now)
}

// errEnough ends the reading of a journal.
var errEnough = errors.New("enough")

// Replay steps the machines of a journal through it, up to its end or the first
// divergence. An error means that it could not be read at all.
func Replay(dir string, o Options) (*Result, error) {
	p := newPlay(o)
	if err := p.read(dir); err != nil {
		return nil, err
	}
	if p.res.Diverged == nil && p.res.Last < o.To {
		return nil, fmt.Errorf("replay %s to turn %d: %w: its last turn is %d", dir, o.To, ErrBeyond, p.res.Last)
	}
	return &p.res, nil
}

// read plays a journal as far as the options say.
func (p *play) read(dir string) error {
	if err := p.stand(dir); err != nil {
		return err
	}
	err := Read(dir, func(at Place, r *transcript.Record) error {
		if p.enough(at, r) {
			return errEnough
		}
		d, err := p.record(at, r)
		if err == nil && d != nil {
			p.res.Diverged, err = d, errEnough
		}
		return err
	}, p.hurt)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// enough reports whether a record is behind the last turn that is wanted. A hole that
// this turn is in is heard of.
func (p *play) enough(at Place, r *transcript.Record) bool {
	reached := p.o.To > 0 && p.last >= p.o.To
	switch r.Kind {
	case transcript.KSegment:
		return reached
	case transcript.KTurn:
		if !reached {
			p.course.turn(at, r.Turn.Serial)
		}
		return reached || p.o.To > 0 && r.Turn.Serial > p.o.To
	}
	return false
}

// Print writes the result for people.
func (r *Result) Print(w io.Writer) error {
	var b strings.Builder
	r.faults(&b)
	if r.Gaps > 0 {
		fmt.Fprintf(&b, "note: in %d places the journal could not follow; %d records were left out\n", r.Gaps, r.Dropped)
	}
	if r.Foreign > 0 {
		fmt.Fprintf(&b, "note: %d states were written by a build whose machines are of other types: what follows them is not replayed\n", r.Foreign)
	}
	if r.Skipped > 0 {
		fmt.Fprintf(&b, "note: %d turns were not replayed: how their machines stood before is not in the journal\n", r.Skipped)
	}
	for _, f := range r.Fell {
		fmt.Fprintf(&b, "again: %s\n", f)
	}
	fmt.Fprintf(&b, "replay: %d machines, %d turns, %d effects, %d states compared, in %d segments by %s\n", r.Machines, r.Turns, r.Effects, r.States, r.Segments, strings.Join(r.By, "; "))
	if r.Turns > 0 {
		fmt.Fprintf(&b, "replay: from %s to %s, %.3f s\n", clock(r.From), clock(r.To), float64(r.To-r.From)/1000)
	}
	if d := r.Diverged; d != nil {
		fmt.Fprintf(&b, "DIVERGED at turn %d, turn %d of %s\n  time   %s\n  where  %s\n  event  %s\n  what   %s\n", d.Serial, d.N, d.Machine, clock(d.Now), d.Place, d.Event, d.What)
		for _, s := range d.Want {
			fmt.Fprintf(&b, "  wanted %s\n", s)
		}
		for _, s := range d.Got {
			fmt.Fprintf(&b, "  got    %s\n", s)
		}
		fmt.Fprintf(&b, "  state  %s\n", d.State)
	} else {
		fmt.Fprintf(&b, "replay: %s\n", r.verdict())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// faults writes what is wrong with the journal itself.
func (r *Result) faults(b *strings.Builder) {
	for i := range r.Missing {
		fmt.Fprintf(b, "MISSING %s\n", &r.Missing[i])
	}
	for _, d := range r.Damages {
		switch {
		case d.Cut:
			fmt.Fprintf(b, "CUT SHORT %s, and its process wrote on after that\n", d)
		case d.Torn:
			fmt.Fprintf(b, "note: %s: its process was stopped while it wrote\n", d)
		default:
			fmt.Fprintf(b, "DAMAGED %s: what follows in this segment is not read\n", d)
		}
	}
	for _, k := range r.Killed {
		fmt.Fprintf(b, "note: a process was killed after turn %d, with %d machines at work; another begins with %s\n", k.Turn, k.Machines, k.Before)
	}
}

// verdict says what it means that nothing has diverged.
func (r *Result) verdict() string {
	switch {
	case r.Turns > 0 && r.Whole():
		return "no divergence"
	case r.Turns > 0:
		return "no divergence in what is there; but the journal is not whole"
	case r.Last == 0:
		return "NOTHING was compared: no turn can be read in this journal"
	case r.Skipped > 0:
		return fmt.Sprintf("NOTHING was compared: how the machines of all %d turns stood before is not known", r.Skipped)
	}
	ps := r.Processes
	if len(ps) > 20 {
		ps = append(append([]string(nil), ps[:20]...), fmt.Sprintf("… (%d)", len(r.Processes)))
	}
	return "NOTHING was compared: no turn is of the process that was asked for; there are: " + strings.Join(ps, ", ")
}

// clock is a time as people write it, and as the machines do.
func clock(t core.Ms) string {
	return fmt.Sprintf("%s (%d)", time.UnixMilli(int64(t)).UTC().Format("2006-01-02 15:04:05.000"), int64(t))
}
