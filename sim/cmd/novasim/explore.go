package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"nova/sim/explore"
)

// searched searches small worlds: `novasim explore`.
func searched(args []string, out, errs io.Writer) int {
	var c explore.Command
	fs := flag.NewFlagSet("novasim explore", flag.ContinueOnError)
	fs.SetOutput(errs)
	worlds := fs.String("world", "", "worlds, with commas between (default: all)")
	strategy := fs.String("strategy", "exhaustive", "random, pct, guided or exhaustive")
	fs.Uint64Var(&c.Seed, "seed", 0, "of walks")
	fs.IntVar(&c.Runs, "runs", 0, "walks of each world")
	fs.DurationVar(&c.Budget, "budget", 0, "processor time of each world's walks (default 10s, unless -runs is given)")
	fs.DurationVar(&c.Total, "total", 0, "processor time for all worlds in turn, a little of each at a time, until a law breaks")
	fs.BoolVar(&c.Whole, "whole", false, "without partial-order reduction")
	fs.IntVar(&c.Limit, "limit", 0, "states of each world")
	fs.IntVar(&c.Parallel, "parallel", 1, "worlds side by side")
	fs.IntVar(&c.Trace, "trace", 60, "lines of the way to a breach")
	list := fs.Bool("list", false, "list the worlds")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if *list {
		fmt.Fprintln(out, strings.Join(explore.Names(), "\n"))
		return 0
	}
	if *worlds != "" {
		c.Worlds = strings.Split(*worlds, ",")
	}
	var err error
	if c.Strategy, err = explore.ParseStrategy(*strategy); err == nil {
		err = c.Do(out)
	}
	switch {
	case errors.Is(err, explore.ErrBroken), errors.Is(err, explore.ErrCount):
		fmt.Fprintln(errs, "novasim:", err)
		return 1
	case err != nil:
		fmt.Fprintln(errs, "novasim:", err)
		return 2
	}
	return 0
}
