package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"nova/prod/daemon"
	"nova/prod/embedded"
)

func newVerify() *cobra.Command {
	var cl clusterFlags
	var logs logFlags
	var o daemon.VerifyOptions
	var data string
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify [--json]",
		Short: "Hold a live bucket and metastore to the laws",
		Long: `Reads the metastore at one revision, lists every bucket, reads the footer of every
object and the bytes of every chunk that is live, and checks the laws: no bytes
without a watcher, no ref without bytes that match it, cursors in order, one entry
an object. It changes nothing. What others do meanwhile makes no false alarm: a
breach counts only when three looks in a row show it.

It ends with 1, and a list, where a law is broken. It needs the dials and buckets
that the cluster's processes have, or --data for the directory of a demo or of
nova dev that is not running.`,
		Args: args(cobra.NoArgs),
		RunE: action(func(ctx context.Context, c *cobra.Command, _ []string) error {
			log, err := logs.logger()
			if err != nil {
				return usage(c, err)
			}
			var on *cluster
			if data != "" {
				on, _, err = openData(ctx, embedded.Config{Dir: data}, log)
			} else {
				dials, derr := cl.chosen()
				if derr != nil {
					return usage(c, derr)
				}
				on, err = cl.open(ctx, dials, log)
			}
			if err != nil {
				return err
			}
			v, err := on.Verify(ctx, o)
			if err = errors.Join(err, on.close()); err != nil {
				return err
			}
			if asJSON {
				e := json.NewEncoder(c.OutOrStdout())
				e.SetIndent("", "  ")
				e.SetEscapeHTML(false)
				err = e.Encode(v)
			} else {
				err = v.Print(c.OutOrStdout())
			}
			if err == nil && !v.OK {
				err = exit(1)
			}
			return err
		}),
	}
	f := c.Flags()
	f.BoolVar(&asJSON, "json", false, "one JSON object instead of text")
	f.BoolVar(&o.Quick, "quick", false, "do not read the chunks' bytes: checksums are not compared")
	f.DurationVar(&o.Again, "look-again", 2*time.Second, "pause before a breach is looked at again")
	f.StringVar(&data, "data", "", "directory of a demo or of nova dev, instead of an etcd and S3 that run")
	cl.register(f)
	logs.register(f, "warn")
	return c
}
