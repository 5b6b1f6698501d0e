package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"nova/cmd/nova/demo"
	"nova/prod/daemon"
)

func newDemo() *cobra.Command {
	var cfg demo.Config
	var asJSON bool
	var logs logFlags
	var brisk bool
	c := &cobra.Command{
		Use:   "demo [--data DIR] [--input FILE ...]",
		Short: "The whole life of streams, over an embedded etcd and S3",
		Long: `Makes every input file a stream and its lines the records, and lets the whole of
Nova work on them in this one process: two stars take them in, two auditors
settle and reclaim (one of them is killed at work), small streams are deleted,
taken again, and age. Every record is read back and compared, before and after.
At the end comes a table, and the laws are checked.

It ends with 0 only if nothing leaked and nothing was lost.

Kill it whenever you like and run it again with the same --data: it takes up
where it was. An input that is in is only verified.

What the machines are told and ask for is recorded under journal in the data
directory (nova sim replay steps them through it again).

The times are short (a read grace of seven seconds), so it takes about a minute.`,
		Args: args(cobra.NoArgs),
		RunE: action(func(ctx context.Context, c *cobra.Command, _ []string) error {
			var err error
			if cfg.Log, err = logs.logger(); err != nil {
				return usage(c, err)
			}
			slog.SetDefault(cfg.Log)
			cfg.Progress = c.ErrOrStderr()
			if cfg.Dials = daemon.Local(); brisk {
				cfg.Dials = daemon.Brisk()
			}
			report, err := demo.Run(ctx, cfg)
			if err != nil {
				return wasInterrupted(ctx, err, cfg.Data)
			}
			print := report.Table
			if asJSON {
				print = report.JSON
			}
			if err := print(c.OutOrStdout()); err != nil {
				return err
			}
			if !report.OK {
				return exit(1)
			}
			return nil
		}),
	}
	f := c.Flags()
	f.StringVar(&cfg.Data, "data", "", "directory for everything that is kept (none: one that is removed when all is well)")
	f.StringArrayVar(&cfg.Inputs, "input", nil, "file whose lines are records; may be repeated (none: generated texts)")
	f.BoolVar(&asJSON, "json", false, "one JSON object instead of the table")
	f.DurationVar(&cfg.Drain, "drain-within", 30*time.Second, "give up when the auditors have made no progress for this long")
	f.BoolVar(&cfg.ObjectCache, "object-cache", false, "run an object cache too: deletes go through it")
	f.BoolVar(&brisk, "brisk", false, "even shorter times, for tests on an idle machine")
	_ = f.MarkHidden("brisk")
	logs.register(f, "error")
	return c
}

// wasInterrupted says what an interrupted run leaves behind.
func wasInterrupted(ctx context.Context, err error, data string) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	if data == "" {
		return errors.New("interrupted")
	}
	return fmt.Errorf("interrupted: run it again with --data %s and it takes up where it was", data)
}
