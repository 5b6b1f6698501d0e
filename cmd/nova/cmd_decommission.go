package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"nova/core/admin"
	"nova/core/keys"
	"nova/prod/daemon"
)

func newDecommission() *cobra.Command {
	var cl clusterFlags
	var logs logFlags
	var o admin.Order
	var asJSON bool
	c := &cobra.Command{
		Use:   "decommission --star ID",
		Short: "Take a star out of use for good",
		Long: `Settles the chains of a star that is closed or dead, waits until every slot of
them is rewritten and trimmed, and removes whatever names it. Its name is never
used again. Auditors must be running: they do the rewriting and the trimming.

Where something is in the way it says what, and ends with 1 (or waits, with
--wait). Run it again, by whomever, and it goes on.`,
		Args: args(cobra.NoArgs),
		RunE: action(func(ctx context.Context, c *cobra.Command, _ []string) error {
			check := func() error { return keys.CheckStar(o.Star) }
			return cl.inSession(ctx, c, &logs, check, func(s *daemon.Session) error {
				done, report, err := s.Decommission(ctx, o, waiting(c.ErrOrStderr()))
				if err != nil {
					return err
				}
				if asJSON {
					err = decommissionJSON(c.OutOrStdout(), o.Star, done, &report)
				} else {
					err = decommissionText(c.OutOrStdout(), o.Star, done, &report)
				}
				if err == nil && !done {
					err = exit(1)
				}
				return err
			})
		}),
	}
	f := c.Flags()
	f.StringVar(&o.Star, "star", "", "name of the star")
	f.BoolVar(&o.Force, "force", false, "do not ask whether the star is drained; its chains then settle only when the settle duty finds it dead")
	f.BoolVar(&o.CoolDown, "cool-down", false, "let its batches settle when they are due, instead of at once")
	f.BoolVar(&o.Wait, "wait", false, "wait for what is in the way")
	f.BoolVar(&asJSON, "json", false, "one JSON object instead of text")
	_ = c.MarkFlagRequired("star")
	cl.register(f)
	logs.register(f, "warn")
	return c
}

// waiting says on w what a decommission waits for, when that changes.
func waiting(w io.Writer) func(admin.Report) {
	last := ""
	return func(r admin.Report) {
		if r.Blocked == 0 {
			return
		}
		b := r.Blockers[0]
		if now := fmt.Sprintf("waiting: %s: %s (%d in all)", b.Key, b.Reason, r.Blocked); now != last {
			last = now
			fmt.Fprintln(w, now)
		}
	}
}

func decommissionText(w io.Writer, star string, done bool, r *admin.Report) error {
	fmt.Fprintf(w, "settled %d epochs, ripened %d batches, resolved %d markers, removed %d chain records, swept %d objects\n", r.Settled, r.Ripened, r.Resolved, r.Reaped, r.Swept)
	for _, o := range r.Named {
		fmt.Fprintf(w, "foreign: %s/%s is no slot: left alone\n", o.Store, o.Key)
	}
	if n := r.Foreign - int64(len(r.Named)); n > 0 {
		fmt.Fprintf(w, "foreign: and %d more\n", n)
	}
	if done {
		_, err := fmt.Fprintf(w, "star %s is decommissioned\n", star)
		return err
	}
	for _, b := range r.Blockers {
		until := ""
		if b.Until != 0 {
			until = ", until " + time.UnixMilli(int64(b.Until)).UTC().Format(time.RFC3339)
		}
		if b.Detail != "" {
			until += ": " + b.Detail
		}
		fmt.Fprintf(w, "in the way: %s: %s%s\n", b.Key, b.Reason, until)
	}
	if n := r.Blocked - len(r.Blockers); n > 0 {
		fmt.Fprintf(w, "in the way: and %d more\n", n)
	}
	if r.Phase != 0 {
		fmt.Fprintf(w, "star %s never serves again: the irrevocable record is written\n", star)
	}
	_, err := fmt.Fprintf(w, "star %s is not decommissioned yet: run this again, or with --wait\n", star)
	return err
}

func decommissionJSON(w io.Writer, star string, done bool, r *admin.Report) error {
	type blocker struct {
		Reason  string `json:"reason"`
		Key     string `json:"key"`
		UntilMs int64  `json:"until_ms,omitempty"`
		Detail  string `json:"detail,omitempty"`
	}
	out := struct {
		Star     string    `json:"star"`
		Done     bool      `json:"done"`
		Recorded bool      `json:"recorded"` // the irrevocable record is written
		Settled  int64     `json:"settled"`
		Ripened  int64     `json:"ripened"`
		Resolved int64     `json:"resolved"`
		Reaped   int64     `json:"reaped"`
		Swept    int64     `json:"swept"`
		Foreign  int64     `json:"foreign"`
		Named    []string  `json:"foreign_named"`
		Blocked  int       `json:"blocked"`
		Blockers []blocker `json:"blockers"`
	}{star, done, r.Phase != 0, r.Settled, r.Ripened, r.Resolved, r.Reaped, r.Swept, r.Foreign, []string{}, r.Blocked, []blocker{}}
	for _, o := range r.Named {
		out.Named = append(out.Named, string(o.Store)+"/"+o.Key)
	}
	for _, b := range r.Blockers {
		out.Blockers = append(out.Blockers, blocker{b.Reason.String(), b.Key, int64(b.Until), b.Detail})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
