package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func newNode() *cobra.Command {
	c := &cobra.Command{
		Use: "node", Short: "List stars and auditors; take a star out of use", Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newNodeList(), newDecommission())
	return c
}

func newNodeList() *cobra.Command {
	var cl clusterFlags
	var logs logFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "ls",
		Short: "List stars and auditors, and what dead stars have left",
		Long: `A star's epochs are counted by state: open (its writer may append), cut, swept
(absorbed; its garbage goes once more) and settled. A star is draining, then
swept, while a decommission of it is under way.`,
		Args: args(cobra.NoArgs),
		RunE: action(func(ctx context.Context, c *cobra.Command, _ []string) error {
			return cl.opened(ctx, c, &logs, nil, func(on *cluster, _ *slog.Logger) error {
				nodes, err := on.Nodes(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					e := json.NewEncoder(c.OutOrStdout())
					e.SetIndent("", "  ")
					return e.Encode(nodes)
				}
				w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "NODE\tKIND\tSTATE\tCLASSES\tOPEN\tCUT\tSWEPT\tSETTLED\tSLOTS TO ABSORB\tSLOTS TO TRIM")
				for _, n := range nodes {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\n", n.Name, n.Kind, n.State, strings.Join(n.Classes, ","), n.Open, n.Cut, n.Swept, n.Settled, n.ToAbsorb, n.ToTrim)
				}
				return w.Flush()
			})
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "JSON instead of a table")
	cl.register(c.Flags())
	logs.register(c.Flags(), "warn")
	return c
}
