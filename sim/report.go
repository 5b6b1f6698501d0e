package sim

import (
	"fmt"
	"strings"

	"nova/core"
	"nova/core/keys"
	"nova/faults"
)

// Count is what happened in a run, or in many: how often everything that can
// happen did.
type Count struct {
	Runs     int64
	Effects  int64 // replies delivered
	Turns    int64
	Changes  int64 // effective writes
	Lates    int64 // what landed after its answer, or after its process
	Ops      [core.Kinds]int64
	Outcomes [core.Kinds][core.Outcomes]int64
	Notes    [core.NoteKinds]int64
	Faults   [faults.Kinds]int64 // that changed something
	Laws     [numLaws]int64      // evaluations, of each law
	Clients  [requests]int64
	Duties   [keys.Queues]int64 // markers that each duty worked on
	Points   []Cuts             // of each boundary of the source
	Rows     [faults.Rows]int64 // cuts at each row of the crash table
}

// Add adds the counts of another run.
func (c *Count) Add(o *Count) {
	c.Runs += o.Runs
	c.Effects += o.Effects
	c.Turns += o.Turns
	c.Changes += o.Changes
	c.Lates += o.Lates
	for i := range c.Ops {
		c.Ops[i] += o.Ops[i]
		for k := range c.Outcomes[i] {
			c.Outcomes[i][k] += o.Outcomes[i][k]
		}
	}
	for i := range c.Notes {
		c.Notes[i] += o.Notes[i]
	}
	for i := range c.Faults {
		c.Faults[i] += o.Faults[i]
	}
	for i := range c.Laws {
		c.Laws[i] += o.Laws[i]
	}
	for i := range c.Clients {
		c.Clients[i] += o.Clients[i]
	}
	c.addCuts(o)
}

// Report is what came of a run.
type Report struct {
	Seed    uint64
	Plan    faults.Plan
	Breach  *Breach // nil: every law held
	Count   Count
	Lines   int     // of the log
	Sum     uint64  // the run's fingerprint: two runs with one fingerprint are one
	Virtual core.Ms // how long the run was, in its own time
	Calm    core.Ms // true time at which the faults stopped; 0: they never did
	Choices []uint32
	Struck  []faults.Aim // with Config.Cover: how a run is told to strike as this one was struck; each once, in order

	Record *Record // of the run, if it was asked for
	Fit    *Fit    // of a replay by identity: how far the record still fits

	given Config // what the run was told, beside its seed
}

func (s *Sim) report() *Report {
	s.Count.Runs = 1
	r := &Report{Seed: s.Seed, Plan: s.Plan, Breach: s.breach, Count: s.Count, Lines: s.lines, Sum: s.sum, Virtual: s.now - Epoch, Calm: s.calmAt, Choices: s.tape.Played(), Struck: s.struckAt, given: s.given}
	if s.rec != nil {
		r.Record = s.rec.end(s)
	}
	if s.script != nil {
		r.Fit = s.script.fits(s.now)
	}
	return r
}

// Again is the command that repeats the run, by all that it was given.
func (r *Report) Again() string {
	s := fmt.Sprintf("go test ./sim -run TestSeed -seed %d -v", r.Seed)
	if r.given.Plan != nil || r.given.At != (faults.Aim{}) {
		s += fmt.Sprintf(" -plan %q", r.Plan.String())
	}
	if r.given.Effects > 0 {
		s += fmt.Sprintf(" -effects %d", r.given.Effects)
	}
	if r.given.Instant {
		s += " -instant"
	}
	return s
}

// Missing lists what never happened in the run.
func (r *Report) Missing() []string { return r.Count.Missing() }

// Missing lists what never happened: the kinds of operations, notes, faults,
// laws, requests and duties whose count is zero.
func (c *Count) Missing() []string {
	var out []string
	for k := core.KNone + 1; int(k) < core.Kinds; k++ {
		if c.Ops[k] == 0 {
			out = append(out, "op "+k.String())
		}
	}
	for k := core.NoteNone + 1; k < core.NoteKinds; k++ {
		if c.Notes[k] == 0 {
			out = append(out, "note "+k.String())
		}
	}
	for _, k := range faults.All() {
		if c.Faults[k] == 0 {
			out = append(out, "fault "+k.String())
		}
	}
	for l := range numLaws {
		if c.Laws[l] == 0 {
			out = append(out, "law "+l.String())
		}
	}
	for q := range requests {
		if c.Clients[q] == 0 {
			out = append(out, "request "+q.String())
		}
	}
	for q := range c.Duties {
		if c.Duties[q] == 0 {
			out = append(out, "duty "+keys.Queue(q).String())
		}
	}
	return out
}

// String is the counts that are not zero, for people.
func (c *Count) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d runs, %d effects, %d turns, %d changes, %d landed late\n", c.Runs, c.Effects, c.Turns, c.Changes, c.Lates)
	line := func(head string, each func(add func(name string, n int64))) {
		b.WriteString(head)
		each(func(name string, n int64) {
			if n > 0 {
				fmt.Fprintf(&b, " %s=%d", name, n)
			}
		})
		b.WriteByte('\n')
	}
	line("outcomes:", func(add func(string, int64)) {
		for k := range c.Outcomes {
			for o, n := range c.Outcomes[k] {
				add(core.Kind(k).String()+"/"+core.Outcome(o).String(), n)
			}
		}
	})
	line("notes:", func(add func(string, int64)) {
		for k, n := range c.Notes {
			add(core.NoteKind(k).String(), n)
		}
	})
	line("faults:", func(add func(string, int64)) {
		for k, n := range c.Faults {
			add(faults.Kind(k).String(), n)
		}
	})
	line("laws:", func(add func(string, int64)) {
		for l, n := range c.Laws {
			add(Law(l).String(), n)
		}
	})
	line("requests:", func(add func(string, int64)) {
		for q, n := range c.Clients {
			add(request(q).String(), n)
		}
	})
	line("duties:", func(add func(string, int64)) {
		for q, n := range c.Duties {
			add(keys.Queue(q).String(), n)
		}
	})
	return b.String()
}
