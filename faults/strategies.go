package faults

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// StrategyNames are the ways of looking for a planted bug: whole clusters by seed,
// and walks and searches of small worlds.
var StrategyNames = []string{"seeds", "random", "pct", "guided", "exhaustive"}

// StrategiesOptions says how each planted bug is looked for.
type StrategiesOptions struct {
	MutantsOptions
	Strategies []string      // of StrategyNames; none: all
	Repeat     int           // how often small worlds are walked, each time from another seed; 0: 3
	Budget     time.Duration // processor time of one repetition in small worlds; 0: 10 s
}

// Hunt is what became of one planted bug under one strategy.
type Hunt struct {
	Tries int             // repetitions
	Kills int             // that ended with the bug's own law
	Other int             // that ended with another law
	Runs  []uint64        // seeds, walks or states until the end of each
	Took  []time.Duration // of the processor, each
}

// Strategies plants each bug, looks for it with each strategy several times (by
// seeds: once on each range), and prints a table of how many seeds, walks or states
// it took, with 95 % intervals. It fails unless every bug was killed by a law that
// it names: on every range of seeds; or, where seeds are not asked for, by some
// strategy.
func Strategies(ctx context.Context, o StrategiesOptions, out io.Writer) error {
	root, bugs, err := o.load()
	if err != nil {
		return err
	}
	if len(o.Strategies) == 0 {
		o.Strategies = StrategyNames
	}
	for _, s := range o.Strategies {
		if !slices.Contains(StrategyNames, s) {
			return fmt.Errorf("strategy %q: it is one of %s", s, strings.Join(StrategyNames, ", "))
		}
	}
	if o.Repeat == 0 {
		o.Repeat = 3
	}
	if o.Budget == 0 {
		o.Budget = 10 * time.Second
	}
	scratch, err := os.MkdirTemp("", "nova-strategies-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	asIs, builds, err := buildAll(ctx, root, scratch, bugs)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "bug\t%s\n", strings.Join(o.Strategies, "\t"))
	ctx, cancel := context.WithCancel(ctx)
	found, wait := o.abreast(ctx, builds, asIs)
	defer wait()
	defer cancel()
	alive := 0
	for i := range bugs {
		h := <-found[i]
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("hunt %s: %w", bugs[i].Name, err)
		}
		if h.err != nil { // the other rows are worth having
			alive++
			fmt.Fprintf(w, "%s\tNOT RUN: %s\n", bugs[i].Name, h.err)
			continue
		}
		cells := make([]string, len(h.hunts))
		for k := range h.hunts {
			cells[k] = h.hunts[k].String()
		}
		if !o.killed(h.hunts) {
			alive++
		}
		fmt.Fprintf(w, "%s\t%s\n", bugs[i].Name, strings.Join(cells, "\t"))
		if err := w.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nk/n: killed in k of n repetitions; then the mean number of seeds (whole clusters), walks or states (small worlds) until then, with its 95 %% interval; then the median of the processor's time.\n")
	if alive > 0 {
		return fmt.Errorf("%w: %d of %d", ErrMutants, alive, len(bugs))
	}
	return nil
}

// hunted is what came of one bug.
type hunted struct {
	hunts []Hunt
	err   error
}

// abreast looks for the bugs side by side, and gives what came of each where it is waited
// for. The times are the processor's, of each hunt's own process.
func (o *StrategiesOptions) abreast(ctx context.Context, builds *Builds, asIs *sound) (found []chan hunted, wait func()) {
	found = make([]chan hunted, len(builds.bugs))
	next := make(chan int, len(builds.bugs))
	for i := range found {
		found[i] = make(chan hunted, 1)
		next <- i
	}
	close(next)
	var lanes sync.WaitGroup
	for range o.Parallel {
		lanes.Go(func() {
			for i := range next {
				hunts, err := o.strategies(ctx, builds, i, asIs)
				found[i] <- hunted{hunts, err}
			}
		})
	}
	return found, lanes.Wait
}

// killed reports whether a bug was found as it must be.
func (o *StrategiesOptions) killed(hunts []Hunt) bool {
	if k := slices.Index(o.Strategies, "seeds"); k >= 0 {
		return hunts[k].Kills == hunts[k].Tries
	}
	return slices.ContainsFunc(hunts, func(h Hunt) bool { return h.Kills > 0 })
}

// strategies looks for one bug in every way.
func (o *StrategiesOptions) strategies(ctx context.Context, builds *Builds, i int, asIs *sound) ([]Hunt, error) {
	a, _, err := builds.Wake(ctx, i)
	if err != nil {
		return nil, err
	}
	p := &builds.bugs[i]
	hunts := make([]Hunt, len(o.Strategies))
	for k, strategy := range o.Strategies {
		if strategy == "seeds" {
			err = o.bySeeds(ctx, a, p, asIs, &hunts[k])
		} else {
			err = o.inSmallWorlds(ctx, a, p, strategy, asIs.root, &hunts[k])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strategy, err)
		}
	}
	return hunts, nil
}

