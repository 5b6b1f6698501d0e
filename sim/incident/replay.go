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
	Damages            []Damage
	Fell               []string // machines that panicked or broke their contract, in the recording and again
	Diverged           *Divergence
}

// OK reports whether everything that can be read was done again, and nothing else.
// A torn tail is no fault of a journal: that is how a process ends that is killed.
func (r *Result) OK() bool {
	for _, d := range r.Damages {
		if !d.Torn {
			return false
		}
	}
	return r.Diverged == nil
}

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
	return &p.res, nil
}

// read plays a journal as far as the options say.
func (p *play) read(dir string) error {
	err := Read(dir, func(at Place, r *transcript.Record) error {
		if r.Kind == transcript.KTurn && p.o.To > 0 && r.Turn.Serial > p.o.To {
			return errEnough
		}
		d, err := p.record(at, r)
		if err == nil && d != nil {
			p.res.Diverged, err = d, errEnough
		}
		return err
	}, func(d Damage) { p.res.Damages = append(p.res.Damages, d) })
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// Print writes the result for people.
func (r *Result) Print(w io.Writer) error {
	var b strings.Builder
	for _, d := range r.Damages {
		if d.Torn {
			fmt.Fprintf(&b, "note: %s: its process was stopped while it wrote\n", d)
		} else {
			fmt.Fprintf(&b, "DAMAGED %s: what follows in this segment is not read\n", d)
		}
	}
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
		b.WriteString("replay: no divergence\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// clock is a time as people write it, and as the machines do.
func clock(t core.Ms) string {
	return fmt.Sprintf("%s (%d)", time.UnixMilli(int64(t)).UTC().Format("2006-01-02 15:04:05.000"), int64(t))
}
