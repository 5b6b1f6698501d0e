package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nova/faults"
	"nova/sim"
	"nova/sim/shrink"
)

func newSim() *cobra.Command {
	c := &cobra.Command{
		Use:   "sim",
		Short: "The simulator: the same core under every fault, seed by seed",
		Long: `Runs stars, auditors, readers, deleters and trimmers over a simulated object store
and metastore. Every effect of every one of them is a choice of the seed's, and so
is every fault; the laws are checked after each. A seed is a whole run: the same
seed is the same run, and "go test ./sim -seed N" is it too.`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSimRun(), newSimReplay(), newSimShrink(), newSimMutants())
	return c
}

// simFlags say what run a seed is.
type simFlags struct {
	plan    string
	at      string
	effects int
	instant bool
}

func (s *simFlags) register(f *pflag.FlagSet) {
	f.StringVar(&s.plan, "plan", "", "the fault plan, instead of the seed's own")
	f.StringVar(&s.at, "at", "", `cut there besides: a row of the crash table ("put before commit"), or a boundary of faults/boundaries/list.txt, perhaps with =before, =after or =silent`)
	f.IntVar(&s.effects, "effects", 0, "effects of a run before its faults stop (0: drawn)")
	f.BoolVar(&s.instant, "instant", false, "end a run where its faults would stop: only what breaks at once is looked for")
}

// config is the run of a seed.
func (s *simFlags) config(seed uint64) (sim.Config, error) {
	cfg := sim.Config{Seed: seed, Effects: s.effects, Instant: s.instant, Scene: sim.Nova}
	if s.plan != "" {
		p, err := faults.Parse(s.plan)
		if err != nil {
			return cfg, fmt.Errorf("--plan: %w", err)
		}
		cfg.Plan = &p
	}
	at, err := faults.ParseAim(s.at)
	if err != nil {
		return cfg, fmt.Errorf("--at: %w", err)
	}
	cfg.At = at
	return cfg, nil
}

func newSimRun() *cobra.Command {
	var flags simFlags
	var seeds string
	var all, cover bool
	c := &cobra.Command{
		Use:   "run [--seeds A..B]",
		Short: "Run seeds, and stop at the first that breaks a law",
		Long: `Runs seeds in order, and says in the end what they reached: operations, outcomes,
verdicts, faults, laws, requests, the work of each duty, the rows of the crash
table, and how many of the places that emit an effect a process was cut at, before
it, after it and before its reply.

It exits 1 if a law was broken; and, from 200 seeds with their own plans on, if a
law was never evaluated, a fault never struck, or a duty never worked. With --cover
it repeats runs that came by places where none was cut, cuts them there, and exits
1 if anything is left that is not excused.`,
		Args: args(cobra.NoArgs),
		RunE: action(func(ctx context.Context, c *cobra.Command, _ []string) error {
			from, to, err := parseSeeds(seeds)
			if err != nil {
				return usage(c, err)
			}
			cfg, err := flags.config(from)
			if err != nil {
				return usage(c, err)
			}
			return runSeeds(ctx, c.OutOrStdout(), cfg, from, to, all, cover)
		}),
	}
	f := c.Flags()
	f.StringVar(&seeds, "seeds", "0..100", "a seed, or A..B: from A up to, not including, B")
	f.BoolVar(&all, "all", false, "go on after a law was broken")
	f.BoolVar(&cover, "cover", false, "fail where something was not reached")
	flags.register(f)
	return c
}

// oneSeed makes a command whose argument is a seed.
func oneSeed(c *cobra.Command, flags *simFlags, run func(out io.Writer, cfg sim.Config) error) *cobra.Command {
	c.Args = args(cobra.ExactArgs(1))
	c.RunE = action(func(_ context.Context, c *cobra.Command, given []string) error {
		seed, err := strconv.ParseUint(given[0], 10, 64)
		if err != nil {
			return usage(c, fmt.Errorf("%q is no seed: give a number", given[0]))
		}
		cfg, err := flags.config(seed)
		if err != nil {
			return usage(c, err)
		}
		return run(c.OutOrStdout(), cfg)
	})
	flags.register(c.Flags())
	return c
}

func newSimReplay() *cobra.Command {
	return oneSeed(&cobra.Command{Use: "replay SEED", Short: "Run one seed and print every event of it"}, &simFlags{}, func(out io.Writer, cfg sim.Config) error {
		b := bufio.NewWriter(out)
		cfg.Log = b
		r := sim.Run(cfg)
		if err := b.Flush(); err != nil {
			return err
		}
		return verdictOf(out, r)
	})
}

