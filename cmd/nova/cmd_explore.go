package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"nova/sim/explore"
)

// newSimExplore is `nova sim explore`.
func newSimExplore() *cobra.Command {
	var o explore.Command
	var strategy string
	var all, list bool
	c := &cobra.Command{
		Use:   "explore [--world NAME,… | --all]",
		Short: "Search small worlds in every order of events",
		Long: `Searches small worlds: two auditors and one object, a rewrite that is cut and begins
anew, a teardown beside a settle, and so on. Every interleaving of their effects is
visited, with the cuts, lost replies and late requests that each world allows, and
time moving on wherever it may; the laws that a world can break
are judged on every one that is reached, and laws 4 and 5 on every write. What takes a
history (who asked, dates of clocks, bytes that change, widths) is for sim run.
It checks the machines themselves, not a model of them.

With --strategy the same worlds are walked instead: at random, with few preemptions
(pct), or towards what no walk has met (guided).

It exits 1 where a law breaks, and prints a shortest way there; and where a world
has another number of states than it had when it was made.`,
		Args: args(cobra.NoArgs),
		RunE: action(func(_ context.Context, c *cobra.Command, _ []string) error {
			out := c.OutOrStdout()
			if list || len(o.Worlds) == 0 && !all {
				fmt.Fprintln(out, strings.Join(explore.Names(), "\n"))
				return nil
			}
			var err error
			if o.Strategy, err = explore.ParseStrategy(strategy); err != nil {
				return usage(c, err)
			}
			if all {
				err = misfits{}.because("it is every world", "world").check(c, "--all")
			}
			if walks := strategy != "exhaustive"; err == nil && walks {
				err = misfits{}.because("a walk has no set of states", "whole", "limit").check(c, "walks")
			} else if err == nil {
				err = misfits{}.because("it is of walks (--strategy)", "seed", "runs", "budget").check(c, "an exhaustive search")
			}
			if err != nil {
				return err
			}
			err = o.Do(out)
			if errors.Is(err, explore.ErrBroken) || errors.Is(err, explore.ErrCount) {
				fmt.Fprintln(os.Stderr, "nova:", err)
				return exit(1)
			}
			return err
		}),
	}
	f := c.Flags()
	f.StringSliceVar(&o.Worlds, "world", nil, "the worlds to search, by name")
	f.BoolVar(&all, "all", false, "search every world")
	f.BoolVar(&list, "list", false, "list the worlds (what it does without any other flag, too)")
	f.StringVar(&strategy, "strategy", "exhaustive", "random, pct, guided or exhaustive")
	f.Uint64Var(&o.Seed, "seed", 0, "of walks")
	f.IntVar(&o.Runs, "runs", 0, "walks of each world, at most")
	f.DurationVar(&o.Budget, "budget", 0, "processor time of each world's walks (default 10s, unless --runs is given)")
	f.BoolVar(&o.Whole, "whole", false, "without partial-order reduction")
	f.IntVar(&o.Limit, "limit", 0, "states of each world, at most")
	f.IntVar(&o.Parallel, "parallel", 1, "worlds side by side")
	f.IntVar(&o.Trace, "trace", 60, "lines of the way to a breach")
	return c
}
