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
	"text/tabwriter"
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

// MutantsOptions says which planted bugs to run, and for how long.
type MutantsOptions struct {
	Dir      string        // of the planted bugs; "": faults/planted in the module
	Seeds    int           // that each bug has to survive; 0: 2,000
	From     uint64        // the first seed
	Only     []string      // names; none: all
	Parallel int           // bugs built and run side by side; 0: 2
	Timeout  time.Duration // for one bug; 0: ten minutes
	Args     []string      // more flags for the simulator's run
	Keep     string        // keep binaries and overlays in this folder; "": a temporary one
}

// Result is the fate of one bug.
type Result struct {
	Bug     *Planted
	Fate    Fate
	Law     int    // Killed: which noticed
	Seed    uint64 // Killed: at which
	Effects int    // Killed: after how many of that seed's run
	Passed  uint64 // how often the bug was reached
	Why     string
	Took    time.Duration
}

// ErrMutants is wrapped by the error of Mutants when a bug was not killed.
var ErrMutants = errors.New("planted bugs are alive")

// Mutants builds the simulator once with each planted bug, runs it until a law
// breaks or the seeds are through, and prints the table of what became of each.
// It fails unless every one was killed, and by its own law where it names one.
func Mutants(ctx context.Context, o MutantsOptions, out io.Writer) error {
	root, bugs, err := o.load()
	if err != nil {
		return err
	}
	scratch := o.Keep
	if scratch == "" {
		if scratch, err = os.MkdirTemp("", "nova-mutants-"); err != nil {
			return err
		}
		defer os.RemoveAll(scratch)
	}
	sound, err := o.sound(ctx, root, scratch, bugs, out)
	if err != nil {
		return err
	}
	results := make([]Result, len(bugs))
	next := make(chan int)
	var lanes sync.WaitGroup
	var said sync.Mutex
	for range min(o.Parallel, len(bugs)) {
		lanes.Go(func() {
			for i := range next {
				dir := filepath.Join(scratch, bugs[i].Name)
				results[i] = o.run(ctx, root, dir, &bugs[i], sound)
				if o.Keep == "" {
					os.RemoveAll(dir)
				}
				said.Lock()
				fmt.Fprintf(out, "%s: %s %s\n", bugs[i].Name, results[i].Fate, firstLine(results[i].Why))
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

// sound runs the program as it is over the same seeds, once for each choice of
// flags: a law that a seed breaks without a planted bug says nothing about one
// when it breaks with it. It returns the flags that make those known.
func (o *MutantsOptions) sound(ctx context.Context, root, scratch string, bugs []Planted, out io.Writer) (map[string][]string, error) {
	binary := filepath.Join(scratch, "novasim")
	if err := goBuild(ctx, root, "-ldflags", "-s -w", "-o", binary, "./"+Simulator); err != nil {
		return nil, err
	}
	sound := map[string][]string{}
	for i := range bugs {
		with := strings.Join(bugs[i].With, " ")
		if _, ok := sound[with]; ok {
			continue
		}
		s := runSimulator(ctx, root, binary, append(o.args(&bugs[i]), "-all")...)
		if len(s.broken) == 0 && s.err != nil {
			return nil, fmt.Errorf("run the simulator without a planted bug: %w: %s", s.err, s.why)
		}
		sound[with] = nil
		if len(s.broken) > 0 {
			known := make([]string, len(s.broken))
			for k, b := range s.broken {
				known[k] = fmt.Sprintf("%d:%d", b.seed, b.law)
			}
			sound[with] = []string{"-known", strings.Join(known, ",")}
			fmt.Fprintf(out, "%d of %d seeds break a law without any planted bug (flags %q), seed:law %s\n", len(known), o.Seeds, with, strings.Join(known, " "))
		}
	}
	return sound, nil
}

// args are the flags of a bug's run.
func (o *MutantsOptions) args(p *Planted) []string {
	args := append([]string{"run", "-seeds", fmt.Sprintf("%d..%d", o.From, o.From+uint64(o.Seeds))}, p.With...)
	return append(args, o.Args...)
}

// run is one bug: plant, build, run.
func (o *MutantsOptions) run(ctx context.Context, root, scratch string, p *Planted, sound map[string][]string) (r Result) {
	began := time.Now()
	r.Bug = p
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	defer func() { r.Took = time.Since(began) }()
	overlay, err := Overlay(root, scratch, p)
	if err != nil {
		r.Fate, r.Why = NotApplied, err.Error()
		return r
	}
	binary := filepath.Join(scratch, "novasim")
	if err := Build(ctx, root, overlay, binary); err != nil {
		r.Fate, r.Why = NotBuilt, err.Error()
		return r
	}
	r.judge(runSimulator(ctx, root, binary, append(o.args(p), sound[strings.Join(p.With, " ")]...)...))
	return r
}

// simulated is what a run of the simulator said.
type simulated struct {
	broken []broken
	passed uint64
	marked bool // it printed how often the mark was passed
	why    string
	err    error
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
func runSimulator(ctx context.Context, root, binary string, args ...string) (s simulated) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &stdout, &stderr
	s.err = cmd.Run()
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
	if ctx.Err() != nil {
		s.err = ctx.Err()
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
	case len(s.broken) > 0 && s.passed > 0:
		b := s.broken[0]
		r.Fate, r.Law, r.Seed, r.Effects, r.Why = Killed, b.law, b.seed, b.effects, b.why
	case len(s.broken) > 0:
		// A law broke and the bug was not reached: what broke is something else.
		r.Fate, r.Why = NotRun, "a law broke before the bug was reached: "+s.broken[0].why
	case s.err != nil || !s.marked:
		r.Fate, r.Why = NotRun, strings.TrimSpace(fmt.Sprintf("%v\n%s", s.err, s.why))
	case s.passed == 0:
		r.Fate = NeverReached
	}
}

// wrongLaw says that another law noticed than the one which must.
func (r *Result) wrongLaw() bool {
	return r.Fate == Killed && len(r.Bug.Laws) > 0 && !slices.Contains(r.Bug.Laws, r.Law)
}

// report prints the table, and what is to be said about each bug that lives.
func report(out io.Writer, results []Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "bug\tfate\tby law\tat seed\teffects\treached\ttook")
	killed, alive := 0, 0
	for i := range results {
		r := &results[i]
		fate, law, seed, effects := r.Fate.String(), "", "", ""
		if r.Fate == Killed {
			law, seed, effects = strconv.Itoa(r.Law), strconv.FormatUint(r.Seed, 10), strconv.Itoa(r.Effects)
		}
		if r.wrongLaw() {
			law += " (want " + strings.Trim(fmt.Sprint(r.Bug.Laws), "[]") + ")"
		}
		if r.Fate == Killed && !r.wrongLaw() {
			killed++
		} else {
			alive++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", r.Bug.Name, fate, law, seed, effects, r.Passed, r.Took.Round(time.Second/10))
	}
	fmt.Fprintln(out)
	if err := w.Flush(); err != nil {
		return err
	}
	for i := range results {
		if r := &results[i]; r.Fate != Killed {
			fmt.Fprintf(out, "\n%s: %s\n  breaks: %s\n", r.Bug.Name, r.Fate, r.Bug.Breaks)
			if r.Why != "" {
				fmt.Fprintln(out, "  "+strings.ReplaceAll(r.Why, "\n", "\n  "))
			}
		}
	}
	fmt.Fprintf(out, "\n%d of %d killed\n", killed, len(results))
	if alive > 0 {
		return fmt.Errorf("%w: %d of %d", ErrMutants, alive, len(results))
	}
	return nil
}
