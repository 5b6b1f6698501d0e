package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/pflag"

	"nova/prod/daemon"
)

// shutdownWithin bounds a graceful end: after it the process goes as it is, which
// loses nothing, but makes others wait for its lease.
const shutdownWithin = 20 * time.Second

// web is the HTTP servers of a process.
type web struct {
	log     *slog.Logger
	servers []*http.Server
	failed  chan error
}

func newWeb(log *slog.Logger) *web { return &web{log: log, failed: make(chan error, 1)} }

// serve serves a handler at an address, and returns where.
func (w *web) serve(address, what string, h http.Handler) (string, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("listen for %s at %s: %w", what, address, err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(w.log.Handler(), slog.LevelWarn)}
	w.servers = append(w.servers, s)
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			select {
			case w.failed <- fmt.Errorf("serve %s at %s: %w", what, address, err):
			default:
			}
		}
	}()
	w.log.Info("listening", "for", what, "address", l.Addr().String())
	return l.Addr().String(), nil
}

// shutdown ends the servers: what is being answered is answered.
func (w *web) shutdown(ctx context.Context) {
	for _, s := range w.servers {
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
	}
}

// metricsFlag is the address at which a process serves its metrics.
type metricsFlag struct{ address string }

func (m *metricsFlag) register(f *pflag.FlagSet) {
	f.StringVar(&m.address, "metrics-listen", "", "address for Prometheus, at /metrics (none: no metrics)")
}

// serve serves the metrics, if they are wanted.
func (m *metricsFlag) serve(w *web, t *daemon.Tally, c *daemon.Cluster) error {
	if m.address == "" {
		return nil
	}
	h, err := daemon.Metrics(t, c)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h)
	_, err = w.serve(m.address, "metrics", mux)
	return err
}

// graceful is a context for the end of a process, which outlives its signal.
func graceful(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), shutdownWithin)
}
