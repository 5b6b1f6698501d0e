package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nova/sim/incident"
)

// recordingFlags say how a journal of production is replayed.
type recordingFlags struct {
	process  string
	to, from uint64
	seed     uint64
	whole    bool
	clients  bool
}

func (r *recordingFlags) register(f *pflag.FlagSet) {
	f.StringVar(&r.process, "process", "", "of a journal: replay only this star, auditor, process or role")
	f.Uint64Var(&r.to, "to", 0, "of a journal: stop after this turn (0: at its end)")
	f.Uint64Var(&r.from, "from", 0, "of a journal: replay up to this turn, and go on from there in the simulator, under the faults of --seed or --plan")
	f.Uint64Var(&r.seed, "seed", 0, "with --from: the seed of what happens then")
	f.BoolVar(&r.clients, "clients", false, "with --from: clients go on too, who append, trim, delete and read")
	f.BoolVar(&r.whole, "whole", false, "with --from: every process of the cluster wrote to this journal, from an empty cluster on (nova demo, nova dev); then more laws are judged")
}

// Which flags would be ignored, and why.
var (
	ofJournals = misfits{}.because("it is of a journal of production", "process", "to", "from", "seed", "whole", "clients")
	ofSeeds    = misfits{}.because("the record says itself what its run was given", "plan", "at", "effects", "instant")
	ofReplay   = misfits{}.
			because("it says what happens from a turn on, and --from is not given", "seed", "plan", "at", "effects", "instant", "whole", "clients").
			because("events are the simulator's, which goes on with --from; a divergence is printed whole", "log").
			because("a page shows a run of the simulator: a seed, or a record", "html")
	ofOnward = misfits{}.
			because("every machine is replayed up to that turn", "to", "process").
			because("the simulator does not know in which duty a machine of a journal comes by a place", "at").
			because("it always ends where its faults would stop", "instant").
			because("a page shows a run of the simulator: a seed, or a record", "html")
)

// replayJournal steps the machines of a journal through it again and, where it is
// asked to, goes on in the simulator.
func replayJournal(c *cobra.Command, dir string, r *recordingFlags, s *simFlags, log bool) error {
	out := c.OutOrStdout()
	if c.Flags().Changed("from") {
		return r.goOn(c, dir, s, log)
	}
	if err := ofReplay.check(c, "a journal"); err != nil {
		return err
	}
	res, err := incident.Replay(dir, incident.Options{Process: r.process, To: r.to})
	if err != nil {
		return err
	}
	if err := res.Print(out); err != nil {
		return err
	}
	if !res.OK() {
		return exit(1)
	}
	return nil
}

// goOn replays a journal up to a turn, and goes on in the simulator.
func (r *recordingFlags) goOn(c *cobra.Command, dir string, s *simFlags, log bool) error {
	if err := ofOnward.check(c, "--from"); err != nil {
		return err
	}
	cfg, err := s.config(r.seed)
	switch {
	case err != nil:
		return usage(c, err)
	case r.from == 0:
		return usage(c, errors.New("--from 0: turns are counted from 1"))
	case cfg.Plan != nil && cfg.Plan.Aimed():
		return usage(c, fmt.Errorf("--plan: at=… does not go with --from: %s", ofOnward["at"]))
	}
	out := c.OutOrStdout()
	b := bufio.NewWriter(out)
	g := incident.Going{From: r.from, Seed: r.seed, Plan: cfg.Plan, Effects: s.effects, Whole: r.whole, Clients: r.clients}
	if log {
		g.Log = b
	}
	on, err := incident.GoOn(dir, g)
	if err := errors.Join(err, b.Flush()); err != nil {
		return err
	}
	if err := on.Print(out); err != nil {
		return err
	}
	if on.Report != nil && on.Report.Breach != nil {
		// No record holds such a run: its beginning is the journal's.
		if _, err := fmt.Fprintf(out, "again: %s\n", r.again(dir, s)); err != nil {
			return err
		}
	}
	if !on.Replay.OK() || on.Report == nil || on.Report.Breach != nil {
		return exit(1)
	}
	return nil
}

// again is the command that shows every event of it again.
func (r *recordingFlags) again(dir string, s *simFlags) string {
	b := fmt.Sprintf("nova sim replay %s --from %d --seed %d", shellWord(dir), r.from, r.seed)
	if s.plan != "" {
		b += " --plan " + shellWord(s.plan)
	}
	if s.effects > 0 {
		b += fmt.Sprintf(" --effects %d", s.effects)
	}
	if r.whole {
		b += " --whole"
	}
	if r.clients {
		b += " --clients"
	}
	return b + " --log"
}
