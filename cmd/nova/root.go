package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const intro = `Nova keeps append-only streams in object storage.

Serving nodes (stars) write bundles of many streams' records as create-once
objects; auditors rewrite them into per-stream objects and make dead data
disappear, without ever losing live data.

Begin with "nova demo": it needs nothing installed.`

// newRoot is the tree of commands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "nova",
		Short:         "Append-only streams in object storage",
		Long:          intro,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, err) })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newDemo(), newDev(), newStar(), newAuditor(), newCache(), newStream(), newNode(), newParked(), newVerify(), newSim())
	return root
}

// logFlags say how a process logs.
type logFlags struct{ level, format string }

func (l *logFlags) register(f *pflag.FlagSet, level string) {
	f.StringVar(&l.level, "log-level", level, "least level that is logged: debug, info, warn or error")
	f.StringVar(&l.format, "log-format", "text", "text or json")
}

// logger logs to standard error.
func (l *logFlags) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return nil, fmt.Errorf("--log-level %q: give debug, info, warn or error", l.level)
	}
	o := &slog.HandlerOptions{Level: level}
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, o)), nil
	}
	return nil, fmt.Errorf("--log-format %q: give text or json", l.format)
}

// action makes a function a command's action.
func action(f func(ctx context.Context, c *cobra.Command, given []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, given []string) error { return f(c.Context(), c, given) }
}
