package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"nova/core"
	"nova/prod/daemon"
	"nova/prod/embedded"
)

func newDev() *cobra.Command {
	var logs logFlags
	cfg := embedded.Config{}
	var listen string
	c := &cobra.Command{
		Use:   "dev [--data DIR]",
		Short: "A whole cluster in one process, kept running",
		Long: `Serves an embedded etcd and S3, a star of each storage class and two auditors,
until it is interrupted. Use it with nova stream from another terminal; metrics
are at /metrics of the same address. Times are as short as in nova demo.

What its machines are told and ask for is recorded under journal in the data
directory, the last 64 MiB of it; see nova sim replay.

What it prints lets other processes join: give them --local-dials.`,
		Args: args(cobra.NoArgs),
		RunE: action(func(ctx context.Context, c *cobra.Command, _ []string) error {
			log, err := logs.logger()
			if err != nil {
				return usage(c, err)
			}
			on, stack, err := openData(ctx, cfg, log)
			if err != nil {
				return err
			}
			d := &dev{on: on, tally: &daemon.Tally{}}
			if on.Journal, err = journalData(stack.Dir, log); err == nil {
				err = d.start()
			}
			w := newWeb(log)
			if err == nil {
				var metrics, front http.Handler
				if metrics, err = daemon.Metrics(d.tally, on.Cluster); err == nil {
					front = daemon.Handler(&daemon.Front{Session: d.session, Star: func(c core.Class) *daemon.Star { return d.stars[c] }}, log)
					mux := http.NewServeMux()
					mux.Handle("GET /metrics", metrics)
					mux.Handle("/", front)
					listen, err = w.serve(listen, "clients", mux)
				}
			}
			if err == nil {
				fmt.Fprintf(c.OutOrStdout(), "streams  nova stream --server %s …\nmetrics  http://%s/metrics\netcd     --etcd %s\nS3       --s3 %s   AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s\ndata     %s\n",
					listen, listen, stack.Etcd[0], stack.S3.URL, stack.S3.AccessKey, stack.S3.SecretKey, stack.Dir)
				select {
				case <-ctx.Done():
					log.Info("closing")
				case err = <-w.failed:
				case err = <-stack.Lost():
				case <-d.stars[core.Standard].Done():
					err = fmt.Errorf("a star has ended: %w", d.stars[core.Standard].Err())
				case <-d.stars[core.Express].Done():
					err = fmt.Errorf("a star has ended: %w", d.stars[core.Express].Err())
				}
			}
			end, cancel := graceful(ctx)
			defer cancel()
			w.shutdown(end)
			return errors.Join(err, d.close(end), on.Journal.Close(), on.close())
		}),
	}
	f := c.Flags()
	f.StringVar(&cfg.Dir, "data", ".nova/dev", "directory for everything that is kept")
	f.StringVar(&listen, "listen", defaultServer, "address for clients")
	f.StringVar(&cfg.EtcdAddr, "etcd-listen", "", "loopback address of etcd (none: a free port)")
	f.StringVar(&cfg.S3Addr, "s3-listen", "", "loopback address of S3 (none: a free port)")
	logs.register(f, "warn")
	return c
}

// dev is the processes of nova dev.
type dev struct {
	on       *cluster
	tally    *daemon.Tally
	session  *daemon.Session
	stars    [core.Classes]*daemon.Star
	auditors []*daemon.Auditor
}

// start starts all of them.
func (d *dev) start() (err error) {
	if d.session, err = d.on.NewSession(d.tally); err != nil {
		return err
	}
	for class := range core.Class(core.Classes) {
		if d.stars[class], err = d.on.StartStar(daemon.StarConfig{ID: "dev-" + class.String(), Class: class, Tally: d.tally}); err != nil {
			return err
		}
	}
	for _, id := range []string{"auditor-a", "auditor-b"} {
		a, err := d.on.StartAuditor(daemon.AuditorConfig{ID: id, Cache: 64 << 20, Tally: d.tally})
		if err != nil {
			return err
		}
		d.auditors = append(d.auditors, a)
	}
	return nil
}

// close ends those that run.
func (d *dev) close(ctx context.Context) (err error) {
	for _, s := range d.stars {
		if s != nil {
			err = errors.Join(err, s.Close(ctx))
		}
	}
	for _, a := range d.auditors {
		err = errors.Join(err, a.Close(ctx))
	}
	if d.session != nil {
		err = errors.Join(err, d.session.Close(ctx))
	}
	return err
}