func newSimShrink() *cobra.Command {
	var tries int
	c := oneSeed(&cobra.Command{
		Use:   "shrink SEED",
		Short: "Look for the shortest run that breaks what a seed breaks",
		Long: `Runs a seed that breaks a law, and draws shorter runs with fewer kinds of fault
that break the same law in the same words. It prints the shortest, and how to run
it again.`,
	}, &simFlags{}, func(out io.Writer, cfg sim.Config) error {
		r := sim.Run(cfg)
		if r.Breach == nil {
			_, err := fmt.Fprintf(out, "seed %d breaks no law: there is nothing to shrink\n", cfg.Seed)
			return err
		}
		short, found := shrink.Shrink(cfg, r, tries)
		fmt.Fprintf(out, "from %d lines to %d; again: nova sim replay %d --effects %d --instant=%v --plan %q\n", r.Lines, found.Lines, short.Seed, short.Effects, short.Instant, found.Plan.String())
		return verdictOf(out, found)
	})
	c.Flags().IntVar(&tries, "tries", 2000, "runs to draw")
	return c
}

// verdictOf says what came of one run.
func verdictOf(out io.Writer, r *sim.Report) error {
	if r.Breach == nil {
		_, err := fmt.Fprintf(out, "seed %d: %d effects, every law holds\n", r.Seed, r.Count.Effects)
		return err
	}
	if _, err := fmt.Fprintf(out, "seed %d breaks law %d after %d effects: %s\n", r.Seed, r.Breach.Law, r.Count.Effects, r.Breach.What); err != nil {
		return err
	}
	return exit(1)
}

// parseSeeds reads "A..B" or "A".
func parseSeeds(s string) (from, to uint64, err error) {
	a, b, isRange := strings.Cut(s, "..")
	from, err = strconv.ParseUint(a, 10, 64)
	if to = from + 1; isRange && err == nil {
		to, err = strconv.ParseUint(b, 10, 64)
	}
	if err != nil || to <= from {
		return 0, 0, fmt.Errorf("--seeds %q: give a seed, or A..B with A below B", s)
	}
	return from, to, nil
}

// runSeeds runs seeds in order.
func runSeeds(ctx context.Context, out io.Writer, cfg sim.Config, from, to uint64, all, cover bool) error {
	var reached sim.Coverage
	broken := 0
	goes := func() bool { return ctx.Err() == nil && (broken == 0 || all) }
	do := func(c sim.Config) {
		if !goes() {
			return
		}
		r := sim.Run(c)
		reached.Add(r)
		if r.Breach != nil {
			broken++
			fmt.Fprintf(out, "seed %d breaks law %d after %d effects: %s\nagain: nova sim replay %d --plan %q, or %s\n", c.Seed, r.Breach.Law, r.Count.Effects, r.Breach.What, c.Seed, r.Plan.String(), r.Again())
		}
	}
	cfg.Cover = true
	for cfg.Seed = from; cfg.Seed < to && goes(); cfg.Seed++ {
		do(cfg)
	}
	if cover && goes() {
		reached.Steer(cfg, do)
	}
	sum := &reached.Sum
	fmt.Fprintf(out, "%d runs, %d effects, %d turns, %d changes; %d broken\n", sum.Runs, sum.Effects, sum.Turns, sum.Changes, broken)
	if err := ctx.Err(); err != nil {
		return errors.New("interrupted")
	}
	whole, err := reached.End(out, cover)
	if err != nil {
		return err
	}
	if own := cfg.Plan == nil && cfg.Effects == 0 && cfg.At == (faults.Aim{}); broken > 0 || !whole && (own || cover) {
		return exit(1)
	}
	return nil
}

func newSimMutants() *cobra.Command {
	var o faults.MutantsOptions
	c := &cobra.Command{
		Use:   "mutants",
		Short: "Plant each known bug and require that the simulator finds it",
		Long: `Builds the simulator once with each bug of faults/planted and runs it until a law
breaks. It must be run inside the source tree, with the Go toolchain.`,
		Args: args(cobra.NoArgs),
		RunE: action(func(ctx context.Context, c *cobra.Command, _ []string) error {
			err := faults.Mutants(ctx, o, c.OutOrStdout())
			if errors.Is(err, faults.ErrMutants) {
				fmt.Fprintln(os.Stderr, "nova:", err)
				return exit(1)
			}
			return err
		}),
	}
	f := c.Flags()
	f.StringVar(&o.Dir, "dir", "", "folder of the planted bugs (none: faults/planted of the source tree)")
	f.StringSliceVar(&o.Only, "only", nil, "names of bugs (none: all)")
	f.IntVar(&o.Seeds, "seeds", 0, "seeds that each bug has to survive (0: 1,000)")
	f.Uint64Var(&o.From, "from", 0, "the first seed")
	f.IntVar(&o.Parallel, "parallel", 0, "bugs side by side (0: 2)")
	return c
}
