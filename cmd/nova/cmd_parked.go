package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"nova/core/admin"
	"nova/core/keys"
	"nova/prod/daemon"
)

func newParked() *cobra.Command {
	c := &cobra.Command{
		Use: "parked", Short: "List markers that failed for good; have them tried again", Args: args(cobra.NoArgs),
		Long: `A marker on which its duty fails for good is parked with its reason: it still
watches over what it stands for, but nobody works on it any more. Once the cause
is gone, have it tried again.`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newParkedList(), newParkedRetry())
	return c
}

// dutyNames are the duties as --duty takes them.
func dutyNames() string {
	var names []string
	for q := range keys.Queue(keys.Queues) {
		names = append(names, q.String())
	}
	return strings.Join(names, ", ")
}

// onDuty checks a --duty; "" is every duty.
func onDuty(name string) (q keys.Queue, one bool, err error) {
	if name == "" {
		return 0, false, nil
	}
	q, ok := daemon.ParseQueue(name)
	if !ok {
		return 0, false, fmt.Errorf("--duty %q: give one of %s", name, dutyNames())
	}
	return q, true, nil
}

func newParkedList() *cobra.Command {
	var cl clusterFlags
	var logs logFlags
	var duty string
	var asJSON bool
	c := &cobra.Command{
		Use: "ls", Short: "List parked markers, each with its reason", Args: args(cobra.NoArgs),
		RunE: action(func(ctx context.Context, c *cobra.Command, _ []string) error {
			check := func() error { _, _, err := onDuty(duty); return err }
			return cl.opened(ctx, c, &logs, check, func(on *cluster, _ *slog.Logger) error {
				if asJSON {
					all := []daemon.ParkedMarker{}
					if err := on.Parked(ctx, duty, func(m daemon.ParkedMarker) error { all = append(all, m); return nil }); err != nil {
						return err
					}
					e := json.NewEncoder(c.OutOrStdout())
					e.SetIndent("", "  ")
					return e.Encode(all)
				}
				w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "DUTY\tPARKED\tREASON\tKEY")
				if err := on.Parked(ctx, duty, func(m daemon.ParkedMarker) error {
					_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Duty, time.UnixMilli(int64(m.ParkedAt)).UTC().Format(time.RFC3339), m.Reason, m.Key)
					return err
				}); err != nil {
					return err
				}
				return w.Flush()
			})
		}),
	}
	c.Flags().StringVar(&duty, "duty", "", "only this duty's: "+dutyNames())
	c.Flags().BoolVar(&asJSON, "json", false, "JSON instead of a table")
	cl.register(c.Flags())
	logs.register(c.Flags(), "warn")
	return c
}

func newParkedRetry() *cobra.Command {
	var cl clusterFlags
	var logs logFlags
	var duty string
	var all bool
	c := &cobra.Command{
		Use:   "retry KEY... | --all [--duty DUTY]",
		Short: "Give duties their parked markers again",
		Long: `Puts parked markers back to where their duties look for them, ripe at once and
with their failures forgotten. Keys are those that ls prints. One that fails again
is parked again.

Ends with 1 if a marker stays parked.`,
		RunE: action(func(ctx context.Context, c *cobra.Command, given []string) error {
			var orders []admin.Unparking
			check := func() (err error) { orders, err = unparkings(given, all, duty); return err }
			return cl.inSession(ctx, c, &logs, check, func(s *daemon.Session) error { return retryParked(ctx, c, s, orders) })
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "every parked marker")
	c.Flags().StringVar(&duty, "duty", "", "with --all: only this duty's: "+dutyNames())
	cl.register(c.Flags())
	logs.register(c.Flags(), "warn")
	return c
}

// unparkings is what a command line asks for.
func unparkings(given []string, all bool, duty string) ([]admin.Unparking, error) {
	q, one, err := onDuty(duty)
	switch {
	case err != nil:
		return nil, err
	case all && len(given) > 0:
		return nil, errors.New("give keys or --all, not both")
	case !all && len(given) == 0:
		return nil, errors.New("which? Give keys as nova parked ls prints them, or --all")
	case !all && one:
		return nil, errors.New("--duty goes with --all")
	case all:
		return []admin.Unparking{{OneQueue: one, Queue: q}}, nil
	}
	var orders []admin.Unparking
	for _, key := range given {
		if key == "" {
			return nil, errors.New("an empty key")
		}
		orders = append(orders, admin.Unparking{Key: key})
	}
	return orders, nil
}

func retryParked(ctx context.Context, c *cobra.Command, s *daemon.Session, orders []admin.Unparking) error {
	bad := false
	for _, o := range orders {
		u, err := s.Unpark(ctx, o)
		what := "parked markers"
		if o.Key != "" {
			what = o.Key
		}
		if o.Key != "" && err == nil && u.PutBack+u.Moot+u.Stays == 0 {
			fmt.Fprintf(c.OutOrStdout(), "%s: no such marker is parked\n", what)
			bad = true
			continue
		}
		fmt.Fprintf(c.OutOrStdout(), "%s: %d to be tried again, %d not needed any more, %d stay parked\n", what, u.PutBack, u.Moot, u.Stays)
		for _, x := range u.Stuck {
			fmt.Fprintf(c.OutOrStdout(), "stays: %s: %s\n", x.Key, x.Why)
		}
		if n := u.Stays - int64(len(u.Stuck)); n > 0 {
			fmt.Fprintf(c.OutOrStdout(), "stays: and %d more\n", n)
		}
		if err != nil {
			return err
		}
		bad = bad || u.Stays > 0
	}
	if bad {
		return exit(1)
	}
	return nil
}
