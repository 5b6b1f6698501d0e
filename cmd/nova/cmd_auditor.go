package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"nova/prod/daemon"
)

func newAuditor() *cobra.Command {
	var cl clusterFlags
	var logs logFlags
	var metrics metricsFlag
	var record journalFlags
	cfg := daemon.AuditorConfig{Tally: &daemon.Tally{}}
	var cacheMiB int64
	var mibPerSecond float64
	c := &cobra.Command{
		Use:   "auditor",
		Short: "Run an auditor: it settles streams and reclaims what is dead",
		Long: `Runs the eight duties on a given etcd and S3. Several auditors share the work out
among themselves; one that dies is replaced by the others within its session's
time. It stops where it is on SIGTERM, as on any other end: whatever it was at is
taken up by the next.

Every process of a cluster must be given the same buckets and the same dials.`,
		Args: args(cobra.NoArgs),
		RunE: action(func(ctx context.Context, c *cobra.Command, _ []string) error {
			check := func() error {
				if cacheMiB < 1 || mibPerSecond < 0 || cfg.RequestsPerSecond < 0 {
					return fmt.Errorf("--fetch-cache-mib is %d, --rewrite-mib-per-second %g, --requests-per-second %g: the cache has at least 1 MiB, and no rate is below zero", cacheMiB, mibPerSecond, cfg.RequestsPerSecond)
				}
				if cfg.ID == "" {
					return errors.New("--auditor is empty: give the auditor a name")
				}
				return record.check()
			}
			cfg.Cache, cfg.BytesPerSecond = cacheMiB<<20, mibPerSecond*(1<<20)
			return cl.opened(ctx, c, &logs, check, func(on *cluster, log *slog.Logger) error {
				var err error
				if on.Journal, err = record.open(log); err != nil {
					return err
				}
				defer func() { _ = on.Journal.Close() }()
				auditor, err := on.StartAuditor(cfg)
				if err != nil {
					return err
				}
				w := newWeb(log)
				if err = metrics.serve(w, cfg.Tally, on.Cluster); err == nil {
					log.Info("auditing", "auditor", cfg.ID)
					select {
					case <-ctx.Done():
						log.Info("closing")
					case <-auditor.Done():
					case err = <-w.failed:
					}
				}
				end, cancel := graceful(ctx)
				defer cancel()
				w.shutdown(end)
				return errors.Join(err, auditor.Close(end))
			})
		}),
	}
	host, _ := os.Hostname()
	f := c.Flags()
	f.StringVar(&cfg.ID, "auditor", host, "name of the auditor, for logs and placement")
	f.Int64Var(&cacheMiB, "fetch-cache-mib", 256, "memory for objects that many pieces are read from, in MiB")
	f.Float64Var(&mibPerSecond, "rewrite-mib-per-second", 0, "bytes that transit the process, at most (0: no bound)")
	f.Float64Var(&cfg.RequestsPerSecond, "requests-per-second", 0, "requests to the stores, at most (0: as many as they take)")
	metrics.register(f)
	record.register(f)
	cl.register(f)
	logs.register(f, "info")
	return c
}
