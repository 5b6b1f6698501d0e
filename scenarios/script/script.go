package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"nova/core"
	"nova/core/law"
	"nova/sim"
	"nova/sim/world"
)

// ErrScript is wrapped by every error of Do: the script does not say what can be
// done, what it expects does not hold, or a law broke that it does not allow.
var ErrScript = errors.New("script")

// Script is one scene and everything that was done in it.
type Script struct {
	*names
	Dials  core.Dials
	Stores core.Stores
	W      *world.World

	now     core.Ms
	judge   *law.Judge
	clocks  law.Clocks
	history []happened      // every change there was: a fork is judged from the beginning
	broken  map[string]bool // breaches that stand, as they were printed
	allowed map[int]bool
	changes int           // effective writes, ever
	past    [law.Laws]int // evaluations of earlier scenes

	procs  map[string]*proc // by name, ended ones too
	order  []string         // of starts
	serial int
	lates  []late
	always []*rule

	streams []*streamOf
	blobs   []*chunk
	asks    map[uint64]*ask
	asked   uint64
	reads   map[string]*reader

	out     strings.Builder
	said    core.Ms // the last time that the output names
	skew    core.Ms // how far the clock of the next process is ahead
	silent  bool    // inside of a setup
	verbose bool    // reads are printed, too
	brief   bool    // of what lands only objects and uploads are printed
	err     error
}

// happened is one change, and when.
type happened struct {
	at core.Ms
	c  law.Change
}

// late is an effect that lands after its answer.
type late struct {
	at  core.Ms
	e   *pending
	who string
}

// New is a script before its scene.
func New() *Script { return &Script{} }

// Do runs one command and returns what is to be printed.
func (s *Script) Do(cmd string, args []string, lines []string) (string, error) {
	s.out.Reset()
	s.said, s.err = s.now, nil
	before := s.changes
	if cmd == "scene" {
		before = 0
	}
	if cmd != "scene" && s.W == nil {
		return "", fmt.Errorf("%w: %s before the scene", ErrScript, cmd)
	}
	if err := s.command(cmd, args, lines); err != nil {
		return s.out.String(), fmt.Errorf("%w: %s %s: %w", ErrScript, cmd, strings.Join(args, " "), err)
	}
	if s.err != nil {
		return s.out.String(), fmt.Errorf("%w: %s %s: %w", ErrScript, cmd, strings.Join(args, " "), s.err)
	}
	switch n := s.changes - before; {
	case n == 0:
	case len(s.broken) > 0:
		s.printf("laws: %d breaches stand", len(s.broken))
	case cmd == "converge" || cmd == "still" || cmd == "setup":
		s.printf("laws: all hold")
	default:
		s.printf("laws: %d changes, all hold", n)
	}
	return s.out.String(), nil
}

// Evaluated is on how many things each law has been evaluated so far, in all scenes.
func (s *Script) Evaluated() [law.Laws]int {
	sum := s.past
	if s.judge != nil {
		for i, n := range s.judge.Report().Evaluated {
			sum[i] += n
		}
	}
	return sum
}

// Now is the time since the scene began.
func (s *Script) Now() core.Ms { return s.now - epoch }

// fail notes the first thing that is wrong.
func (s *Script) fail(format string, a ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, a...)
	}
}

func (s *Script) printf(format string, a ...any) {
	if s.silent {
		return
	}
	if s.said != s.now {
		s.said = s.now
		fmt.Fprintf(&s.out, "%s:\n", clock(s.now))
	}
	fmt.Fprintf(&s.out, format+"\n", a...)
}

// scene begins a script anew.
func (s *Script) scene(args []string) error {
	if s.silent {
		return fmt.Errorf("a scene inside of a setup")
	}
	d, err := dials(args)
	if err != nil {
		return err
	}
	st := core.Stores{Of: [core.Classes][]core.Store{{"std"}, {"xp-a", "xp-b"}}}
	for _, a := range args {
		k, v, _ := strings.Cut(a, "=")
		var list []core.Store
		for name := range strings.SplitSeq(v, ",") {
			list = append(list, core.Store(name))
		}
		switch k {
		case "stores":
			st.Of[core.Standard] = list
		case "express":
			st.Of[core.Express] = list
		}
	}
	*s = Script{Dials: d, Stores: st, now: epoch, said: epoch, past: s.Evaluated()}
	s.begin(world.New(world.LimitsOf(&d), world.Dialect{RepeatComplete: core.Absent, LateParts: true}, slices.Concat(st.Of[0], st.Of[1])...))
	return nil
}