// bySeeds looks for a bug on each range of seeds.
func (o *StrategiesOptions) bySeeds(ctx context.Context, a Awake, p *Planted, asIs *sound, h *Hunt) error {
	for _, from := range o.From {
		r := Result{Bug: p, From: uint64(from)}
		o.hunt(ctx, a, &r, asIs)
		switch r.Fate {
		case NotRun:
			return fmt.Errorf("run the simulator: %s", r.Why)
		case Killed:
			h.add(r.Seed-r.From+1, !r.wrongLaw(), r.Took)
		default:
			h.missed(uint64(o.Seeds), r.Took)
		}
	}
	return nil
}

// inSmallWorlds looks for a bug in the small worlds, several times.
func (o *StrategiesOptions) inSmallWorlds(ctx context.Context, a Awake, p *Planted, strategy, root string, h *Hunt) error {
	repeat := o.Repeat
	if strategy == "exhaustive" {
		repeat = 1 // it draws nothing
	}
	for n := range repeat {
		one, cancel := context.WithTimeout(ctx, o.Timeout)
		s := runSimulator(a.Command(one, root, "explore", "-strategy", strategy, "-seed", strconv.Itoa(n+1), "-total", o.Budget.String(), "-trace", "1"))
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case len(s.broken) > 0:
			b := s.broken[0]
			h.add(b.seed, s.passed > 0 && (len(p.Laws) == 0 || slices.Contains(p.Laws, b.law)), s.cpu)
		case s.err != nil && one.Err() == nil:
			return fmt.Errorf("search the small worlds: %w: %s", s.err, s.why)
		default:
			h.missed(0, s.cpu)
		}
	}
	return nil
}

// add adds a repetition that ended after so many runs with a law broken: the
// bug's own, or another.
func (h *Hunt) add(runs uint64, own bool, took time.Duration) {
	h.missed(runs, took)
	if own {
		h.Kills++
	} else {
		h.Other++
	}
}

// missed adds a repetition that found nothing in so many runs, if they are known.
func (h *Hunt) missed(runs uint64, took time.Duration) {
	h.Tries++
	h.Took = append(h.Took, took)
	if runs > 0 {
		h.Runs = append(h.Runs, runs)
	}
}

func (h *Hunt) String() string {
	text := fmt.Sprintf("%d/%d", h.Kills, h.Tries)
	if h.Other > 0 {
		text += fmt.Sprintf(" (%d by another law)", h.Other)
	}
	if h.Kills == 0 {
		return text
	}
	mean, low, high := h.interval()
	slices.Sort(h.Took)
	return text + fmt.Sprintf(" %s [%s–%s] %s", short(mean), short(low), short(high), h.Took[len(h.Took)/2].Round(time.Second/10))
}

// interval is the mean number of runs until a kill and its 95 % interval: runs are
// taken to kill independently, each as likely as the other.
func (h *Hunt) interval() (mean, low, high float64) {
	total, k := 0.0, float64(h.Kills)
	for _, n := range h.Runs {
		total += float64(n)
	}
	return total / k, 2 * total / chiSquare(0.975, 2*k+2), 2 * total / chiSquare(0.025, 2*k)
}

// chiSquare is a quantile of the chi-square distribution with so many degrees of
// freedom, by Wilson and Hilferty's approximation; p is 0.025 or 0.975.
func chiSquare(p, degrees float64) float64 {
	z := 1.959964
	if p < 0.5 {
		z = -z
	}
	a := 2 / (9 * degrees)
	return degrees * math.Pow(1-a+z*math.Sqrt(a), 3)
}

func short(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%.1fM", x/1e6)
	case x >= 1e4:
		return fmt.Sprintf("%.0fk", x/1e3)
	case x >= 10:
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f", x)
}
