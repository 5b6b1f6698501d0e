package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"nova/faults"
	"nova/sim"
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
	c.AddCommand(newSimRun(), newSimMutants())
	return c
}

func newSimRun() *cobra.Command {
	var seeds, plan string
	var effects int
	var all, trace bool
	c := &cobra.Command{
		Use:   "run [--seeds A..B]",
		Short: "Run seeds, and stop at the first that breaks a law",
		Args:  args(cobra.NoArgs),
		RunE: action(func(ctx context.Context, c *cobra.Command, _ []string) error {
			from, to, err := parseSeeds(seeds)
			if err != nil {
				return usage(c, err)
			}
			cfg := sim.Config{Effects: effects, Scene: sim.Nova}
			if plan != "" {
				p, err := faults.Parse(plan)
				if err != nil {
					return usage(c, fmt.Errorf("--plan: %w", err))
				}
				cfg.Plan = &p
			}
			if trace {
				if to != from+1 {
					return usage(c, errors.New("--trace prints every event: give it one seed, --seeds N"))
				}
				cfg.Log = c.OutOrStdout()
			}
			return runSeeds(ctx, c.OutOrStdout(), cfg, from, to, all)
		}),
	}
	f := c.Flags()
	f.StringVar(&seeds, "seeds", "0..100", "a seed, or A..B: from A up to, not including, B")
	f.StringVar(&plan, "plan", "", "the fault plan, instead of each seed's own")
	f.IntVar(&effects, "effects", 0, "effects of a run before its faults stop (0: 4,000)")
	f.BoolVar(&all, "all", false, "go on after a law was broken")
	f.BoolVar(&trace, "trace", false, "print a line an event")
	return c
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
func runSeeds(ctx context.Context, out io.Writer, cfg sim.Config, from, to uint64, all bool) error {
	var sum sim.Count
	broken := 0
	for seed := from; seed < to && ctx.Err() == nil; seed++ {
		cfg.Seed = seed
		r := sim.Run(cfg)
		sum.Add(&r.Count)
		if r.Breach == nil {
			continue
		}
		broken++
		fmt.Fprintf(out, "seed %d breaks law %d after %d effects: %s\nagain: nova sim run --seeds %d --trace, or %s\n", seed, r.Breach.Law, r.Count.Effects, r.Breach.What, seed, r.Again())
		if !all {
			break
		}
	}
	fmt.Fprintf(out, "%d runs, %d effects, %d turns, %d changes; %d broken\n", sum.Runs, sum.Effects, sum.Turns, sum.Changes, broken)
	if err := ctx.Err(); err != nil {
		return errors.New("interrupted")
	}
	if broken > 0 {
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
	f.IntVar(&o.Seeds, "seeds", 0, "seeds that each bug has to survive (0: 200)")
	f.Uint64Var(&o.From, "from", 0, "the first seed")
	f.IntVar(&o.Parallel, "parallel", 0, "bugs side by side (0: 2)")
	return c
}
