package faults

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Fate is what became of a planted bug.
type Fate uint8

const (
	Survived     Fate = iota // it was reached, and no law noticed
	Killed                   // a law broke
	NeverReached             // no run came by it
	NotApplied               // its text is not in the source, or not once
	NotBuilt                 // what it makes of the source does not compile
	NotRun                   // the simulator failed, and not by a law
)

var fateNames = [...]string{"SURVIVED", "killed", "NEVER REACHED", "DOES NOT APPLY", "DOES NOT BUILD", "DID NOT RUN"}

func (f Fate) String() string {
	if int(f) < len(fateNames) {
		return fateNames[f]
	}
	return "fate?"
}

// Ranges are the first seeds of the ranges on each of which a bug has to be killed,
// unless others are asked for.
var Ranges = []uint{0, 1_000_000, 2_000_000}

// MutantsOptions says which planted bugs to run, and for how long.
type MutantsOptions struct {
	Dir      string        // of the planted bugs; "": faults/planted in the module
	Seeds    int           // that each bug has to survive; 0: 2,000
	From     []uint        // the first seed of each range; none: Ranges
	Only     []string      // names; none: all
	Parallel int           // bugs built and run side by side; 0: 2
	Timeout  time.Duration // for one bug on one range; 0: ten minutes
}

// Result is the fate of one bug on one range of seeds.
type Result struct {
	Bug     *Planted
	From    uint64
	Fate    Fate
	Law     int    // Killed: which noticed
	Seed    uint64 // Killed: at which
	Effects int    // Killed: after how many of that seed's run
	Passed  uint64 // how often the bug was reached
	Why     string
	Took    time.Duration // of the processor, without the build
}

// ErrMutants is wrapped by the error of Mutants when a bug was not killed.
var ErrMutants = errors.New("planted bugs are alive")

// Mutants runs the simulator with each planted bug on each range of
// seeds until a law breaks or the seeds are through, and prints the table of what
// became of each. It fails unless every one was killed on every range, and by its
// own law where it names one.
func Mutants(ctx context.Context, o MutantsOptions, out io.Writer) error {
	root, bugs, err := o.load()
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "nova-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	s, builds, err := buildAll(ctx, root, scratch, bugs)
	if err != nil {
		return err
	}
	results := make([][]Result, len(bugs))
	next := make(chan int)
	var lanes sync.WaitGroup
	var said sync.Mutex
	for range min(o.Parallel, len(bugs)) {
		lanes.Go(func() {
			for i := range next {
				results[i] = o.run(ctx, builds, i, s)
				said.Lock()
				fmt.Fprintf(out, "%s: %s\n", bugs[i].Name, inOneLine(results[i]))
				said.Unlock()
			}
		})
	}
	for i := range bugs {
		next <- i
	}
	close(next)
	lanes.Wait()
	return report(out, results)
}

// load fills in the defaults and reads the bugs asked for.
func (o *MutantsOptions) load() (root string, bugs []Planted, err error) {
	if root, err = Root("."); err != nil {
		return "", nil, err
	}
	if o.Dir == "" {
		o.Dir = filepath.Join(root, "faults", "planted")
	}
	if o.Seeds == 0 {
		o.Seeds = 2000
	}
	if len(o.From) == 0 {
		o.From = Ranges
	}
	if o.Parallel == 0 {
		o.Parallel = 2
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Minute
	}
	if bugs, err = Load(o.Dir); err != nil {
		return "", nil, err
	}
	if len(o.Only) > 0 {
		for _, name := range o.Only {
			if !slices.ContainsFunc(bugs, func(p Planted) bool { return p.Name == name }) {
				return "", nil, fmt.Errorf("%w: there is no %s in %s", ErrPlanted, name, o.Dir)
			}
		}
		bugs = slices.DeleteFunc(bugs, func(p Planted) bool { return !slices.Contains(o.Only, p.Name) })
	}
	return root, bugs, nil
}

// args are the flags of a bug's run of the seeds from one up to, not including,
// another.
func (p *Planted) args(from, to uint64) []string {
	return append([]string{"run", "-seeds", fmt.Sprintf("%d..%d", from, to)}, p.With...)
}

// run is one bug on each range.
func (o *MutantsOptions) run(ctx context.Context, builds *Builds, i int, s *sound) []Result {
	rs := make([]Result, len(o.From))
	a, fate, err := builds.Wake(ctx, i)
	for k := range rs {
		rs[k].Bug, rs[k].From = &builds.bugs[i], uint64(o.From[k])
		if err != nil {
			rs[k].Fate, rs[k].Why = fate, err.Error()
			continue
		}
		o.hunt(ctx, a, &rs[k], s)
	}
	return rs
}