func (s *Script) begin(w *world.World) {
	s.W, s.names = w, newNames()
	s.broken, s.allowed = map[string]bool{}, map[int]bool{}
	s.procs, s.asks, s.reads = map[string]*proc{}, map[uint64]*ask{}, map[string]*reader{}
	s.judge = law.NewJudge(&s.Dials, &s.Stores, s.checksum)
	s.clocks = law.Clocks{}
	s.judge.Clocks(s.clocks.Spread())
	s.judge.Now(s.now)
}

func (s *Script) checksum(o core.Obj, off, n int64) (uint32, bool) {
	b := s.W.Bucket(o.Store)
	if b == nil {
		return 0, false
	}
	x := b.Lookup(o.Key)
	if x == nil || off < 0 || n < 0 || off+n > x.Size() {
		return 0, false
	}
	return x.Body.CRC(off, n), true
}

// Fork is a copy of what stands, without any process: sessions end when their
// time comes. It is judged by all that has happened.
func (s *Script) Fork() *Script {
	f := &Script{Dials: s.Dials, Stores: s.Stores, now: s.now, said: s.now, silent: true, serial: s.serial, asked: s.asked}
	f.begin(s.W.Clone())
	f.clocks = s.clocks
	f.judge.Clocks(f.clocks.Spread())
	f.history = s.history[:len(s.history):len(s.history)]
	for _, h := range s.history {
		f.judge.Now(h.at)
		f.judge.Apply(h.c)
	}
	f.judge.Now(f.now)
	for i := range s.blobs {
		c := *s.blobs[i]
		f.blobs = append(f.blobs, &c)
	}
	for i := range s.streams {
		c := *s.streams[i]
		f.streams = append(f.streams, &c)
	}
	f.allowed = s.allowed
	f.judged()
	return f
}

// apply lands an operation, and judges what it has changed.
func (s *Script) apply(op *core.Op, session string, admitted core.Ms) core.Reply {
	r := s.W.Apply(op, world.When{Now: s.now, Admitted: admitted, Session: session})
	if s.W.Contract != nil {
		s.fail("a contract is broken: %w", s.W.Contract)
	}
	return r
}

// judged gives what has changed to the laws, and prints what they say. It is
// called after everything that changes the world, once that is printed.
func (s *Script) judged() {
	for i := range s.W.Changes {
		c := sim.LawChange(&s.W.Changes[i])
		s.history = append(s.history, happened{s.now, c})
		s.judge.Apply(c)
	}
	s.changes += len(s.W.Changes)
	s.W.Changes = s.W.Changes[:0]
	s.verdict()
}

func (s *Script) verdict() {
	found := map[string]bool{}
	for _, b := range s.judge.Check() {
		what := fmt.Sprintf("law %d: %s: %s", b.Law, s.name(b.Key), b.What)
		if found[what] = true; s.broken[what] {
			continue
		}
		s.printf("  BROKEN %s", what)
		if !s.allowed[b.Law] {
			s.fail("%s", what)
		}
	}
	var mended []string
	for what := range s.broken {
		if !found[what] {
			mended = append(mended, what)
		}
	}
	slices.Sort(mended)
	for _, what := range mended {
		s.printf("  mended %s", what)
	}
	s.broken = found
}

// name prints a key as the laws name it: of a row, or of an object with its store.
func (s *Script) name(k string) string {
	if i := strings.IndexAny(k, ":/"); i > 0 && s.W.Bucket(core.Store(k[:i])) != nil {
		at, upload, ok := strings.Cut(k[i+1:], "?upload=")
		if ok {
			upload = " upload " + upload
		}
		return k[:i] + "/" + s.object(at) + upload
	}
	return s.key(k)
}
