package sim

import (
	"fmt"
	"io"

	"nova/core"
	"nova/core/law"
	"nova/faults"
	"nova/faults/boundaries"
	"nova/plain"
	"nova/sim/world"
)

// Config is what a run is a function of.
type Config struct {
	Seed     uint64
	Plan     *faults.Plan // nil: drawn from the seed
	At       faults.Aim   // where to cut besides; zero: nowhere
	Choices  []uint32     // if not nil: the recorded tape, instead of the seed's
	Dials    *core.Dials  // nil: drawn
	Effects  int          // replies delivered before faults and clients stop; 0: drawn
	Log      io.Writer    // one line an event, if not nil
	Instant  bool         // the run ends when its faults would stop: only what breaks at once is looked for
	NoLaws   bool         // for benchmarks: nothing is judged
	Laws     bool         // evaluate the laws after every change
	Patience core.Ms      // how long the work may take to drain once faults stop; 0: as long as the dials ask for
	Script   *Record      // if not nil: what is replayed by identity, instead of a seed or a tape
	Record   bool         // make a record of the run
	Watch    func(*Event) // is told everything that happens; it must change nothing
	States   *bool        // and the states of processes, while it is true: the watcher may set it
	Cover    bool         // tell which boundary each effect comes from: Count.Points and Count.Rows
	// Scene adds the actors and the clients. It is called once, before the first step.
	Scene func(*Sim)
}

// Clients is the workload: what asks for something now and then.
type Clients interface {
	// Act does one thing, drawn from the tape.
	Act(s *Sim)
	// Stop begins the end of the run: no requests any more; stars close, die or stay.
	Stop(s *Sim)
	// Drained says what work is still to be done, or "".
	Drained(s *Sim) string
	// Finish judges the run once it has drained.
	Finish(s *Sim)
}

// Sim is one run.
type Sim struct {
	Config
	Dials  core.Dials
	Plan   faults.Plan
	Stores core.Stores
	W      *world.World
	Laws   Laws
	Count  Count

	given   Config
	clients Clients
	tape    *Tape
	now     core.Ms
	ready   []*pending
	timers  timers
	procs   []*Proc
	running map[string]*Proc // by actor; never ranged over
	serial  uint64
	starts  int
	lines   int

	style    style
	favoured string // an actor that the style favours, or neglects
	busy     int    // of a hundred steps, how many are a client's
	budget   int    // effects that one process may have in flight
	skewFrom core.Ms
	faulty   bool         // faults strike
	struckAt []faults.Aim // how a run is told to strike as this one was struck, in order
	calmAt   core.Ms      // when they stopped; 0: they have not
	clocks   law.Clocks
	windows  map[string]core.Ms // that are open: until when; never ranged over
	lands    *pending           // the effect that lands now
	metaDown bool
	sum      uint64
	slow     core.Store // a store that is slow, or ""
	breach   *Breach
	slots    []core.Slot     // scratch: of the lanes that run abreast
	sites    map[uintptr]int // boundaries by the place in the program; never ranged over
	passes   [2]uint32       // by each place at which the plan says to cut

	rec      *recorder      // nil: the run is not recorded
	script   *script        // nil: the run is not a replay by identity
	startsOf map[string]int // of each actor; never ranged over
	tracked  []world.Change // of the operation that lands now, for its event
}

// Epoch is the true time at which a run begins.
const Epoch = core.Ms(1_000_000)

// newSim makes a run that has not begun.
func newSim(c Config) *Sim {
	s := &Sim{Config: c, given: c, now: Epoch, running: map[string]*Proc{}, sites: map[uintptr]int{}}
	s.Count.Points = make([]Cuts, len(boundaries.Points()))
	s.tape = NewTape(c.Seed)
	if c.Script != nil {
		return s.scripted(c)
	}
	if c.Choices != nil {
		s.tape = ReplayTape(c.Choices)
	}
	s.Plan = faults.Draw(c.Seed)
	if c.Plan != nil {
		s.Plan = *c.Plan
	}
	if c.At != (faults.Aim{}) && !s.Plan.CutAt(c.At) {
		s.Plan.At[len(s.Plan.At)-1] = c.At
	}
	s.Dials = Dials(s.tape)
	if c.Dials != nil {
		s.Dials = *c.Dials
	}
	if draw := s.tape.Choose(4); s.Config.Effects == 0 {
		s.Config.Effects = [...]int{4000, 2000, 8000, 20000}[draw]
	}
	s.Stores = stores()
	s.world(world.Dialect{
		RepeatComplete: []core.Outcome{core.Absent, core.Exists, core.OK}[s.tape.Choose(3)],
		LateParts:      s.tape.Chance(1, 2),
	})
	s.style = style(s.tape.Choose(int(styles)))
	s.busy = 2 + s.tape.Choose(20)
	s.skewFrom = -core.Ms(s.tape.Choose(int(s.Dials.Skew) + 1))
	if c.Record || c.Watch != nil {
		s.rec = newRecorder(s)
	}
	return s
}

