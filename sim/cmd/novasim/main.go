// Novasim is the simulator on its own: it links the core, the simulator and the
// faults, and nothing of etcd or of an SDK, so that it is built in a second. `make
// mutants` builds it once with every planted bug; `nova sim run` is the same run.
//
//	novasim run [-seeds A..B] [-plan PLAN] [-at ROW|BOUNDARY] [-effects N] [-all] [-cover]
//	novasim replay [-log] FILE
//	novasim shrink [-budget 60s] [-o FILE] FILE
//	novasim mutants [-dir DIR] [-from A,B…] [-seeds N] [-only NAME,NAME…] [-parallel N]
//
// Run runs the seeds from A up to, not including, B, in order, and prints for each
// that breaks a law one line
//
//	broken: law=N seed=N effects=N what
//
// and at the end how much it ran. It stops at the first, unless -all is given. It
// exits 1 if a law was broken, and 2 if it could not run.
//
// Mutants plants each bug of faults/planted and says what became of it; it exits 1
// if one is alive.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"

	"nova/faults"
	"nova/sim"
)

// atExit is run before the process ends; a build with a planted bug adds to it.
var atExit []func()

func main() {
	code := run(os.Args[1:], os.Stdout, os.Stderr)
	for _, f := range atExit {
		f()
	}
	os.Exit(code)
}

func run(args []string, out, errs io.Writer) int {
	switch {
	case len(args) > 0 && args[0] == "run":
		return seeds(args[1:], out, errs)
	case len(args) > 0 && args[0] == "mutants":
		return mutants(args[1:], out, errs)
	case len(args) > 0 && args[0] == "explore":
		return searched(args[1:], out, errs)
	case len(args) > 0 && args[0] == "replay":
		return replay(args[1:], out, errs)
	case len(args) > 0 && args[0] == "shrink":
		return shrunk(args[1:], out, errs)
	}
	fmt.Fprintln(errs, "usage: novasim run|explore|replay|shrink|mutants [flags]")
	return 2
}

// mutants plants every bug.
func mutants(args []string, out, errs io.Writer) int {
	var o faults.MutantsOptions
	fs := flag.NewFlagSet("novasim mutants", flag.ContinueOnError)
	fs.SetOutput(errs)
	fs.StringVar(&o.Dir, "dir", "", "the planted bugs (default: faults/planted)")
	fs.IntVar(&o.Seeds, "seeds", 0, "seeds that each has to survive (0: the default)")
	fs.Func("from", "the first seed of each range of seeds, with commas between (default: three ranges)", func(s string) error {
		for f := range strings.SplitSeq(s, ",") {
			n, err := strconv.ParseUint(f, 10, 63)
			if err != nil {
				return err
			}
			o.From = append(o.From, uint(n))
		}
		return nil
	})
	fs.IntVar(&o.Parallel, "parallel", 0, "bugs side by side (0: the default)")
	only := fs.String("only", "", "names, with commas between (default: all)")
	table := fs.String("strategies", "", "print how long each strategy takes to find each bug: all, or of seeds,random,pct,guided,exhaustive")
	repeat := fs.Int("repeat", 3, "with -strategies: how often")
	budget := fs.Duration("budget", 0, "with -strategies: processor time of one search of the small worlds (default 10s)")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *table == "" {
		err = faults.Mutants(ctx, o, out)
	} else {
		so := faults.StrategiesOptions{MutantsOptions: o, Repeat: *repeat, Budget: *budget}
		if *table != "all" {
			so.Strategies = strings.Split(*table, ",")
		}
		err = faults.Strategies(ctx, so, out)
	}
	switch {
	case errors.Is(err, faults.ErrMutants):
		fmt.Fprintln(errs, "novasim:", err)
		return 1
	case err != nil:
		fmt.Fprintln(errs, "novasim:", err)
		return 2
	}
	return 0
}

