package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
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
	c.AddCommand(newSimRun(), newSimExplore(), newSimReplay(), newSimShrink(), newSimMutants())
	return c
}

func newSimRun() *cobra.Command {
	var flags simFlags
	var o simRun
	var seeds string
	c := &cobra.Command{
		Use:   "run [--seeds A..B]",
		Short: "Run seeds, and stop at the first that breaks a law",
		Long: `Runs seeds in order, and says in the end what they reached: operations, outcomes,
verdicts, faults, laws, requests, the work of each duty, the rows of the crash
table, and how many of the places that emit an effect a process was cut at, before
it, after it and before its reply.

It exits 1 if a law was broken; and, from 100 seeds with their own plans on, if a
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
			if err := errors.Join(canFill("--record", o.record), canWrite("--html", o.page)); err != nil {
				return err
			}
			return o.seeds(ctx, c.OutOrStdout(), c.ErrOrStderr(), cfg, from, to)
		}),
	}
	f := c.Flags()
	f.StringVar(&seeds, "seeds", "0..100", "a seed, or A..B: from A up to, not including, B")
	f.BoolVar(&o.all, "all", false, "go on after a law was broken")
	f.BoolVar(&o.cover, "cover", false, "fail where something was not reached")
	f.StringVar(&o.record, "record", "records", "the folder into which the record of a run that breaks a law is written (none: nowhere)")
	f.StringVar(&o.page, "html", "", "write a run as a page: the first that breaks a law, else the last")
	f.IntVar(&o.parallel, "parallel", runtime.GOMAXPROCS(0), "seeds run side by side; what is said of them does not depend on it")
	f.BoolVar(&o.progress, "progress", false, "say on stderr how far it has come")
	flags.register(f)
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

// simRun is how seeds are run.
type simRun struct {
	all, cover, progress bool
	parallel             int
	record, page         string
}

// broke writes the record of a run that has broken a law.
func (o *simRun) broke(out io.Writer, c sim.Config, r *sim.Report) error {
	fmt.Fprintf(out, "seed %d breaks law %d after %d effects: %s\nagain: %s\n or:   %s\n", c.Seed, r.Breach.Law, r.Count.Effects, r.Breach.What, againOf(&c, &r.Plan), r.Again())
	if o.record == "" {
		return nil
	}
	path, err := sim.Recorded(c).Record.Write(o.record)
	if err == nil {
		_, err = fmt.Fprintf(out, "its record: %s (nova sim replay, nova sim shrink)\n", path)
	}
	return err
}

// seeds runs seeds in order.
func (o *simRun) seeds(ctx context.Context, out, errs io.Writer, cfg sim.Config, from, to uint64) error {
	var failed error
	var shown sim.Config // what the page shows
	p := newSimProgress(errs, o.progress, to-from)
	var reached sim.Coverage
	broken := 0
	goes := func() bool { return ctx.Err() == nil && failed == nil && (broken == 0 || o.all) }
	took := func(c sim.Config, r *sim.Report) {
		reached.Add(r)
		if broken == 0 {
			shown = c
		}
		if r.Breach != nil {
			broken++
			failed = o.broke(out, c, r)
		}
		p.ran(&reached.Sum, broken)
	}
	cfg.Cover = true
	abreast(o.parallel, from, to, func(seed uint64) func() bool {
		c := cfg
		c.Seed = seed
		r := sim.Guarded(c)
		return func() bool {
			took(c, r)
			return goes()
		}
	})
	if o.cover && goes() {
		reached.Steer(cfg, func(c sim.Config) {
			if goes() {
				took(c, sim.Guarded(c))
			}
		})
	}
	p.end()
	if failed != nil {
		return failed
	}
	if o.page != "" && reached.Sum.Runs > 0 {
		if err := writePage(out, o.page, sim.Recorded(shown).Record); err != nil {
			return err
		}
	}
	sum := &reached.Sum
	fmt.Fprintf(out, "%d runs, %d effects, %d turns, %d changes; %d broken\n", sum.Runs, sum.Effects, sum.Turns, sum.Changes, broken)
	if err := ctx.Err(); err != nil {
		return errors.New("interrupted")
	}
	whole, err := reached.End(out, o.cover)
	if err != nil {
		return err
	}
	if own := cfg.Plan == nil && cfg.Effects == 0 && cfg.At == (faults.Aim{}); broken > 0 || !whole && (own || o.cover) {
		return exit(1)
	}
	return nil
}

func newSimMutants() *cobra.Command {
	var so faults.StrategiesOptions
	o := &so.MutantsOptions
	var table bool
	c := &cobra.Command{
		Use:   "mutants",
		Short: "Plant each known bug and require that the simulator finds it",
		Long: `Builds the simulator once with each bug of faults/planted and runs it, on three
ranges of seeds, until a law breaks; a seed that breaks it without the bug, too, does
not count. It exits 1 unless each bug was killed on every range, by a law that it
names. It must be run inside the source tree, with the Go toolchain.

With --table it looks for each bug several times with each strategy (whole clusters
by seed; small worlds at random, with few preemptions, guided, and exhaustively) and
prints how many seeds, walks or states that took.`,
		Args: args(cobra.NoArgs),
		RunE: action(func(ctx context.Context, c *cobra.Command, _ []string) error {
			var err error
			if !table {
				err = misfits{}.because("it is of --table", "strategy", "repeat", "budget").check(c, "a hunt without --table")
			}
			if err != nil {
				return err
			}
			if table {
				err = faults.Strategies(ctx, so, c.OutOrStdout())
			} else {
				err = faults.Mutants(ctx, *o, c.OutOrStdout())
			}
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
	f.IntVar(&o.Seeds, "seeds", 0, "seeds of a range, at most (0: 2,000)")
	f.UintSliceVar(&o.From, "from", nil, "the first seed of each range of seeds (none: three ranges, from 0, 1000000 and 2000000)")
	f.IntVar(&o.Parallel, "parallel", 0, "bugs side by side (0: 2)")
	f.BoolVar(&table, "table", false, "a table of bugs and strategies")
	f.StringSliceVar(&so.Strategies, "strategy", nil, "with --table: of seeds, random, pct, guided, exhaustive (none: all)")
	f.IntVar(&so.Repeat, "repeat", 3, "with --table: how often each strategy looks for each bug")
	f.DurationVar(&so.Budget, "budget", 0, "with --table: processor time of one search of the small worlds (0: 10s)")
	return c
}