// world makes the world of a run.
func (s *Sim) world(d world.Dialect) {
	s.W = world.New(world.LimitsOf(&s.Dials), d, append(append([]core.Store(nil), s.Stores.Of[0]...), s.Stores.Of[1]...)...)
	s.Laws = noLaws{}
	s.budget = inFlight(&s.Dials)
}

// scripted makes the run of a record.
func (s *Sim) scripted(c Config) *Sim {
	r := c.Script
	s.script = newScript(r)
	s.tape = ReplayTape(nil)
	s.tape.script = true
	s.Seed, s.Plan, s.Dials = r.Seed, r.Plan, r.Dials
	if s.Instant = r.Instant || c.Instant; s.Config.Effects == 0 {
		s.Config.Effects = max(r.Effects, len(r.Lines)+20_000)
	}
	s.Stores = stores()
	s.world(r.Dialect)
	if c.Record || c.Watch != nil {
		s.rec = newRecorder(s)
	}
	return s
}

// stores are the stores of every run.
func stores() core.Stores {
	return core.Stores{Of: [core.Classes][]core.Store{{"std-a", "std-b", "std-c"}, {"exp-a", "exp-b", "exp-c"}}}
}

// inFlight is the most effects that a process can have in flight: for each queue
// that it drains, each lane's widest group; for a star its pipeline, opens and
// absorbing. A slot goes to as many as three stores.
func inFlight(d *core.Dials) int {
	lane := max(d.ProbeWidth, d.MemberWidth*max(d.PartWidth, d.FootersAbreast, 2), 3*d.DeleteBatch, 3*d.Pipeline, d.StreamsPerTxn*2, d.TeardownWidth*d.ProbeWidth)
	return 16 + 8*d.DrainWidth*lane + 8*d.Pipeline
}

// Now is the true time.
func (s *Sim) Now() core.Ms { return s.now }

// Tape is where clients draw their choices from.
func (s *Sim) Tape() *Tape { return s.tape }

// SetClients names the workload.
func (s *Sim) SetClients(c Clients) { s.clients = c }

// Procs is the live processes, in the order of their starts. The caller must not
// change it.
func (s *Sim) Procs() []*Proc { return s.procs }

// Breach is a law that was broken: the end of the run.
type Breach struct {
	Law  Law
	At   core.Ms
	Line int // of the log
	What string
}

func (b *Breach) Error() string {
	return fmt.Sprintf("law %s, at %d (line %d): %s", b.Law, b.At, b.Line, b.What)
}

// Breach ends the run: a law was broken.
func (s *Sim) Breach(l Law, format string, args ...any) {
	if s.breach == nil {
		s.breach = &Breach{l, s.now, s.lines, fmt.Sprintf(format, args...)}
		if s.Log != nil {
			s.dump()
		}
		s.logf(nil, "BREACH", "%s", s.breach.Error())
	}
}

// Stater shows the state of a root machine that is no plain data itself.
type Stater interface{ State() any }

// dump writes what every process has in flight, and its state.
func (s *Sim) dump() {
	for _, p := range s.procs {
		for _, e := range p.pend {
			s.logf(p, "pending", "%s %s sent at %d, stage %d", e.at, &e.op, e.sentAt-Epoch, e.stage)
		}
		if st, ok := p.machine.(Stater); ok {
			s.logf(p, "state", "%s", plain.Print(st.State()))
		}
	}
}

// Run runs one seed to its end.
func Run(c Config) *Report {
	s := newSim(c)
	if c.Scene != nil {
		c.Scene(s)
	}
	s.run()
	return s.report()
}
