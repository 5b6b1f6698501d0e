package faults

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	Repeat     int           // how often, each time from another seed; 0: 3
	Budget     time.Duration // processor time of one repetition in small worlds; 0: 10 s
}

// Hunt is what became of one planted bug under one strategy.
type Hunt struct {
	Tries int      // repetitions
	Kills int      // that ended with the bug's own law
	Other int      // that ended with another law
	Runs  []uint64 // seeds, walks or states until the end of each
	Took  []time.Duration
}

// Strategies plants each bug, looks for it with each strategy several times, and
// prints a table of how many seeds, walks or states it took, with 95 % intervals.
// It fails unless every bug was killed, by a law that it names, by some strategy.
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
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "bug\t%s\n", strings.Join(o.Strategies, "\t"))
	alive := 0
	for i := range bugs {
		dir := filepath.Join(scratch, bugs[i].Name)
		hunts, err := o.hunt(ctx, root, dir, &bugs[i])
		os.RemoveAll(dir)
		if err != nil {
			return fmt.Errorf("hunt %s: %w", bugs[i].Name, err)
		}
		cells, killed := make([]string, len(hunts)), false
		for k := range hunts {
			cells[k], killed = hunts[k].String(), killed || hunts[k].Kills > 0
		}
		if !killed {
			alive++
		}
		fmt.Fprintf(w, "%s\t%s\n", bugs[i].Name, strings.Join(cells, "\t"))
		if err := w.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nk/n: killed in k of n repetitions; then the mean number of seeds (whole clusters), walks or states (small worlds) until then, with its 95 %% interval; then the median time.\n")
	if alive > 0 {
		return fmt.Errorf("%w: %d of %d", ErrMutants, alive, len(bugs))
	}
	return nil
}

// hunt builds the simulator with one bug and looks for it in every way.
func (o *StrategiesOptions) hunt(ctx context.Context, root, scratch string, p *Planted) ([]Hunt, error) {
	overlay, err := Overlay(root, scratch, p)
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(scratch, "novasim")
	if err := Build(ctx, root, overlay, binary); err != nil {
		return nil, err
	}
	hunts := make([]Hunt, len(o.Strategies))
	for k, strategy := range o.Strategies {
		repeat := o.Repeat
		if strategy == "exhaustive" {
			repeat = 1 // it draws nothing
		}
		for n := range repeat {
			args := []string{"explore", "-strategy", strategy, "-seed", strconv.Itoa(n + 1), "-total", o.Budget.String(), "-trace", "1"}
			from := o.From + uint64(n)*1_000_000
			if strategy == "seeds" {
				args = append([]string{"run", "-seeds", fmt.Sprintf("%d..%d", from, from+uint64(o.Seeds))}, p.With...)
			}
			began := time.Now()
			one, cancel := context.WithTimeout(ctx, o.Timeout)
			s := runSimulator(one, root, binary, args...)
			cancel()
			if len(s.broken) == 0 && s.err != nil && one.Err() == nil {
				return nil, fmt.Errorf("%s: %w: %s", strategy, s.err, s.why)
			}
			hunts[k].add(s, p, strategy == "seeds", from, uint64(o.Seeds), time.Since(began))
		}
	}
	return hunts, nil
}

// add adds a repetition.
func (h *Hunt) add(s simulated, p *Planted, seeds bool, from, all uint64, took time.Duration) {
	h.Tries++
	h.Took = append(h.Took, took)
	if len(s.broken) == 0 {
		if seeds {
			h.Runs = append(h.Runs, all)
		}
		return
	}
	b := s.broken[0]
	runs := b.seed
	if seeds {
		runs = b.seed - from + 1
	}
	h.Runs = append(h.Runs, runs)
	if s.passed > 0 && (len(p.Laws) == 0 || slices.Contains(p.Laws, b.law)) {
		h.Kills++
	} else {
		h.Other++
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
