package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"nova/sim"
	"nova/sim/html"
	"nova/sim/shrink"
	"nova/sim/story"
)

func newSimReplay() *cobra.Command {
	var flags simFlags
	var log bool
	var page string
	var recording recordingFlags
	c := &cobra.Command{
		Use:   "replay SEED|FILE|JOURNAL",
		Short: "Run one seed, the record of a run, or a journal of production, again",
		Long: `With a seed: runs it and prints every event of it.

With a record's file, which "nova sim run" writes for every run that breaks a law:
runs it again, and says what came of it. While the code is the same, so is the run,
to the byte. When it has changed, the choices are put where the effects are that they
were made about; what no longer matches is said, and goes by default.

With a journal's directory (--journal of nova star and nova auditor; journal in the
data directory of nova demo and nova dev): boots the machines that are recorded in
it, steps them through what they were told, and names the first turn in which one
asks for something else. With --from it goes on from a turn in the simulator.

It exits 1 if a law is broken, or a machine diverges.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: action(func(_ context.Context, c *cobra.Command, given []string) error {
			out := c.OutOrStdout()
			info, gone := os.Stat(given[0])
			if gone == nil && info.IsDir() {
				return replayJournal(c, given[0], &recording, &flags, log)
			}
			if err := errors.Join(ofJournals.check(c, "a seed or a record"), canWrite("--html", page)); err != nil {
				return err
			}
			seed, err := strconv.ParseUint(given[0], 10, 64)
			if err != nil {
				if gone != nil {
					return usage(c, fmt.Errorf("%q is no seed, and no file: %w", given[0], gone))
				}
				if err := ofSeeds.check(c, "a record"); err != nil {
					return err
				}
				return replayFile(out, given[0], log, page)
			}
			cfg, err := flags.config(seed)
			if err != nil {
				return usage(c, err)
			}
			if page != "" {
				if err := writePage(out, page, sim.Recorded(cfg).Record); err != nil {
					return err
				}
			}
			b := bufio.NewWriter(out)
			cfg.Log = b
			r := sim.Guarded(cfg)
			if err := b.Flush(); err != nil {
				return err
			}
			return verdictOf(out, r)
		}),
	}
	f := c.Flags()
	f.BoolVar(&log, "log", false, "of a record, or beyond --from: print every event too (of a seed, it always does)")
	f.StringVar(&page, "html", "", "of a seed or a record: write the run as a page, to be looked at in a browser")
	flags.register(f)
	recording.register(f)
	return c
}

// replayFile runs a record again.
func replayFile(out io.Writer, path string, log bool, page string) error {
	b := bufio.NewWriter(out)
	var events io.Writer
	if log {
		events = b
	}
	if page != "" {
		rec, err := sim.ReadRecord(path)
		if err == nil {
			err = writePage(out, page, rec)
		}
		if err != nil {
			return err
		}
	}
	err := story.Replay(b, events, path, sim.Nova)
	if err := b.Flush(); err != nil {
		return err
	}
	if errors.Is(err, story.ErrBroken) {
		return exit(1)
	}
	return err
}

// writePage writes a run as a page.
func writePage(out io.Writer, path string, rec *sim.Record) error {
	if err := html.Write(path, rec, sim.Nova); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "page: %s\n", path)
	return err
}

func newSimShrink() *cobra.Command {
	var flags simFlags
	var budget time.Duration
	var into string
	c := &cobra.Command{
		Use:   "shrink FILE|SEED",
		Short: "Find the least that still breaks the law, and tell its story",
		Long: `Takes faults, actors, requests, restarts and the order of moves out of the record of
a run that breaks a law, for as long as what is left breaks the same law; writes what
is left, and prints the story of the object in at most 20 lines.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: action(func(_ context.Context, c *cobra.Command, given []string) error {
			out, path := c.OutOrStdout(), given[0]
			if err := canWrite("--output", into); err != nil {
				return err
			}
			if seed, err := strconv.ParseUint(path, 10, 64); err == nil {
				cfg, err := flags.config(seed)
				if err != nil {
					return usage(c, err)
				}
				rec := sim.Recorded(cfg).Record
				if rec.Breach == nil {
					_, err := fmt.Fprintf(out, "seed %d breaks no law: there is nothing to shrink\n", seed)
					return err
				}
				if path, err = rec.Write("."); err != nil {
					return err
				}
			} else if info, gone := os.Stat(path); gone != nil {
				return usage(c, fmt.Errorf("%q is no seed, and no file: %w", path, gone))
			} else if info.IsDir() {
				return usage(c, fmt.Errorf("%q is a directory: a seed, or a record's file, can be shrunk", path))
			} else if err := ofSeeds.check(c, "a record"); err != nil {
				return err
			}
			err := story.Shrink(out, path, into, budget, sim.Nova)
			if errors.Is(err, shrink.ErrHolds) {
				fmt.Fprintln(c.ErrOrStderr(), "nova:", err)
				return exit(1)
			}
			return err
		}),
	}
	f := c.Flags()
	f.DurationVar(&budget, "budget", time.Minute, "how long to look for less")
	f.StringVar(&into, "output", "", "the file to write (none: FILE with .shrunk in its name)")
	flags.register(f)
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
