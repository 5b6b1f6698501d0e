package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"nova/core"
	"nova/core/keys"
	"nova/prod/daemon"
)

func newStar() *cobra.Command {
	var cl clusterFlags
	var logs logFlags
	var metrics metricsFlag
	var record journalFlags
	var id, class, listen string
	var linger time.Duration
	var slotMiB int64
	c := &cobra.Command{
		Use:   "star",
		Short: "Run a star: it takes records in and serves reads",
		Long: `Runs a star of one storage class on a given etcd and S3, with an HTTP interface
for clients (nova stream). It ends in good order on SIGTERM: everything is
absorbed and its streams are handed back. Killed, it loses nothing either: others
find what it had acknowledged on its chain.

Every process of a cluster must be given the same buckets and the same dials.`,
		Args: args(cobra.NoArgs),
		RunE: action(func(ctx context.Context, c *cobra.Command, _ []string) error {
			var of core.Class
			check := func() (err error) {
				if of, err = daemon.ParseClass(class); err != nil {
					return err
				}
				if err = keys.CheckStar(id); err != nil {
					return err
				}
				if linger <= 0 || slotMiB < 1 || slotMiB > 1024 {
					return fmt.Errorf("--append-linger is %v and --slot-mib %d: give a time above zero and 1 to 1024 MiB", linger, slotMiB)
				}
				return record.check()
			}
			return cl.opened(ctx, c, &logs, check, func(on *cluster, log *slog.Logger) error {
				var err error
				if on.Journal, err = record.open(log); err != nil {
					return err
				}
				defer func() { _ = on.Journal.Close() }()
				tally := &daemon.Tally{}
				star, err := on.StartStar(daemon.StarConfig{ID: id, Class: of, Tally: tally, Batch: daemon.BatchLimits{Linger: linger, Slot: slotMiB << 20, Buffered: 8 * slotMiB << 20}})
				if err != nil {
					return err
				}
				session, err := on.NewSession(tally)
				if err != nil {
					star.Kill()
					return err
				}
				front := &daemon.Front{Session: session, Star: func(c core.Class) *daemon.Star {
					if c == of {
						return star
					}
					return nil
				}}
				w := newWeb(log)
				if _, err = w.serve(listen, "clients", daemon.Handler(front, log)); err == nil {
					err = metrics.serve(w, tally, on.Cluster)
				}
				if err == nil {
					select {
					case <-ctx.Done():
						log.Info("closing")
					case <-star.Done():
						err = errors.Join(errors.New("the star has ended"), star.Err())
					case err = <-w.failed:
					}
				}
				end, cancel := graceful(ctx)
				defer cancel()
				w.shutdown(end)
				select {
				case <-star.Done():
					star.Kill()
				default:
					err = errors.Join(err, star.Close(end))
				}
				return errors.Join(err, session.Close(end))
			})
		}),
	}
	host, _ := os.Hostname()
	f := c.Flags()
	f.StringVar(&id, "star", host, "name of the star; one process at a time has it")
	f.StringVar(&class, "class", core.Standard.String(), "storage class of its chains: standard or express")
	f.StringVar(&listen, "listen", defaultServer, "address for clients")
	f.DurationVar(&linger, "append-linger", 4*time.Millisecond, "how long a record waits for company in its slot")
	f.Int64Var(&slotMiB, "slot-mib", 4, "size of a slot at which it is written at once, in MiB")
	metrics.register(f)
	record.register(f)
	cl.register(f)
	logs.register(f, "info")
	return c
}