// hunt runs the simulator with a bug on one range. A seed that breaks the same law without
// the bug says nothing about it: the search goes on behind it.
func (o *MutantsOptions) hunt(ctx context.Context, a Awake, r *Result, s *sound) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	to := r.From + uint64(o.Seeds)
	for from := r.From; from < to; from = r.Seed + 1 {
		run := runSimulator(a.Command(ctx, s.root, r.Bug.args(from, to)...))
		run.passed += r.Passed
		r.Took += run.cpu
		if ctx.Err() != nil {
			run.err = ctx.Err()
		}
		r.judge(run)
		if r.Fate != Killed {
			return
		}
		breaks, err := s.breaks(ctx, r)
		switch {
		case err != nil:
			r.Fate, r.Why = NotRun, err.Error()
			return
		case !breaks && r.Passed == 0:
			r.Fate, r.Why = NotRun, "a law broke before the bug was reached: "+r.Why
			return
		case !breaks:
			return
		}
		r.Fate, r.Why = Survived, fmt.Sprintf("the last that was broken, seed %d, breaks law %d without the bug too", r.Seed, r.Law)
	}
}

// sound is the program as it is.
type sound struct {
	root, binary string
	mu           sync.Mutex
	laws         map[string][]broken // what each run breaks
}

func newSound(ctx context.Context, root, scratch string) (*sound, error) {
	s := &sound{root: root, binary: filepath.Join(scratch, "novasim"), laws: map[string][]broken{}}
	return s, goBuild(ctx, root, "-ldflags", "-s -w", "-o", s.binary, "./"+Simulator)
}

// buildAll builds the program as it is, and with the bugs.
func buildAll(ctx context.Context, root, scratch string, bugs []Planted) (*sound, *Builds, error) {
	s, err := newSound(ctx, root, scratch)
	if err != nil {
		return nil, nil, err
	}
	b, err := NewBuilds(ctx, root, scratch, bugs)
	return s, b, err
}

// breaks reports whether the seed breaks the same law without the bug.
func (s *sound) breaks(ctx context.Context, r *Result) (bool, error) {
	args := r.Bug.args(r.Seed, r.Seed+1)
	key := strings.Join(args, " ")
	s.mu.Lock()
	laws, known := s.laws[key]
	s.mu.Unlock()
	if !known {
		run := runSimulator(Awake{Binary: s.binary}.Command(ctx, s.root, args...))
		if run.err != nil && len(run.broken) == 0 {
			return false, fmt.Errorf("run seed %d without the bug: %w: %s", r.Seed, run.err, run.why)
		}
		laws = run.broken
		s.mu.Lock()
		s.laws[key] = laws
		s.mu.Unlock()
	}
	return slices.ContainsFunc(laws, func(b broken) bool { return b.law == r.Law }), nil
}

// simulated is what a run of the simulator said.
type simulated struct {
	broken []broken
	passed uint64
	marked bool // it printed how often the mark was passed
	why    string
	err    error
	cpu    time.Duration // of the processor
}

// broken is one seed that broke a law.
type broken struct {
	law     int
	seed    uint64
	effects int
	why     string
}

// runSimulator runs the simulator and reads its two lines: `broken: law=N
// seed=N effects=N …` on standard output, `planted passed: N` on standard error.
func runSimulator(cmd *exec.Cmd) (s simulated) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	s.err = cmd.Run()
	if p := cmd.ProcessState; p != nil {
		s.cpu = p.UserTime() + p.SystemTime()
	}
	for in := bufio.NewScanner(strings.NewReader(stdout.String())); in.Scan(); {
		rest, ok := strings.CutPrefix(in.Text(), "broken: ")
		if !ok {
			continue
		}
		var b broken
		if _, err := fmt.Sscanf(rest, "law=%d seed=%d effects=%d", &b.law, &b.seed, &b.effects); err == nil {
			b.why = rest
			s.broken = append(s.broken, b)
		}
	}
	for in := bufio.NewScanner(strings.NewReader(stderr.String())); in.Scan(); {
		if n, ok := strings.CutPrefix(in.Text(), "planted passed: "); ok {
			s.passed, _ = strconv.ParseUint(n, 10, 64)
			s.marked = true
		}
	}
	if s.err != nil && len(s.broken) == 0 {
		s.why = lastLines(stderr.String(), 12)
	}
	return s
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (r *Result) judge(s simulated) {
	r.Passed = s.passed
	switch {
	case len(s.broken) > 0:
		b := s.broken[0]
		r.Fate, r.Law, r.Seed, r.Effects, r.Why = Killed, b.law, b.seed, b.effects, b.why
	case s.err != nil || !s.marked:
		r.Fate, r.Why = NotRun, strings.TrimSpace(fmt.Sprintf("%v\n%s", s.err, s.why))
	case s.passed == 0:
		r.Fate = NeverReached
	}
}
