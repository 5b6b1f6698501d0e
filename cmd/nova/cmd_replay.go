package main

import (
	"bufio"
	"errors"
	"io"

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

// replayJournal steps the machines of a journal through it again and, where it is
// asked to, goes on in the simulator.
func replayJournal(out io.Writer, dir string, r *recordingFlags, s *simFlags, log bool) error {
	if r.from == 0 {
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
	if r.to != 0 || r.process != "" {
		return errors.New("--from replays every machine up to that turn: give neither --to nor --process with it")
	}
	cfg, err := s.config(r.seed)
	if err != nil {
		return err
	}
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
	if !on.Replay.OK() || on.Report == nil || on.Report.Breach != nil {
		return exit(1)
	}
	return nil
}