// seeds runs a range of seeds.
func seeds(args []string, out, errs io.Writer) int {
	o, err := parse(args, errs)
	if err != nil {
		fmt.Fprintln(errs, "novasim:", err)
		return 2
	}
	var reached sim.Coverage
	broken, ran := 0, 0
	do := func(c sim.Config) {
		r, panicked := one(c)
		ran++
		law, effects, what := -1, int64(0), panicked
		if r != nil {
			reached.Add(r)
			effects = r.Count.Effects
			if r.Breach != nil {
				law, what = int(r.Breach.Law), line(r.Breach.What)
			}
		} else {
			law = 0
		}
		if law < 0 {
			return
		}
		fmt.Fprintf(out, "broken: law=%d seed=%d effects=%d %s\n", law, c.Seed, effects, what)
		if r != nil && (c.Plan != nil || c.At != (faults.Aim{})) {
			fmt.Fprintf(out, "  with the plan %q\n", r.Plan.String())
		}
		if o.record != "" {
			if err := record(c, o.record, o.planted, out); err != nil {
				fmt.Fprintln(errs, "novasim:", err)
			}
		}
		broken++
	}
	base := sim.Config{Effects: o.effects, Scene: sim.Nova, Cover: o.cover}
	for seed := o.from; seed < o.to && (broken == 0 || o.all); seed++ {
		c := base
		c.Seed, c.Plan, c.At = seed, o.plan, o.at
		do(c)
	}
	if o.cover && (broken == 0 || o.all) {
		before := ran
		reached.Steer(base, do)
		fmt.Fprintf(out, "%d runs again, cut where no other was\n", ran-before)
	}
	fmt.Fprintf(out, "%d seeds, %d effects, %d broken\n", ran, reached.Sum.Effects, broken)
	if o.cover {
		ok, err := reached.End(out, true)
		if err != nil {
			fmt.Fprintln(errs, "novasim:", err)
			return 2
		}
		if !ok {
			return 1
		}
	}
	if broken > 0 {
		return 1
	}
	return 0
}

type options struct {
	from, to uint64
	plan     *faults.Plan
	at       faults.Aim
	effects  int
	all      bool
	record   string
	planted  string
	cover    bool // report what was reached, and fail where something was not
}

func parse(args []string, errs io.Writer) (o options, err error) {
	fs := flag.NewFlagSet("novasim run", flag.ContinueOnError)
	fs.SetOutput(errs)
	seeds := fs.String("seeds", "0..100", "the seeds to run, from A up to, not including, B")
	plan := fs.String("plan", "", "the fault plan, instead of each seed's own; commas or blanks between the kinds")
	at := fs.String("at", "", "cut there besides: a row of the crash table, or a boundary of faults/boundaries/list.txt, perhaps with @ and one of its processes, and with a side, or with what strikes there (see nova sim run)")
	fs.IntVar(&o.effects, "effects", 0, "effects of a run before its faults stop (0: the default)")
	fs.BoolVar(&o.cover, "cover", false, "report what the runs reached, and fail where they missed something")
	fs.StringVar(&o.record, "record", "", "write the record of every run that breaks a law into this folder")
	fs.StringVar(&o.planted, "planted", "", "the name of the bug that is planted in this build, for the record")
	fs.BoolVar(&o.all, "all", false, "go on after a law was broken")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	a, b, ok := strings.Cut(*seeds, "..")
	if ok {
		if o.from, err = strconv.ParseUint(a, 10, 64); err == nil {
			o.to, err = strconv.ParseUint(b, 10, 64)
		}
	}
	if !ok || err != nil || o.to <= o.from {
		return o, fmt.Errorf("seeds %q: want A..B with A below B", *seeds)
	}
	if *plan != "" {
		p, err := faults.Parse(strings.ReplaceAll(*plan, ",", " "))
		if err != nil {
			return o, err
		}
		o.plan = &p
	}
	if o.at, err = faults.ParseAim(*at); err != nil {
		return o, err
	}
	return o, nil
}

// one runs one seed. A machine that panics has broken its contract.
func one(c sim.Config) (r *sim.Report, panicked string) {
	defer func() {
		if p := recover(); p != nil {
			r, panicked = nil, line(fmt.Sprintf("panic: %v %s", p, where(debug.Stack())))
		}
	}()
	return sim.Run(c), ""
}

// where is the innermost frame of the core in a stack.
func where(stack []byte) string {
	for l := range strings.Lines(string(stack)) {
		if strings.Contains(l, "/core/") && strings.Contains(l, ".go:") {
			return "at " + strings.TrimSpace(l)
		}
	}
	return ""
}

// line is a text on one line.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }
